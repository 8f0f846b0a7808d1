"""Faults that show only where a token is rare or all but certain, a draft is long, a batch uneven or siblings lie deep:
the worlds that `certify` tries unless told otherwise must hold such places."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from eagle_min.exactness import certify
from eagle_min.exactness.judge.report import report


def normed(row: np.ndarray) -> np.ndarray:
    return row / row.sum() if row.any() else row


def judged(tokens, q, p, dice, name, accepts: Callable[..., bool] | None = None) -> list[int]:
    """A chain by p/q; `accepts(place, p, q, token)`, if given, may take a draft for nothing."""
    for place, token in enumerate(tokens):
        free = accepts is not None and accepts(place, p[place], q[place], token)
        if not free and not dice.accept(min(1, p[place, token] / q[place, token]), (*name, "coin", place)):
            return [*tokens[:place], dice.categorical(np.maximum(p[place] - q[place], 0), (*name, "rest", place))]
    return [*tokens, dice.categorical(p[-1], (*name, "bonus"))]


def rare_tokens_dropped(tokens, q, p, *, dice):
    """Nothing below a tenth is ever emitted."""
    kept = np.array([normed(np.where(row < Fraction(1, 10), 0, row)) for row in p])
    out = judged(tokens, q, kept, dice, ())
    return out


def likely_drafts_taken(tokens, q, p, *, dice):
    """What the target is nine tenths sure of is not put to the coin (`threshold_single` of a serving engine)."""
    return judged(tokens, q, p, dice, (), lambda place, p, q, token: p[token] >= Fraction(9, 10))


def very_rare_tokens_dropped(tokens, q, p, *, dice):
    """An epsilon cut-off: nothing below a hundredth is ever emitted."""
    return judged(tokens, q, np.array([normed(np.where(row < Fraction(1, 100), 0, row)) for row in p]), dice, ())


def nothing_drafted_is_greedy(tokens, q, p, *, dice):
    return judged(tokens, q, p, dice, ()) if len(tokens) else [int(np.argmax(p[0]))]


def third_residual_without_q(tokens, q, p, *, dice):
    """From the third draft on a refused token is struck out of p, and that is all."""
    out = judged(tokens[:2], q[:2], p[:3], dice, ())
    if len(out) <= 2 or len(tokens) < 3:
        return out if len(out) <= 2 else [*tokens[:2], *judged(tokens[2:], q[2:], p[2:], dice, ("more",))]
    if dice.accept(min(1, p[2, tokens[2]] / q[2, tokens[2]]), ("third",)):
        return [*tokens, dice.categorical(p[3], ("last",))]
    return [*tokens[:2], dice.categorical(np.where(np.arange(len(p[2])) == tokens[2], 0, p[2]), ("rest",))]


def third_draft_free(tokens, q, p, *, dice):
    return judged(tokens, q, p, dice, (), lambda place, *_: place >= 2)


def one_of_three_tokens_too_many(tokens, q, p, *, dice):
    """The target is cut to its three likeliest tokens."""
    cut = np.array([normed(np.where(np.argsort(np.argsort(-row, kind="stable")) < 3, row, 0)) for row in p])
    return judged(tokens, q, cut, dice, ())


def rows(tokens, q, p, dice, **wrong: Callable) -> list[list[int]]:
    """A batch, row by row; `wrong` says which laws and which name for its coins a row gets."""
    laws = wrong.get("laws", lambda row: (q[row], p[row]))
    name = wrong.get("name", lambda row: (row,))
    return [
        judged(row, *laws(i), dice, name(i), wrong.get("accepts", lambda _: None)(i)) for i, row in enumerate(tokens)
    ]


def later_rows_accept_all(tokens, q, p, *, dice):
    return rows(tokens, q, p, dice, accepts=lambda row: (lambda *_: True) if row else None)


def first_rows_draft_laws(tokens, q, p, *, dice):
    """Every row is judged with the draft laws of the first that is long enough."""

    def laws(row: int) -> tuple:
        other = next(i for i, each in enumerate(q) if len(each) >= len(q[row]))
        return q[other][: len(q[row])], p[row]

    return rows(tokens, q, p, dice, laws=laws)


def shared_coins(tokens, q, p, *, dice):
    """The first coin of a row decides in every other row that has drafts, if it is the same question."""
    known: dict = {}

    class Sharing:
        def accept(self, chance, name):
            if name[1:] == ("coin", 0):
                if chance not in known:
                    known[chance] = dice.accept(chance, name)
                return known[chance]
            return dice.accept(chance, name)

        def categorical(self, weights, name):
            return dice.categorical(weights, name)

    return rows(tokens, q, p, Sharing())


def recursive(tokens, parents, q, p, dice, residual: Callable, reuse: bool = False) -> list[int]:
    """Recursive rejection without replacement. `residual(node, number, p, q)` is what is left of p after the refusal
    number 1, 2, ... at a node; with `reuse` one coin decides about all children of a node below the root."""
    path, node = [], 0
    while True:
        law, draft, refused = p[node], q[node].copy(), 0
        for child in [i for i, parent in enumerate(parents) if parent == node]:
            token, draft = tokens[child], normed(draft)
            chance = min(1, law[token] / draft[token])
            again = reuse and node and refused
            if not again and dice.accept(chance, ("coin", child)):
                path, node = [*path, int(token)], child
                break
            refused += 1
            law = normed(residual(node, refused, law, draft))
            draft[token] = 0
        else:
            return [*path, dice.categorical(law, ("rest", node))]


def right_residual(node, number, p, q):
    return np.maximum(p - q, 0) if (p > q).any() else p


def right_tree(tokens, parents, q, p, *, dice):
    return recursive(tokens, parents, q, p, dice, right_residual)


def no_residual_deep_down(tokens, parents, q, p, *, dice):
    return recursive(tokens, parents, q, p, dice, lambda node, n, p, q: p if node else right_residual(node, n, p, q))


def no_second_residual_deep_down(tokens, parents, q, p, *, dice):
    wrong = lambda node, n, p, q: p if node and n == 2 else right_residual(node, n, p, q)  # noqa: E731
    return recursive(tokens, parents, q, p, dice, wrong)


def third_sibling_free(tokens, parents, q, p, *, dice):
    """What is left of p behind two refusals is given to the third sibling."""

    def residual(node, number, law, draft):
        if number < 2 or parents.tolist().count(node) < 3:
            return right_residual(node, number, law, draft)
        third = [child for child, parent in enumerate(parents) if parent == node][2]
        return (np.arange(len(law)) == tokens[third]) * Fraction(1)

    return recursive(tokens, parents, q, p, dice, residual)


def third_child_free(tokens, parents, p, *, dice):
    """A walk that draws the target's token, but where there are three children takes the third when none is met."""
    node, out = 0, []
    while True:
        below = [child for child, parent in enumerate(parents) if parent == node]
        out.append(dice.categorical(p[node], ("token", node)))
        met = [child for child in below if tokens[child] == out[-1]]
        if not met and len(below) == 3:
            out[-1], met = int(tokens[below[2]]), below[2:]
        if not met:
            return out
        node = met[0]


def one_coin_deep_down(tokens, parents, q, p, *, dice):
    return recursive(tokens, parents, q, p, dice, right_residual, reuse=True)


WRONG = [
    *(("chain", f) for f in (rare_tokens_dropped, likely_drafts_taken, third_draft_free, one_of_three_tokens_too_many)),
    *(("chain", f) for f in (very_rare_tokens_dropped, nothing_drafted_is_greedy, third_residual_without_q)),
    *(("batch", f) for f in (later_rows_accept_all, first_rows_draft_laws, shared_coins)),
    *(("tree-sampled", f) for f in (no_residual_deep_down, no_second_residual_deep_down, one_coin_deep_down)),
    ("tree-sampled", third_sibling_free),
    ("tree", third_child_free),
]


# the others in the ci tier
QUICK = (third_child_free,)


@pytest.mark.parametrize(
    ("kind", "sampler"),
    [pytest.param(*row, marks=[] if row[1] in QUICK else [pytest.mark.ci], id=row[1].__name__) for row in WRONG],
)
def test_a_fault_that_shows_in_few_places_is_refuted(kind, sampler):
    verdict = certify(sampler, kind, exact=True)
    assert verdict.status == "refuted", report(verdict)


RIGHT = [
    ("chain", lambda tokens, q, p, *, dice: judged(tokens, q, p, dice, ())),
    ("batch", lambda tokens, q, p, *, dice: rows(tokens, q, p, dice)),
    ("tree-sampled", right_tree),
]


@pytest.mark.parametrize(
    ("kind", "sampler"),
    [pytest.param(*row, marks=[] if row[0] == "chain" else [pytest.mark.ci], id=row[0]) for row in RIGHT],
)
def test_without_its_fault_each_is_exact(kind, sampler):
    verdict = certify(sampler, kind, exact=True, num_worlds=5)
    assert verdict.status == "exact", report(verdict)
