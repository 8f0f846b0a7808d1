"""Faults in the shapes of trees. Verification hides all of them: the law stays right, tau falls."""

from fault import Fault

MODULE = "eagle_min.grow"
TESTS = "tests/same_law/test_grow.py::"
RERANK = "tests/same_law/test_eight_properties.py::test_rerank_keeps_the_best_and_stays_connected"
FEW_PLACES = TESTS + "test_rerank_keeps_the_best_where_places_are_few"
ADD = "self.values[parent] + min(log_probability, 0.0)"

FAULTS = (
    Fault(
        "value is the node's own probability",
        MODULE,
        ADD,
        "min(log_probability, 0.0)",
        TESTS + "test_confidence_is_the_product_of_draft_probabilities_along_the_path",
        "EAGLE-2 misread: rerank by own instead of cumulated probability",
    ),
    Fault(
        "value is renormalised over the top-k",
        MODULE,
        "for token, value in best:",
        "for token, value in [(t, v - math.log(sum(math.exp(w) for _, w in best))) for t, v in best]:",
        RERANK,
        "EAGLE-2 misread: a softmax over the kept children only",
    ),
    Fault(
        "value may rise by rounding",
        MODULE,
        ADD,
        "self.values[parent] + log_probability",
        TESTS + "test_log_probabilities_rounded_to_above_zero_do_not_raise_a_child_above_its_parent",
        "SafeAILab/EAGLE: float16 log-probabilities",
    ),
    Fault(
        "ties of the rerank go to the later node",
        MODULE,
        "[*kept, *new]",
        "[*reversed(new), *kept]",
        RERANK,
        "EAGLE-2's `torch.topk` promises nothing about ties, and may orphan a child",
    ),
    Fault(
        "rerank keeps the first candidates instead of the best",
        MODULE,
        "sorted([*kept, *new], key=sapling.values.__getitem__, reverse=True)[:budget]",
        "[*kept, *new][:budget]",
        FEW_PLACES,
        "beginner",
    ),
    Fault(
        "rerank forgets that the root counts",
        MODULE,
        "budget = config.num_nodes - 1",
        "budget = config.num_nodes",
        RERANK,
        "beginner; EAGLE-2's `total_token` counts the root",
    ),
    Fault(
        "the least confidence is asked of a token and not of its path",
        MODULE,
        "sapling.values[node] >= least",
        "sapling.values[node] - sapling.values[sapling.parents[node]] >= least",
        "tests/same_law/test_grow.py::test_a_least_confidence_leaves_out_the_nodes_below_it_and_nothing_else",
        "ggml-org/llama.cpp: its p-min ends a chain by the token's own probability, which says less in a tree",
    ),
    Fault(
        "beam is the first of a level instead of the best",
        MODULE,
        "beam = [node for node in kept if node >= first][: config.top_k]",
        "beam = sorted(node for node in kept if node >= first)[: config.top_k]",
        FEW_PLACES,
        "beginner",
    ),
    Fault(
        "ratio rule branches when sure",
        MODULE,
        "1 if gap > sure else 2",
        "4 if gap > sure else 2",
        TESTS + "test_the_ratio_rule_makes_a_chain_seven_deep_or_two_to_four_branches",
        "articles on EAGLE-2 that turn the rule around",
    ),
    Fault(
        "draft ignores the room that is left",
        MODULE,
        "for node in range(min(depth, config.depth, config.num_nodes - 1)):",
        "for node in range(min(config.depth, config.num_nodes - 1)):",
        TESTS + "test_every_grower_makes_a_tree_in_level_order_within_its_limits",
        "turboderp-org/exllamav2 #274, vllm-project/vllm PR #24662: crash near the end of the context",
    ),
    Fault(
        "ties of the best children go to the larger token",
        MODULE,
        "np.lexsort((-value, row))",
        "np.lexsort((-token, -value, row))",
        TESTS + "test_the_best_children_are_those_of_a_full_sort",
        "two sorts, two tie rules: trees differ between devices",
    ),
    Fault(
        "rejected NaN becomes a child",
        MODULE,
        "require(not np.isnan(best).any()",
        "require(True",
        TESTS + "test_not_a_number_from_the_drafter_is_refused",
        "beginner",
    ),
)
