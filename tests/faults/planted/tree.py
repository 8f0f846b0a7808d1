"""Faults in what follows from the parents: mask, positions, paths."""

from fault import Fault

MODULE = "eagle_min.tree"
TESTS = "tests/same_law/test_tree.py::"

FAULTS = (
    Fault(
        "mask shows elder siblings",
        MODULE,
        "mask[node] |= mask[parents[node]]",
        "mask[node] |= mask[parents[node]] | (np.array(parents) == parents[node]) & (np.arange(len(parents)) < node)",
        TESTS + "test_a_node_sees_itself_and_its_ancestors_only",
        "classic of tree attention: the causal triangle over a flattened tree",
    ),
    Fault(
        "mask shows parent and grandparent only",
        MODULE,
        "mask[node] |= mask[parents[node]]",
        "mask[node, [parents[node], max(parents[parents[node]], 0)]] = True",
        TESTS + "test_a_node_sees_itself_and_its_ancestors_only",
        "popular articles on EAGLE-2 describe the mask so",
    ),
    Fault(
        "position is the index of the node",
        MODULE,
        "result[node] = result[parents[node]] + 1",
        "result[node] = node",
        TESTS + "test_the_position_of_a_node_is_its_depth",
        "lablup/mlxcel PR #1214",
    ),
    Fault(
        "position ignores which parent was selected",
        MODULE,
        "result[node] = result[parents[node]] + 1",
        "result[node] = result[node - 1] + (parents[node] != parents[node - 1])",
        TESTS + "test_the_position_of_a_node_is_its_depth",
        "NVIDIA/TensorRT-LLM PR #12962 (review)",
    ),
    Fault(
        "path begins below the root",
        MODULE,
        "while node >= 0:",
        "while node > 0:",
        TESTS + "test_paths_and_children_agree_with_the_parents",
        "beginner",
    ),
    Fault(
        "equal siblings pass the check",
        MODULE,
        "len(set(group)) == len(group)",
        "len(set(group)) <= len(group)",
        TESTS + "test_what_is_no_draft_tree_is_refused_in_one_line",
        "beginner: drawn with replacement, one token tried twice",
    ),
    Fault(
        "selected nodes keep their old parent numbers",
        MODULE,
        "tuple(number[tree.parents[old]] for old in nodes)",
        "tuple(tree.parents[old] for old in nodes)",
        (
            TESTS + "test_select_keeps_tokens_paths_and_confidence_of_the_chosen_nodes",
            "tests/same_law/test_eight_properties.py::test_rerank_keeps_the_best_and_stays_connected",
        ),
        "beginner, after EAGLE-2's rerank",
    ),
)
