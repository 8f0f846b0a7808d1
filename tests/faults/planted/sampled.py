"""Faults in verifying, and in drawing, sampled children."""

from fault import Fault

VERIFY, GROW = "eagle_min.verify", "eagle_min.grow"
TESTS = "tests/same_law/test_verify_sampled.py::"
LAW = "tests/same_law/test_eight_properties.py::test_recursive_rejection_emits_the_target_law"
ACCEPTANCE = TESTS + "test_acceptance_is_the_published_one"
GROWN = TESTS + "test_the_static_sampled_tree_and_its_laws_keep_the_target_law"
LOOP = "tests/same_law/test_law_of_the_loop.py::test_loop_over_sampled_children_has_the_target_law"
RECORDED = "tests/same_law/test_grow.py::test_sampled_children_come_with_the_law_they_were_drawn_from"

RATIO = "min(p[token], q[token]) / q[token]"
RESIDUAL = "residual = np.maximum(p - q, 0)"
DRAW = "token = dice.categorical(weights, draft_draw(cycle, node, rank))"

FAULTS = (
    Fault(
        "ratio upside down",
        VERIFY,
        RATIO,
        "min(1, q[token] / p[token] if p[token] else 0)",
        LAW,
        "textbook slip; catalogue case A9",
    ),
    Fault(
        "every sampled draft token is accepted",
        VERIFY,
        RATIO,
        "1",
        LAW,
        "huggingface/transformers PR #28508; catalogue case A8: the output is the draft's",
    ),
    Fault(
        "lenience of one half",
        VERIFY,
        RATIO,
        "min(1, 2 * p[token] / q[token])",
        LAW,
        "lucidrains/speculative-decoding `lenience`; catalogue case A14",
    ),
    Fault(
        "residual by absolute value",
        VERIFY,
        RESIDUAL,
        "residual = abs(p - q)",
        LAW,
        "textbook slip",
    ),
    Fault(
        "residual subtracts q at the refused token only",
        VERIFY,
        RESIDUAL,
        "residual = np.where(np.arange(p.size) == token, np.maximum(p - q, 0), p)",
        LAW,
        "SafeAILab/EAGLE #20; xLLM-AI/xllm PR #2175; catalogue case A2",
    ),
    Fault(
        "after refusal the law stays p",
        VERIFY,
        RESIDUAL,
        "residual = p",
        LAW,
        "beginner; catalogue case A1",
    ),
    Fault(
        "after total refusal the bonus is drawn from q",
        VERIFY,
        "dice.categorical(p, name)",
        "dice.categorical(tree.child_laws.get(node, p), name)",
        LAW,
        "beginner; catalogue mutant list",
    ),
    Fault(
        "residual is not renormalised",
        VERIFY,
        "p = residual / residual.sum()",
        "p = residual",
        LAW,
        "beginner",
    ),
    Fault(
        "exhausted residual is divided by its sum",
        VERIFY,
        "if residual.any():",
        "if True:",
        TESTS + "test_a_rejection_by_rounding_where_nothing_is_left_draws_from_p",
        "deepseek-ai/DeepSpec, Sequoia's exit on NaN",
    ),
    Fault(
        "later siblings are judged by the whole q",
        VERIFY,
        "q[token] = 0",
        "pass",
        LAW,
        "SafeAILab/EAGLE #50, #74; catalogue case C5",
    ),
    Fault(
        "q is not renormalised after a sibling is removed",
        VERIFY,
        "q = q / q.sum()",
        "pass",
        LAW,
        "SafeAILab/EAGLE #74",
    ),
    Fault(
        "sampled siblings are tried best first",
        VERIFY,
        "q = tree.child_laws[node].copy() if below[node] else None",
        "q = tree.child_laws[node].copy() if below[node] else None\n"
        "        below[node].sort(key=lambda child: -q[tree.tokens[child]])",
        LAW,
        "ggml-org/llama.cpp PR #5625; catalogue case C7",
    ),
    Fault(
        "sampled trees go through the walk for fixed ones",
        VERIFY,
        "if tree.child_laws:",
        "if False:",
        ACCEPTANCE,
        "vllm-project/vllm #40149: draft probabilities not passed, exact but far fewer accepted",
    ),
    Fault(
        "children drawn from the filtered law, judged by the raw one",
        GROW,
        "child_laws[node] = next_token_law(row, sampling)\n        weights = child_laws[node].copy()",
        "child_laws[node] = next_token_law(row, SamplingConfig(1.0))\n        weights = next_token_law(row, sampling)",
        LOOP,
        "huggingface/transformers #47932; catalogue case A5",
    ),
    Fault(
        "child is the draft's best, judged as a sample",
        GROW,
        DRAW,
        "token = int(np.argmax(weights))",
        GROWN,
        "jaymody/speculative-sampling #3; huggingface/transformers #32867; catalogue case A3",
    ),
    Fault(
        "drawn tokens of low probability are dropped",
        GROW,
        "return drawn",
        "return [pair for pair in drawn if 4 * child_laws[node][pair[0]] >= 1]",
        GROWN,
        "ggml-org/llama.cpp PR #22506; catalogue case A10: dropping after seeing conditions the law",
    ),
    Fault(
        "best of two draws is kept",
        GROW,
        "return drawn",
        "return sorted(drawn, key=lambda pair: -pair[1])[: max(1, width - 1)]",
        GROWN,
        "apple/ml-recurrent-drafter #6; catalogue case C8: a beam-search winner is no sample",
    ),
    Fault(
        "drawn siblings are sorted by probability",
        GROW,
        "return drawn",
        "return sorted(drawn, key=lambda pair: -pair[1])",
        GROWN,
        "ggml-org/llama.cpp PR #5625; catalogue case C7",
    ),
    Fault(
        "siblings are drawn with replacement",
        GROW,
        "weights[token] = 0",
        "pass",
        RECORDED,
        "beginner; catalogue remark on deduplication (C6)",
    ),
    Fault(
        "draws of all ranks share a name",
        GROW,
        "draft_draw(cycle, node, rank)",
        "draft_draw(cycle, node, 0)",
        RECORDED,
        "vllm-project/vllm PR #54282 family: one noise vector for two draws",
    ),
    Fault(
        "draws of one node in all cycles share a name",
        GROW,
        "draft_draw(cycle, node, rank)",
        "draft_draw(0, node, rank)",
        LOOP,
        "vllm-project/vllm PR #54282 family",
    ),
)
