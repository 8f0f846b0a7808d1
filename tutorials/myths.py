# %% [markdown]
# # Myths about speculative decoding, and a command that settles each
#
# `myths.md` tells what people say and why. Here is what settles it: one function a myth, which prints the decisive
# figures and then asserts them. `python tutorials/myths.py NAME` runs one; without a name all of them run.
#
# Nothing is sampled and no network is asked. Targets and drafts are tables of two to four tokens, and the law of
# a program is found in fractions, by running it once for every outcome of its dice. "Off by" is the total variation
# to the law that is wanted: the largest error in the probability of any event. 0 means equal, not nearly.

# %%
import math
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # find the package from any directory

import numpy as np

from eagle_min.config import SamplingConfig, TreeConfig
from eagle_min.dice import Dice, Name
from eagle_min.exactness import known, rules
from eagle_min.exactness.bounds import accepted_at_node
from eagle_min.exactness.contracts import Law, Sampler, two_cycles
from eagle_min.exactness.law import Limits, law, total_variation
from eagle_min.exactness.worlds import Table, World
from eagle_min.grow import confidence, ratio
from eagle_min.sampling import next_token_law
from eagle_min.tree import DraftTree, ancestor_mask, depths, draw, path_to
from eagle_min.verify import match_walk, recursive_rejection, rejection_walk

MYTHS: dict[str, Callable[[], None]] = {}  # name on the command line -> what settles it


def myth(settle: Callable[[], None]) -> Callable[[], None]:
    """Give a function a name on the command line; its docstring is the claim."""
    MYTHS[settle.__name__.replace("_", "-")] = settle
    return settle


# %% [markdown]
# ## The worlds
#
# Two pairs of a target p and a draft q. In the second pair two tokens are likelier under the target than under the
# draft; in the first it is one, and some faults hide there.


# %%
def tenths(*weights: int) -> np.ndarray:
    """A law (V,) in fractions."""
    return np.array([Fraction(weight, 10) for weight in weights], dtype=object)


P, Q = tenths(5, 3, 2), tenths(2, 5, 3)
P4, Q4 = tenths(4, 3, 2, 1), tenths(1, 2, 3, 4)


def off_by(off: Fraction) -> str:
    """A total variation as it is printed."""
    return f"off by {float(off):.4f}" if off else "off by 0"


def line(name: str, found: Law, wanted: np.ndarray = P, note: str = "") -> Fraction:
    """Print a law of the next token and its distance to `wanted`; returns the distance."""
    off = total_variation(found, dict(enumerate(wanted)))
    shares = ", ".join(str(found.get(token, 0)) for token in range(len(wanted)))
    print(f"{name:<35} [{shares}]  {off_by(off)}{note}")
    return off


def siblings(*tokens: int, q: np.ndarray | None = None) -> DraftTree:
    """A root and its children; `q` is the law they were drawn from, if they were drawn."""
    parents, values = (-1, *(0 for _ in tokens)), (0.0, *(-1.0 for _ in tokens))
    return DraftTree((0, *tokens), parents, values, {} if q is None else {0: q})


def next_token(rule: Callable, tree: DraftTree, dice: Dice, p: np.ndarray = P) -> int:
    """The first token that a rule of `eagle_min.verify` commits."""
    cycle = () if rule is match_walk else (0,)  # the others number their coins by it
    path, bonus = rule(tree, lambda node: p, dice, 1, *cycle)
    return tree.tokens[path[1]] if len(path) > 1 else bonus


def drawn(dice: Dice, q: np.ndarray, count: int = 1) -> list[int]:
    """Tokens drawn from q, without replacement."""
    weights, tokens = q.copy(), []
    for rank in range(count):
        tokens.append(dice.categorical(weights, ("draft", rank)))
        weights[tokens[-1]] = Fraction(0)
    return tokens


def doubled(p: np.ndarray, q: np.ndarray, token: int) -> Fraction:
    """A generous chance of acceptance."""
    return 2 * known.ratio(p, q, token)


def first_cycle(rule: Callable, p: np.ndarray, q: np.ndarray, parents: tuple) -> tuple[Law, Fraction]:
    """What a chain verifier commits first, and how many drafts it accepts, where p and q never change."""
    world = World(Table((tuple(p),)), Table((tuple(q),)), parents, (0,) * len(parents))
    texts = Sampler(rule, "chain", exact=True, limits=Limits()).cycle_law(world, ())
    first: Law = {}
    for text, share in texts.items():
        first[text[0]] = first.get(text[0], 0) + share
    return first, sum((len(text) - 1) * share for text, share in texts.items())


# %% [markdown]
# ## It looks biased, and is exact


# %%
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


# %% [markdown]
# ## It looks exact, and is biased


# %%
@myth
def medusa() -> None:
    """Medusa is lossless."""
    entropy = -sum(float(x) * math.log(x) for x in P)
    threshold = min(0.09, 0.3 * math.exp(-entropy))  # epsilon and delta as its code has them

    def typical(dice: Dice, draft: int) -> int:
        return draft if P[draft] > threshold else dice.categorical(P, ("own",))

    laws = [law(lambda dice, draft=draft: typical(dice, draft)) for draft in (1, 2)]
    offs = [line(f"typical acceptance, draft says {draft}", found) for draft, found in zip((1, 2), laws)]
    assert min(offs) > Fraction(1, 2) and laws[0] != laws[1], "the text is the drafter's"


@myth
def grandparent() -> None:
    """A tree node sees its parent and its grandparent."""
    rows = P, tenths(1, 6, 3), tenths(4, 2, 4)

    def law_of(seen: Iterable[tuple[int, int]]) -> np.ndarray:
        """The target: every (place, token) that is seen moves it to another row."""
        return rows[sum((place + 1) * (token + 1) for place, token in seen) % len(rows)]

    def text(dice: Dice, mask: np.ndarray, tree: DraftTree) -> tuple:
        def law_at(node: int) -> np.ndarray:
            return law_of((places[other], tree.tokens[other]) for other in np.flatnonzero(mask[node]))

        places = depths(tree.parents)
        path, bonus = match_walk(tree, law_at, dice, position=1)
        found = [tree.tokens[0], *(tree.tokens[node] for node in path[1:]), bonus]
        while len(found) < 5:
            found.append(dice.categorical(law_of(enumerate(found)), ("own", len(found))))
        return tuple(found)

    offs = {}
    for deepest in (2, 3):
        tree = DraftTree((0, 1, 0, 1)[: deepest + 1], tuple(range(-1, deepest)), (0.0,) * (deepest + 1))
        full, near = ancestor_mask(tree.parents), ancestor_mask(tree.parents)
        for node in range(len(tree)):
            near[node, path_to(tree.parents, node)[:-3]] = False  # itself, parent, grandparent, no further
        wanted = law(lambda dice: text(dice, np.eye(1, dtype=bool), DraftTree((0,), (-1,), (0.0,))))
        for name, mask in (("all ancestors", full), ("parent and grandparent", near)):
            off = total_variation(law(lambda dice, mask=mask, tree=tree: text(dice, mask, tree)), wanted)
            offs[name, deepest] = off
            print(f"draft {deepest} deep, {name:<22}  {off_by(off)}")
    assert [off for off in offs.values() if off] == [offs["parent and grandparent", 3]]


@myth
def sorted_children() -> None:
    """The order in which drawn children are verified does not matter."""

    def program(dice: Dice, rule: Callable, likelier_first: bool) -> int:
        children = drawn(dice, Q, count=2)
        if likelier_first:
            children.sort(key=lambda token: -Q[token])
        return next_token(rule, siblings(*children, q=None if rule is match_walk else Q), dice)

    offs = [
        line("p/q in the order of drawing", law(lambda dice: program(dice, recursive_rejection, False))),
        line("p/q, the likelier child first", law(lambda dice: program(dice, recursive_rejection, True))),
        line("match walk, the likelier first", law(lambda dice: program(dice, match_walk, True))),
    ]
    assert offs[0] == 0 == offs[2] < offs[1]


# %% [markdown]
# ## It looks proved, and is not


# %%
SINGLE, FORK = ((-1, 0), (0, 0)), ((-1, 0, 0), (0, 0, 1))  # parents and ranks: one draft; two siblings
FAULTS = (  # name, kind and shape of the drafts, verifier
    ("every draft is accepted", "chain", SINGLE, known.chain_by(lambda p, q, token: 1, known.residual)),
    ("after a refusal draw from p", "chain", SINGLE, known.chain_by(known.ratio, lambda p, q, token: p)),
    ("accept with 2 p(x)/q(x)", "chain", SINGLE, known.chain_by(doubled, known.residual)),
    ("short residual, drawn draft", "chain", SINGLE, known.chain_by(known.ratio, known.residual_there_only)),
    ("top-k siblings not renormalised", "tree", FORK, known.tree_by(known.struck_out)),
    ("drawn siblings judged by plain q", "tree-sampled", FORK, known.raw_siblings),
)


@myth
def greedy_equality() -> None:
    """Equal greedy text proves that a sampler is lossless."""
    one_hot = [tuple(Fraction(int(token == best)) for token in range(3)) for best in range(3)]
    greedy = [Table(pair) for pair in product(one_hot, repeat=2)]  # every greedy target of a world with two contexts
    target, draft = (Table((tuple(a), tuple(b))) for a, b in ((P, tenths(1, 6, 3)), (tenths(2, 2, 6), tenths(3, 3, 4))))
    passed = []
    for name, kind, shape, verifier in FAULTS:
        sampler = Sampler(verifier, kind, exact=True, limits=Limits())
        laws = [two_cycles(sampler, World(table, draft, *shape)) for table in greedy]
        equal = sum(got == wanted for got, wanted in laws)
        off = total_variation(*two_cycles(sampler, World(target, draft, *shape)))
        passed += [equal == len(greedy)]
        print(f"{name:<35} greedy: {equal} of {len(greedy)} texts right; temperature 1: {off_by(off)}")
        assert off > 0
    assert passed == [False, True, True, True, True, True]


@myth
def first_token() -> None:
    """It is enough to check the law of the next token."""
    after, q_after = (P, tenths(1, 6, 3), tenths(4, 2, 4)), (Q, tenths(3, 3, 4), tenths(1, 8, 1))

    def without_break(dice: Dice) -> tuple[int, int]:
        """Two drafts; the second is judged though the first was refused and another token stands there."""
        text, drafted = [], 0
        for place in range(2):
            p, q = after[drafted], q_after[drafted]
            drafted = dice.categorical(q, ("draft", place))
            kept = dice.accept(min(1, p[drafted] / q[drafted]), ("coin", place))
            text.append(drafted if kept else dice.categorical(np.maximum(p - q, 0), ("residual", place)))
        return tuple(text)

    pairs = law(without_break)
    first = {token: sum(share for text, share in pairs.items() if text[0] == token) for token in range(3)}
    wanted = {(a, b): P[a] * after[a][b] for a, b in product(range(3), repeat=2)}
    one, two = line("the next token", first), total_variation(pairs, wanted)
    print(f"the next two tokens together: {off_by(two)}")
    assert one == 0 < two


@myth
def one_example() -> None:
    """It came out right in a worked example, so the rule is right."""

    def two_children(dice: Dice, p: np.ndarray, q: np.ndarray) -> int:
        """Drawn without replacement, but the second one is judged by q as it was before the first was drawn."""
        tokens = [0, *drawn(dice, q, count=2)]
        return known.raw_siblings(tokens, [-1, 0, 0], [q] * 3, [p] * 3, dice=dice)[0]

    def found(p: np.ndarray, q: np.ndarray) -> Law:
        return law(lambda dice: two_children(dice, p, q))

    one = line("three tokens", found(P, Q))
    other = line("four tokens", found(P4, Q4), P4)
    laws = [tuple(Fraction(w, 8) for w in ws) for ws in product(range(1, 7), repeat=3) if sum(ws) == 8]
    pairs = list(product(laws, repeat=2))
    unseen = sum(found(*(np.array(row, dtype=object) for row in pair)) == dict(enumerate(pair[0])) for pair in pairs)
    print(f"of all {len(pairs)} pairs p, q of three tokens in eighths, {unseen} do not show the fault")
    assert one == 0 < other and len(pairs) / 2 < unseen < len(pairs)


def mean_error(wanted: np.ndarray, num_samples: int) -> float:
    """How far the histogram of an exact sampler is off on average: no estimate, but de Moivre's formula for the
    mean of |X - np|, X binomial: 2 k C(n, k) p^k (1 - p)^(n - k + 1), k the integer part of np + 1."""
    n, total = num_samples, 0.0
    for share in wanted:
        k, p = math.floor(n * share) + 1, float(share)
        choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        total += 2 * k * math.exp(choose + k * math.log(p) + (n - k + 1) * math.log1p(-p))
    return total / n / 2


@myth
def many_samples() -> None:
    """A test with 100,000 samples would have found a bias."""
    third = np.array([Fraction(1, 3)] * 3, dtype=object)
    rounded = np.array([Fraction(k, 256) for k in (85, 85, 86)], dtype=object)  # a third, in 8 bits

    def program(dice: Dice) -> int:
        return rules.token_by_token(drawn(dice, rounded), [third], [P, P], dice=dice)[0]

    off = line("drawn from a rounded q", law(program))
    for num_samples in (1_000, 100_000, 10_000_000):
        error = mean_error(P, num_samples)
        print(f"{num_samples:>10,} samples of an exact sampler: their histogram is off by {error:.4f}")
    wide = mean_error(np.array([Fraction(1, 1000)] * 1000, dtype=object), 100_000)
    print(f"   100,000 samples over 1,000 tokens, all as likely: off by {wide:.4f}")
    assert wide > mean_error(P, 100_000) > off > 0


@myth
def high_acceptance() -> None:
    """More drafts are accepted, so the rule is better."""
    most = accepted_at_node(tuple(P4), tuple(Q4), num_children=1, replace=False)
    offs, accepted = [], []
    for name, rule in (
        ("accept with p(x)/q(x)", rules.token_by_token),
        ("accept with 2 p(x)/q(x)", known.chain_by(doubled, known.residual)),
    ):
        first, mean = first_cycle(rule, P4, Q4, (-1, 0))
        accepted.append(mean)
        offs.append(line(name, first, P4, note=f", accepts {mean}"))
    print(f"the most that any exact rule accepts: {most}")
    assert offs[0] == 0 < offs[1] and accepted[0] == most < accepted[1]


# %% [markdown]
# ## It is not EAGLE-2


# %%
@myth
def ratio_rule() -> None:
    """EAGLE-2 branches where the ratio of the two best probabilities is low."""
    rows = tenths(3, 7), tenths(1, 9)  # the draft's law after a and after b; the target agrees with it

    def expand(tokens: list[int], parents: list[int], nodes: list[int]) -> np.ndarray:
        return np.log(np.array([rows[tokens[node]] for node in nodes], dtype=float))

    def accepted(tree: DraftTree) -> Fraction:
        counts = law(lambda dice: len(match_walk(tree, lambda node: rows[tree.tokens[node]], dice, 1).path) - 1)
        return sum(count * share for count, share in counts.items())

    means = []
    for name, grow in (("EAGLE-2", confidence), ("ratio rule", ratio)):
        tree = grow(0, expand, TreeConfig(num_nodes=6, depth=3), 3)
        means.append(accepted(tree))
        print(f"{name}, {tree.num_drafted} drafts, {float(means[-1]):.3f} accepted")
        print(draw(tree, lambda node, tree=tree: "ab"[tree.tokens[node]]))
    assert means[0] > means[1]


# %% [markdown]
# ## What must hold
#
# Each function has asserted its figures by the time it returns.


# %%
def main(names: list[str]) -> int:
    """Settle the named myths, all of them when there are no names. The exit status, 2 for an unknown name."""
    for name in names:
        if name not in MYTHS:
            print(f"error: NAME must be one of {', '.join(MYTHS)}, got {name!r}", file=sys.stderr)
            return 2
    for name in names or MYTHS:
        if not names:
            print(f"\n{name}: {MYTHS[name].__doc__}")
        MYTHS[name]()
    if not names:
        print("all assertions hold")
    return 0


if __name__ == "__main__":
    if status := main(sys.argv[1:] if Path(sys.argv[0]).name == "myths.py" else []):  # a notebook has other arguments
        sys.exit(status)

# %% [markdown]
# ## Break it
#
# 1. Find a pair p, q for which `residual_there_only` is exact although the draft is drawn from q. Which myth of the
#    third part have you just met?
# 2. In `grandparent`, give the target rows that depend on the last token alone. Which mask is right now, and what does
#    that say about testing a tree mask with a context-free target?
