"""Faults on the way from logits to probabilities."""

from fault import Fault

MODULE = "eagle_min.sampling"
TESTS = "tests/same_law/test_sampling.py::"

FAULTS = (
    Fault(
        "top-k mask computed and not applied",
        MODULE,
        'np.argsort(-weights, kind="stable")[:top_k]',
        'np.argsort(-weights, kind="stable")',
        TESTS + "test_fraction_weights_give_the_exact_law",
        "stanford-cs336 assignment 2, staff `generate`",
    ),
    Fault(
        "top-k keeps all that tie with the last",
        MODULE,
        'np.argsort(-weights, kind="stable")[:top_k]',
        'np.argsort(-weights, kind="stable"); '
        "order = order[weights[order] >= weights[order][min(top_k or order.size, order.size) - 1]]",
        TESTS + "test_ties_at_a_cut_go_to_the_smaller_token",
        "feifeibear/LLMSpeculativeSampling keeps ties, lucidrains/speculative-decoding does not",
    ),
    Fault(
        "temperature is not applied",
        MODULE,
        "np.exp((logits - peak) / sampling.temperature)",
        "np.exp(logits - peak)",
        TESTS + "test_float_logits_agree_with_the_oracle",
        "vllm-project/vllm PR #10198: the target's side of the test stayed at temperature 1",
    ),
    Fault(
        "temperature multiplies",
        MODULE,
        "np.exp((logits - peak) / sampling.temperature)",
        "np.exp((logits - peak) * sampling.temperature)",
        TESTS + "test_float_logits_agree_with_the_oracle",
        "beginner",
    ),
    Fault(
        "temperature is negative",
        MODULE,
        "np.exp((logits - peak) / sampling.temperature)",
        "np.exp((logits.min() - logits) / sampling.temperature)",
        TESTS + "test_float_logits_agree_with_the_oracle",
        "vllm-project/tpu-inference PR #2860: padding rows carried temperature -1",
    ),
    Fault(
        "top-p drops the token that reaches the share",
        MODULE,
        "np.count_nonzero(cumulated < top_p * cumulated[-1]) + 1",
        "np.count_nonzero(cumulated < top_p * cumulated[-1])",
        TESTS + "test_at_least_one_token_stays",
        "beginner",
    ),
    Fault(
        "top-p takes its share of all tokens, not of what top-k left",
        MODULE,
        "top_p * cumulated[-1]",
        "top_p * weights.sum()",
        TESTS + "test_top_p_counts_what_top_k_left",
        "huggingface/transformers PR #28166 family: filters applied in another way on one side",
    ),
    Fault(
        "filtered law is not renormalised",
        MODULE,
        "return weights / weights.sum()",
        "return weights / (_powers(row, sampling) if exact else _exponentials(row, sampling)).sum()",
        TESTS + "test_fraction_weights_give_the_exact_law",
        "beginner",
    ),
    Fault(
        "greedy takes the last of equal maxima",
        MODULE,
        "weights[np.argmax(values)] += 1",
        "weights[values.size - 1 - np.argmax(values[::-1])] += 1",
        TESTS + "test_temperature_zero_is_certain_of_the_first_maximum",
        "huggingface/transformers #30413 family: two code paths break ties in two ways",
    ),
)
