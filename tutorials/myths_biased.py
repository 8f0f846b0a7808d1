# %% [markdown]
# # It looks biased, and is exact
#
# What people say is on the page `myths.md`; `myths.py` is the command.

# %%
from fractions import Fraction

import numpy as np
from myths_tables import P, Q, drawn, first_cycle, line, myth, next_token, siblings, tenths

from eagle_min.config import SamplingConfig
from eagle_min.dice import Dice, Name
from eagle_min.exactness.acceptance import known_faults as known
from eagle_min.exactness.acceptance import rules
from eagle_min.exactness.law import law
from eagle_min.sampling import next_token_law
from eagle_min.verify import recursive_rejection, rejection_walk


@myth
def tree_without_q() -> None:
    """A top-k tree that never divides by q cannot be lossless."""
    favourites = siblings(1, 2)  # the draft's two best tokens, whatever the dice say
    as_if_drawn = siblings(1, 2, q=Q)
    exact = line("EAGLE-2's loop, without q", law(lambda dice: next_token(rejection_walk, favourites, dice)))
    wrong = line("the same tree, divided by q", law(lambda dice: next_token(recursive_rejection, as_if_drawn, dice)))
    assert exact == 0 and wrong == Fraction(3, 10)


@myth
def accept_if_equal() -> None:
    """Accepting a draft only when it equals the target's own draw is biased."""

    def program(dice: Dice, second_draw: bool) -> int:
        [draft], own = drawn(dice, Q), dice.categorical(P, ("own",))
        return dice.categorical(P, ("again",)) if second_draw and own != draft else own

    once = line("a mismatch keeps the own draw", law(lambda dice: program(dice, second_draw=False)))
    twice = line("a mismatch draws a second time", law(lambda dice: program(dice, second_draw=True)))
    assert once == 0 and twice > 0


@myth
def greedy_second_best() -> None:
    """At temperature 0 the loop may accept a child that is not the best token."""
    greedy, second_best_first = next_token_law(P, SamplingConfig(temperature=0.0)), siblings(1, 0)
    found = law(lambda dice: next_token(rejection_walk, second_best_first, dice, greedy))
    off = line("temperature 0, second best first", found, greedy)
    coins = [Fraction(k, 256) for k in range(256)]  # every coin of 8 bits
    strict, inclusive = Fraction(sum(u < 0 for u in coins), 256), Fraction(sum(u <= 0 for u in coins), 256)
    print(f"8-bit coin u, a token with p = 0: accepted with probability {strict} by u < p, {inclusive} by u <= p")
    assert off == 0 and found == {0: 1} and strict == 0 < inclusive


@myth
def one_hot_rule() -> None:
    """A draft that was drawn from q must not be accepted with p(x)."""

    def one_hot(dice: Dice) -> int:
        return next_token(rejection_walk, siblings(*drawn(dice, Q)), dice)

    def by_ratio(dice: Dice) -> int:
        return next_token(recursive_rejection, siblings(*drawn(dice, Q), q=Q), dice)

    def half_and_half(dice: Dice) -> int:
        rule = known.chain_by(lambda p, q, token: p[token], known.residual)
        return rule(drawn(dice, Q), [Q], [P, P], dice=dice)[0]

    slow, fast = (P * Q).sum(), np.minimum(P, Q).sum()  # drawn and accepted, summed over the tokens
    offs = [
        line("p(x), then p without x", law(one_hot), note=f", accepts {slow}"),
        line("p(x)/q(x), then (p - q)+", law(by_ratio), note=f", accepts {fast}"),
        line("p(x), then (p - q)+", law(half_and_half)),
    ]
    assert offs[:2] == [0, 0] != offs[2:] and slow < fast


@myth
def residual_at_one_token() -> None:
    """A residual that subtracts q at the rejected token alone is a bug."""
    rule = known.chain_by(known.ratio, known.residual_there_only)  # subtracts at the rejected token alone

    def next_by_it(dice: Dice, draft: int, q: np.ndarray) -> int:
        return rule([draft], [q], [P, P], dice=dice)[0]

    guess = tenths(0, 10, 0)  # a draft that always says token 1: a look-up, a greedy chain, a top-k tree
    kept = line("the draft is no draw: one-hot q", law(lambda dice: next_by_it(dice, 1, guess)))
    broken = line("the draft is drawn from q", law(lambda dice: next_by_it(dice, *drawn(dice, Q), Q)))
    assert kept == 0 and broken > 0


@myth
def low_acceptance() -> None:
    """Acceptance has fallen since the update, so the text must be wrong."""
    stale = tenths(0, 1, 9)  # what the draft says when its cache is out of step
    (good, high), (still_good, low) = (first_cycle(rules.token_by_token, P, q, (-1, 0)) for q in (Q, stale))

    def mixed(dice: Dice) -> int:
        return rules.token_by_token(drawn(dice, stale), [Q], [P, P], dice=dice)[0]

    offs = [
        line("the draft as intended", good, note=f", accepts {high}"),
        line("a draft out of step", still_good, note=f", accepts {low}"),
        line("drawn from one q, judged by another", law(mixed)),
    ]
    assert offs[:2] == [0, 0] != offs[2:] and low < high


class StopAtRefusal:
    """Dice that accept nothing after their first refusal."""

    def __init__(self, dice: Dice) -> None:
        self.dice, self.refused = dice, False

    def accept(self, probability: Fraction, name: Name) -> bool:
        self.refused = self.refused or not self.dice.accept(probability, name)
        return not self.refused

    def categorical(self, weights: np.ndarray, name: Name) -> int:
        return self.dice.categorical(weights, name)


@myth
def early_break() -> None:
    """Block verification has to stop at the first position that fails."""

    def stopping(draft_tokens: np.ndarray, draft_probs: np.ndarray, target_probs: np.ndarray, *, dice: Dice) -> list:
        return rules.block(draft_tokens, draft_probs, target_probs, dice=StopAtRefusal(dice))

    offs, accepted = [], []
    for name, rule in (("all coins are asked", rules.block), ("stop at the first refusal", stopping)):
        first, mean = first_cycle(rule, P, Q, (-1, 0, 1))
        accepted.append(mean)
        offs.append(line(name, first, note=f", accepts {float(mean):.2f} of 2"))
    assert offs[0] == 0 < offs[1] and accepted[1] < accepted[0]
