"""Faults in the drafters without a network: what is looked up, and how the lookahead window moves."""

from fault import Fault

LOOKUP, LOOKAHEAD = "eagle_min.drafters.lookup", "eagle_min.drafters.lookahead"
IN_LOOKUP, IN_LOOKAHEAD = "tests/drafters/test_lookup.py::", "tests/drafters/test_lookahead.py::"
SEARCH = IN_LOOKUP + "test_the_draft_is_what_a_search_through_the_text_finds"
WINDOW = IN_LOOKAHEAD + "test_the_window_and_the_pool_are_those_of_the_slow_oracle"
SAID = IN_LOOKAHEAD + "test_every_ngram_of_the_pool_was_said_by_the_target"
MASK = IN_LOOKAHEAD + "test_the_tree_mask_is_the_attention_mask_of_the_paper"

FAULTS = (
    Fault(
        "look-up drafts from the first place that matches",
        LOOKUP,
        "return places[-2::-1]",
        "return places[:-1]",
        SEARCH,
        "apoorvumang/prompt-lookup-decoding takes the first place; what was said last is nearer",
    ),
    Fault(
        "look-up prefers one token to three",
        LOOKUP,
        "range(min(self.max_ngram, len(self.text)), 0, -1)",
        "range(1, min(self.max_ngram, len(self.text)) + 1)",
        SEARCH,
        "beginner",
    ),
    Fault(
        "look-up drafts the tokens it looked for",
        LOOKUP,
        "append(len(self.text))",
        "append(len(self.text) - 1)",
        SEARCH,
        "classic: off by one",
    ),
    Fault(
        "look-up finds the suffix itself",
        LOOKUP,
        "            if len(places) > 1:  # the last is the suffix itself\n                return places[-2::-1]",
        "            if places:\n                return places[::-1]",
        SEARCH,
        "beginner: nothing follows the end, and a shorter match is never tried",
    ),
    Fault(
        "paths of a trie all begin at its last node",
        LOOKUP,
        "        nodes = [0]\n",
        "        nodes = [len(self) - 1]\n",
        IN_LOOKUP + "test_a_trie_has_each_beginning_once_and_says_where_a_path_lies",
        "beginner",
    ),
    Fault(
        "the window stays where it was when several tokens are committed",
        LOOKAHEAD,
        "moved = len(reading.following) - 1",
        "moved = 0",
        WINDOW,
        "beginner: guesses of other places than they stand at; the law is kept, tau falls",
    ),
    Fault(
        "the window moves by all tokens committed, though its levels move by one",
        LOOKAHEAD,
        "moved = len(reading.following) - 1",
        "moved = len(reading.following)",
        WINDOW,
        "classic: off by one",
    ),
    Fault(
        "guesses are read from the first rows and not from the ends of the columns",
        LOOKAHEAD,
        "None if end is None else best[end] for end in self.ends",
        "None if end is None else best[i] for i, end in enumerate(self.ends)",
        SAID,
        "beginner: right for a chain",
    ),
    Fault(
        "n-grams of the text end with what the first rows of the tree say",
        LOOKAHEAD,
        "enumerate(reading.path, first_end)",
        "enumerate(range(len(reading.path)), first_end)",
        SAID,
        "classic: right for chains, wrong for trees",
    ),
    Fault(
        "a column sees all of level 0",
        LOOKAHEAD,
        "*oldest[1 : column + 1]",
        "*oldest[1:]",
        MASK,
        "beginner: a causal mask over the flattened window",
    ),
    Fault(
        "the root's guess stands where the root is",
        LOOKAHEAD,
        "        self.levels[0][0] = self.text[-1]  # the root itself, no guess\n",
        "",
        WINDOW,
        "beginner: n-grams are kept under a token that is not in the text",
    ),
    Fault(
        "the pool keeps the oldest n-grams",
        LOOKAHEAD,
        "[ngram[1:], *others][: self.drafter.guesses]",
        "[ngram[1:], *others][-self.drafter.guesses :]",
        WINDOW,
        "beginner",
    ),
    Fault(
        "a column cut short counts as read",
        LOOKAHEAD,
        "nodes[-1] if len(nodes) == len(path) + 1 else None",
        "nodes[-1]",
        SAID,
        "beginner: near the end of the context the guess is of another place",
    ),
)
