"""Faults that show only in shapes or sizes that are rare among the worlds drawn: siblings with children that are the
same token, several sequences with several drafts, filters that meet. Those that are tried always must hold them."""

from collections.abc import Callable

import numpy as np
import pytest
from samplers import softmax
from test_rare_faults import judged, normed, recursive, rows
from test_rare_loops import decoder

from eagle_min.exactness import certify
from eagle_min.exactness.judge.kinds import KINDS
from eagle_min.exactness.judge.report import report
from eagle_min.exactness.worlds.decodings import world_of

# ---- batches ----


def second_row_by_the_first_ones_draft_laws(tokens, q, p, *, dice):
    """The quick way for sequences of equal length, where there are two drafts or more."""
    same = len(tokens) == 2 and len(tokens[0]) == len(tokens[1]) >= 2
    return rows(tokens, q, p, dice, laws=lambda row: (q[0] if same else q[row], p[row]))


def third_row_by_the_first_ones_draft_laws(tokens, q, p, *, dice):
    """An offset that is wrong behind a sequence without drafts."""
    wrong = [len(row) for row in tokens] == [1, 0, 1]
    return rows(tokens, q, p, dice, laws=lambda row: (q[0] if wrong and row == 2 else q[row], p[row]))


def nothing_drafted_is_greedy(tokens, q, p, *, dice):
    """The pass over prompts, before there is any draft."""
    if not any(map(len, tokens)):
        return [[int(np.argmax(law[0]))] for law in p]
    return rows(tokens, q, p, dice)


def third_row_without_drafts_by_the_first_ones_law(tokens, q, p, *, dice):
    wrong = len(tokens) == 3 and len(tokens[2]) == 0
    return rows(tokens, q, p, dice, laws=lambda row: (q[row], p[0][:1] if wrong and row == 2 else p[row]))


def a_batch_of_one_is_greedy(tokens, q, p, *, dice):
    return [[int(np.argmax(p[0][0]))]] if len(tokens) == 1 else rows(tokens, q, p, dice)


def refused_rows_share_their_number(tokens, q, p):
    """Coins and bonus are each row's own; what is drawn behind a refusal has one number for all rows."""
    shared, found = np.random.random(), []
    for drafts, draft, target in zip(tokens, q, p):
        row = []
        for place, token in enumerate(drafts):
            if np.random.random() * draft[place, token] >= target[place, token]:
                left = np.maximum(target[place] - draft[place], 0)
                row.append(int(np.searchsorted(left.cumsum(), shared * left.sum(), side="right")))
                break
            row.append(int(token))
        else:
            row.append(int(np.random.choice(len(target[-1]), p=target[len(drafts)])))
        found.append(row)
    return found


# ---- chains and trees ----


def fourth_draft_is_free(tokens, q, p, *, dice):
    return judged(tokens, q, p, dice, (), lambda place, *_: place >= 3)


def levels(parents) -> list[int]:
    found = [0]
    for parent in parents[1:]:
        found.append(found[parent] + 1)
    return found


def keyed(tokens, parents) -> list[int]:
    """The row of each node as one finds it by depth and token: that of the last cousin."""
    names = list(zip(levels(parents), map(int, tokens)))
    return [len(names) - 1 - names[::-1].index(name) for name in names]


def walk(tokens, parents, p, dice, rows: list[int], final: Callable[[int], int] = lambda node: node) -> list[int]:
    """The match walk; `final` is the row that the token behind a leaf is drawn from."""
    path, node = [], 0
    while True:
        below = [child for child, parent in enumerate(parents) if parent == node]
        token = dice.categorical(p[rows[node] if below else rows[final(node)]], (len(path),))
        path.append(token)
        found = [child for child in below if tokens[child] == token]
        if not found:
            return path
        node = found[0]


def cousins_by_token(tokens, parents, p, *, dice):
    return walk(tokens, parents, p, dice, keyed(tokens, parents))


def bonus_behind_four_from_the_row_above(tokens, parents, p, *, dice):
    def final(node: int) -> int:
        return parents[node] if levels(parents)[node] == 4 else node

    return walk(tokens, parents, p, dice, list(range(len(tokens))), final)


def siblings_on_the_third_level_are_not_struck_out(tokens, parents, p, *, dice):
    """Accept with p, else strike the token out of it; forgotten on the third level."""
    path, node, deep = [], 0, levels(parents)
    while True:
        law, taken = p[node], None
        for child in [child for child, parent in enumerate(parents) if parent == node]:
            if dice.accept(law[tokens[child]], ("coin", child)):
                taken = child
                break
            if deep[child] < 3:
                law = normed(np.where(np.arange(len(law)) == tokens[child], 0, law))
        if taken is None:
            return [*path, dice.categorical(law, ("final", node))]
        path, node = [*path, int(tokens[taken])], taken


def drawn_cousins_by_token(tokens, parents, q, p, *, dice):
    of = keyed(tokens, parents)
    return recursive(tokens, parents, q, p[of], dice, lambda node, number, p, q: np.maximum(p - q, 0))


def cousins_drawn_with_replacement_by_token(tokens, parents, q, p, *, dice):
    """Recursive rejection: a coin for each child, p / q, and behind a refusal what is left of p."""
    of, path, node = keyed(tokens, parents), [], 0
    while True:
        law, taken = p[of[node]], None
        for child in [child for child, parent in enumerate(parents) if parent == node]:
            if dice.accept(min(1, law[tokens[child]] / q[node, tokens[child]]), ("coin", child)):
                taken = child
                break
            law = normed(np.maximum(law - q[node], 0))
        if taken is None:
            return [*path, dice.categorical(law, ("final", node))]
        path, node = [*path, int(tokens[taken])], taken


# ---- decoders ----


def third_level_by_the_row_above(model, drafter, prompt, max_new_tokens, stop, sampling):
    def rows(tokens, parents) -> list[int]:
        return [parents[node] if level == 3 else node for node, level in enumerate(levels(parents))]

    return decoder(model, drafter, prompt, max_new_tokens, stop, sampling, rows=rows)


def cousins_share_a_row(model, drafter, prompt, max_new_tokens, stop, sampling):
    return decoder(model, drafter, prompt, max_new_tokens, stop, sampling, rows=keyed)


def drawn_cousins_share_a_row(model, drafter, prompt, max_new_tokens, stop, sampling):
    """Only where the tree was drawn, and is judged by code of its own."""
    drawn: list[bool] = []

    def noting(ids) -> tuple:
        tree = drafter(ids)
        drawn.append(tree[2] is not None)
        return tree

    def rows(tokens, parents) -> list[int]:
        return keyed(tokens, parents) if drawn[-1] else list(range(len(tokens)))

    return decoder(model, noting, prompt, max_new_tokens, stop, sampling, rows=rows)


def paths_in_any_order(tokens, parents) -> list[int]:
    """A memo whose key is a path with its tokens sorted."""
    paths: list[list[int]] = [[]]
    for node in range(1, len(tokens)):
        paths.append([*paths[parents[node]], int(tokens[node])])
    names = list(map(sorted, paths))
    return [names.index(name) for name in names]


def orders_share_a_row(model, drafter, prompt, max_new_tokens, stop, sampling):
    return decoder(model, drafter, prompt, max_new_tokens, stop, sampling, rows=paths_in_any_order)


def shares_of_all(row, sampling):
    """top_p counts shares of the whole law, not of what top_k has left."""
    if sampling.temperature == 0 or sampling.top_k is None:
        raise AssertionError("only for the world in which the two meet")
    law = softmax(row)
    keep = np.argsort(-law, kind="stable")[: sampling.top_k]
    keep = keep[law[keep].cumsum() - law[keep] < sampling.top_p]
    return normed(np.where(np.isin(np.arange(len(law)), keep), law, 0))


def shares_of_the_whole_law(model, drafter, prompt, max_new_tokens, stop, sampling):
    if sampling.temperature > 0 and sampling.top_k is not None and sampling.top_p < 1:
        return decoder(model, drafter, prompt, max_new_tokens, stop, sampling, law=shares_of_all)
    return decoder(model, drafter, prompt, max_new_tokens, stop, sampling)


WRONG = {
    "batch": (
        second_row_by_the_first_ones_draft_laws,
        third_row_by_the_first_ones_draft_laws,
        nothing_drafted_is_greedy,
        third_row_without_drafts_by_the_first_ones_law,
        a_batch_of_one_is_greedy,
        refused_rows_share_their_number,
    ),
    "chain": (fourth_draft_is_free,),
    "tree": (
        cousins_by_token,
        bonus_behind_four_from_the_row_above,
        siblings_on_the_third_level_are_not_struck_out,
    ),
    "tree-sampled": (drawn_cousins_by_token,),
    "tree-iid": (cousins_drawn_with_replacement_by_token,),
    "loop": (
        third_level_by_the_row_above,
        cousins_share_a_row,
        drawn_cousins_share_a_row,
        orders_share_a_row,
        shares_of_the_whole_law,
    ),
}


# the others in the ci tier
QUICK = (
    second_row_by_the_first_ones_draft_laws,
    third_row_by_the_first_ones_draft_laws,
    fourth_draft_is_free,
    cousins_by_token,
    drawn_cousins_by_token,
    cousins_share_a_row,
)


@pytest.mark.parametrize(
    ("kind", "sampler"),
    [
        pytest.param(kind, each, marks=[] if each in QUICK else [pytest.mark.ci])
        for kind, some in WRONG.items()
        for each in some
    ],
)
def test_it_is_refuted_whatever_is_drawn(kind, sampler):
    verdict = certify(sampler, kind, num_worlds=1)
    assert verdict.status == "refuted" and verdict.counterexample.broken is None, report(verdict)
    assert report(verdict).startswith("REFUTED: the law of the output is not the target's")


def test_with_its_own_rows_the_draw_with_replacement_is_exact(monkeypatch):
    monkeypatch.setitem(globals(), "keyed", lambda tokens, parents: list(range(len(tokens))))
    verdict = certify(cousins_drawn_with_replacement_by_token, "tree-iid", num_worlds=5)
    assert verdict.status == "exact", report(verdict)


def test_what_is_right_the_second_time_is_undecided():
    """A sampler that is wrong once, in a chain of four, which is never drawn."""
    wrong = iter([True, True])  # each sequence of answers is run twice

    def once(tokens, q, p, *, dice):
        if len(tokens) == 4 and next(wrong, False):
            return [0]
        return judged(tokens, q, p, dice, ())

    verdict = certify(once, "chain", num_worlds=1)
    assert verdict.status == "undecided" and "hidden state" in verdict.reason


@pytest.mark.parametrize(
    ("kind", "sampler", "sizes"),
    [
        ("batch", lambda tokens, q, p, *, dice: rows(tokens, q, p, dice), "3 tokens, 4 drafts, 2 in a row"),
        (
            "tree",
            lambda tokens, parents, p, *, dice: walk(tokens, parents, p, dice, list(range(len(tokens)))),
            "3 tokens, 4 drafts, 4 in a row",
        ),
    ],
)
def test_the_report_says_how_large_the_worlds_were(kind, sampler, sizes):
    verdict = certify(sampler, kind, num_worlds=1)
    assert verdict.status == "exact" and f"\nlargest worlds: {sizes}\n" in report(verdict)


@pytest.mark.parametrize("kind", KINDS)
def test_laws_that_may_be_taken_for_one_another_differ(kind):
    for world in KINDS[kind].always_tried:
        tables = world_of(world)
        for table in (tables.target, tables.draft):
            assert len(set(table.rows)) == 3 and all(0 not in row for row in table.rows)
