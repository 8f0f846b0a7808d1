# %% [markdown]
# # It looks proved, and is not
#
# What people say is on the page `myths.md`; `myths.py` is the command.

# %%
import math
from fractions import Fraction
from itertools import product

import numpy as np
from myths_tables import P4, Q4, P, Q, doubled, drawn, first_cycle, line, myth, off_by, tenths

from eagle_min.dice import Dice
from eagle_min.exactness.acceptance import known_faults as known
from eagle_min.exactness.acceptance import rules
from eagle_min.exactness.acceptance.bounds import accepted_at_node
from eagle_min.exactness.judge.kinds import KINDS
from eagle_min.exactness.judge.sampler import Sampler
from eagle_min.exactness.law import Limits, law, total_variation
from eagle_min.exactness.worlds.tables import Table, TextLaw, World

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
        sampler = Sampler(verifier, KINDS[kind], exact=True, limits=Limits())
        laws = [sampler.got_and_wanted(World(table, draft, *shape)) for table in greedy]
        equal = sum(got == wanted for got, wanted in laws)
        off = total_variation(*sampler.got_and_wanted(World(target, draft, *shape)))
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

    def found(p: np.ndarray, q: np.ndarray) -> TextLaw:
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
