"""Planted faults of the worlds that the certifier tries. Each is killed by a test of what worlds contain, or by a wrong
sampler that is then no longer refuted."""

from fault import Fault

ALWAYS = "tests/certifier/test_always_tried.py::test_it_is_refuted_whatever_is_drawn"
WORLDS, LOOPS = "tests/certifier/test_worlds.py::", "tests/certifier/test_rare_loops.py::"
X = "eagle_min.exactness."

FAULTS = (
    Fault(
        "no world is tried always",
        X + "judge.search",
        "for world in row.always_tried:",
        "for world in ():",
        ALWAYS,
        "shapes that are drawn by chance are not drawn in every forty worlds",
    ),
    Fault(
        "what is called cousins is siblings",
        X + "worlds.always_tried",
        "COUSINS = (-1, 0, 0, 1, 2)",
        "COUSINS = (-1, 0, 0, 1, 1)",
        ALWAYS,
        "rows looked up by depth and token went unnoticed",
    ),
    Fault(
        "two sequences never have two drafts each",
        X + "worlds.always_tried",
        "    batch(*TWO_TOKENS, (2, 2)),\n",
        "",
        ALWAYS,
        "a quick way for equal lengths went unnoticed",
    ),
    Fault(
        "a third sequence stands behind the first one's text",
        X + "judge.batches",
        "THIRD_PROMPT = (1, 0)",
        "THIRD_PROMPT = (0,)",
        ALWAYS,
        "a third row that is given the first one's data went unnoticed",
    ),
    Fault(
        "whole decoders are always told one stop token",
        X + "worlds.drawn",
        "stop = frozenset(draw(st.lists(st.integers(0, vocab_size - 1), max_size=2)))",
        "stop = frozenset(draw(st.lists(st.integers(0, vocab_size - 1), max_size=1)))",
        LOOPS + "test_a_decoder_with_a_fault_that_shows_in_few_places_is_refuted",
        "a decoder that looks at its first stop token only went unnoticed",
    ),
    Fault(
        "something is drafted behind every token",
        X + "judge.decoders",
        "if text[-1] == decoding.silent else decoding.world",
        "if False else decoding.world",
        LOOPS + "test_a_decoder_with_a_fault_that_shows_in_few_places_is_refuted",
        "a decoder that was greedy where nothing is drafted went unnoticed",
    ),
    Fault(
        "three siblings have no world of their own",
        X + "worlds.drawn",
        "(None,) * 7 + (DEEP_SIBLINGS,) * 3 + (THREE_SIBLINGS,)",
        "(None,) * 7 + (DEEP_SIBLINGS,) * 4",
        "tests/certifier/test_rare_faults.py::test_a_fault_that_shows_in_few_places_is_refuted",
        "of three tokens the third sibling has all that is left: its coin went unnoticed",
    ),
    Fault(
        "worlds are variants of one another",
        X + "worlds.drawn",
        "return st.lists(strategy, min_size=1, max_size=1, unique=True).map(lambda drawn: drawn[0])",
        "return strategy",
        WORLDS + "test_worlds_are_no_variants_of_one_another",
        "a generator that is trusted, not measured",
    ),
    Fault(
        "decoders are tried on any small worlds",
        X + "worlds.drawn",
        '("any",) * 3 + ("fork",) * 4 + ("larger",) * 3',
        '("any",)',
        WORLDS + "test_a_third_of_the_loops_goes_on_behind_siblings",
        "a cache that keeps the wrong rows went unnoticed in forty worlds",
    ),
    Fault(
        "which law is whose depends on a sum of tokens",
        X + "worlds.tables",
        "state = NEXT_STATE[state][token % MAX_VOCAB]",
        "state += token + 1",
        WORLDS + "test_which_row_comes_depends_on_every_token_and_on_their_order",
        "beginner: two tokens that changed places read the right law",
    ),
    Fault(
        "drawn nodes take the law of the root",
        X + "worlds.tables",
        "weights = left.setdefault(parent, np.array(world.draft((*text, *above)), dtype=object))",
        "weights = left.setdefault(parent, np.array(world.draft(text), dtype=object))",
        WORLDS + "test_children_are_drawn_from_the_law_behind_their_parent",
        "off by one: right samplers would be refuted",
    ),
    Fault(
        "no temperature between 0 and 1 is tried",
        X + "worlds.decodings",
        "    SamplingConfig(0.5),\n    SamplingConfig(0.5, top_k=2),\n    SamplingConfig(0.5, top_p=TOP_P),\n",
        "",
        WORLDS + "test_loops_reach_the_corners_too",
        "a decoder that takes temperature for a switch was called exact",
    ),
    Fault(
        "no top_p is tried",
        X + "worlds.decodings",
        "TOP_P = 0.65",
        "TOP_P = 1.0",
        WORLDS + "test_loops_reach_the_corners_too",
        "a decoder without top_p was called exact",
    ),
    Fault(
        "what rounding decides is tried",
        X + "worlds.decodings",
        "TOP_P = 0.65",
        "TOP_P = 0.75",
        WORLDS + "test_no_share_of_small_weights_is_the_top_p_that_is_tried",
        "beginner: a right decoder in floats would be refuted",
    ),
)
