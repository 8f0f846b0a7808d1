"""Prompt look-up against a search through the whole text, and on texts that repeat themselves.

The oracle knows no index and no trie: it tries every earlier place, and counts distinct beginnings of what followed.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from networks import shipped
from oracles import token_path

from eagle_min.config import SamplingConfig, TreeConfig
from eagle_min.decode import Reading
from eagle_min.dice import SeededDice
from eagle_min.drafters.lookup import MAX_NGRAM, LookupDrafter, Trie
from eagle_min.tree import DraftTree, depths

sizes = st.sampled_from([(2, 40), (20, 40)])  # half of the texts are long enough for several earlier places
texts = st.tuples(st.integers(1, 4), sizes).flatmap(
    lambda given: st.lists(st.integers(0, given[0] - 1), min_size=given[1][0], max_size=given[1][1])
)


def proposal(text: list[int], pieces: list[int], depth: int, tree: TreeConfig, max_ngram: int = MAX_NGRAM) -> DraftTree:
    """What is drafted behind a text that came in pieces; `pieces` are the places where one begins."""
    draft = LookupDrafter(tree, max_ngram).start(text[: pieces[0] if pieces else None])
    cuts = [1, *pieces, len(text)]
    for start, end in zip(cuts, cuts[1:]):
        draft.learn(Reading(None, None, range(end - start), text[start:end]))
    result = draft.propose(text[-1], depth, SeededDice(0), 0, SamplingConfig())
    result.check_invariants()
    return result


def paths_of(tree: DraftTree) -> list[tuple[int, ...]]:
    """The tokens below the root that lead to each node but the root, in node order."""
    return [token_path(tree.tokens, tree.parents, node) for node in range(1, len(tree))]


def searched(text: list[int], limit: int, num_nodes: int, max_ngram: int) -> list[tuple[int, ...]]:
    """By the words of the rule: the first `num_nodes - 1` distinct beginnings of what followed, latest place first."""
    for size in range(max_ngram, 0, -1):
        places = [p for p in range(size, len(text)) if text[p - size : p] == text[len(text) - size :]]
        if places:
            followed = [text[place : place + limit] for place in reversed(places)]
            beginnings = [tuple(part[:length]) for part in followed for length in range(1, len(part) + 1)]
            return list(dict.fromkeys(beginnings))[: num_nodes - 1]
    return []


@given(texts, st.lists(st.integers(2, 39)), st.integers(1, 9), st.integers(1, 9), st.integers(1, 12), st.integers(1, 4))
def test_the_draft_is_what_a_search_through_the_text_finds(text, cuts, depth, most, num_nodes, max_ngram):
    pieces = sorted({cut for cut in cuts if cut < len(text)})
    tree = proposal(text, pieces, depth, TreeConfig(num_nodes=num_nodes, depth=most), max_ngram)
    assert tree.tokens[0] == text[-1]
    assert paths_of(tree) == searched(text, min(depth, most), num_nodes, max_ngram)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=8, unique=True), st.integers(0, 7), st.integers(1, 9))
def test_a_text_that_repeats_is_drafted_whole(part, more, depth):
    """As one chain of the full length, though the latest place has no more than one round behind it."""
    rounds = 2 + MAX_NGRAM + depth
    endless = part * (rounds + depth + more)
    text = endless[: len(part) * rounds + more]
    tree = proposal(text, [], depth, TreeConfig(num_nodes=depth + 1, depth=depth))
    assert tree.parents == tuple(range(-1, depth))
    assert list(tree.tokens) == endless[len(text) - 1 : len(text) + depth]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("abcdxbcdyzbcd", ["y", "yz", "yzb", "x", "xb", "xbc"]),  # the latest place first
        ("abcdebcfabc", ["d", "de", "deb"]),  # three tokens go before two
        ("abcdxbc", ["d", "dx", "dxb"]),  # two tokens go before one
        ("abcxc", ["x", "xc"]),  # what is left of the text
        ("abcd", []),
        ("aaaaa", ["a", "aa"]),  # the end itself is no earlier place
        ("aaaaaa", ["a", "aa", "aaa"]),  # older places go on where the latest ends
    ],
)
def test_examples(text, paths):
    tree = proposal([ord(letter) for letter in text], [], 3, TreeConfig(num_nodes=24), max_ngram=3)
    assert ["".join(map(chr, path)) for path in paths_of(tree)] == paths


@given(st.lists(st.lists(st.integers(0, 2), max_size=6), max_size=8), st.integers(1, 12), st.integers(1, 5))
def test_a_trie_has_each_beginning_once_and_says_where_a_path_lies(paths, num_nodes, depth):
    trie = Trie(7, num_nodes, depth)
    for path in paths:
        nodes, before = trie.add(path), trie.tree()
        assert nodes[0] == 0 and [before.tokens[node] for node in nodes[1:]] == path[: len(nodes) - 1]
        assert [before.parents[node] for node in nodes[1:]] == nodes[:-1]
        assert len(nodes) - 1 == min(len(path), depth) or len(trie) == num_nodes
    trie.tree().check_invariants()
    assert len(trie.tree()) <= num_nodes and max(depths(trie.tree().parents)) <= depth


@pytest.mark.parametrize("max_ngram", [0, -1, 1.5, True])
def test_a_suffix_of_no_tokens_is_refused(max_ngram):
    with pytest.raises(ValueError, match="max_ngram must be an integer of at least 1, got"):
        LookupDrafter(TreeConfig(), max_ngram)


@pytest.mark.parametrize("name", ["lookup", "lookahead"])
def test_a_drafter_without_a_network_takes_no_weights(name):
    with pytest.raises(ValueError, match=f"weights of {name} must be left out: it has none, got 'eagle'"):
        shipped().drafter(name, "eagle")
    assert shipped().drafter(name, tree=TreeConfig(num_nodes=5)).num_nodes == 5
