"""Faults in the one door for randomness, and in the names of draws."""

from fault import Fault

MODULE = "eagle_min.dice"
TESTS = "tests/same_law/test_dice.py::"

FAULTS = (
    Fault(
        "coin compares inclusively",
        MODULE,
        "self._uniform(name) < probability",
        "self._uniform(name) <= probability",
        TESTS + "test_the_ends_of_the_unit_interval_stay_inside_the_support",
        "sgl-project/sglang #35771: a token of target probability 0 accepted; EAGLE's `r <= acp`",
    ),
    Fault(
        "coin has eight bits",
        MODULE,
        "bool(self._uniform(name) < probability)",
        "bool(math.floor(self._uniform(name) * 256) / 256 < probability)",
        TESTS + "test_a_coin_is_finer_than_two_to_the_minus_thirty",
        "pytorch-labs/gpt-fast: the acceptance coin is a bfloat16 number",
    ),
    Fault(
        "inverse of the cumulated weights from the left",
        MODULE,
        'side="right"',
        'side="left"',
        TESTS + "test_the_ends_of_the_unit_interval_stay_inside_the_support",
        "sgl-project/sglang #35771 family: the uniform number may be 0",
    ),
    Fault(
        "point may round up to the total",
        MODULE,
        "min(self._uniform(name) * total, np.nextafter(total, 0.0))",
        "self._uniform(name) * total",
        TESTS + "test_the_ends_of_the_unit_interval_stay_inside_the_support",
        "beginner: an index one past the vocabulary, once in many billions of draws",
    ),
    Fault(
        "draws depend on how many were made before",
        MODULE,
        "return uniform(self.seed, plain)",
        "return uniform(self.seed, (*plain, len(self.asked)))",
        TESTS + "test_a_draw_does_not_depend_on_the_draws_before_it",
        "any stateful generator: plain and speculative decoding part after the first draft",
    ),
    Fault(
        "seed is ignored",
        MODULE,
        "key=seed << 64 | digest",
        "key=digest",
        TESTS + "test_different_names_and_seeds_give_different_draws",
        "beginner",
    ),
    Fault(
        "a name may be asked twice",
        MODULE,
        "self.asked.add(plain)",
        "pass",
        TESTS + "test_asking_twice_under_one_name_is_refused_and_names_it",
        "vllm-project/vllm-ascend PR #16370: one counter served two decisions",
    ),
    Fault(
        "hash of the name changes from run to run",
        MODULE,
        'int.from_bytes(blake2b(repr(name).encode(), digest_size=8).digest(), "big")',
        "hash(name) % 2**64",
        TESTS + "test_draws_are_the_same_on_every_machine",
        "beginner: Python salts the hash of strings",
    ),
    Fault(
        "coin and residual draw share a name",
        MODULE,
        'return ("residual", cycle, node)',
        'return ("coin", cycle, node)',
        TESTS + "test_the_purposes_have_separate_names",
        "vllm-project/vllm-ascend PR #16370: same (seed, position) for acceptance and residual",
    ),
    Fault(
        "residual draw shares the proposal's noise",
        MODULE,
        'return ("residual", cycle, node)',
        'return ("draft", cycle, node, 0)',
        "tests/same_law/test_eight_properties.py::test_recursive_rejection_emits_the_target_law",
        "vllm-project/vllm PR #47386, #54282: one Gumbel vector for proposal and recovery",
    ),
    Fault(
        "residual draw has one name in all cycles",
        MODULE,
        'return ("residual", cycle, node)',
        'return ("residual", node)',
        "tests/same_law/test_verify_sampled.py::test_two_cycles_of_sampled_trees_keep_the_law",
        "vllm-project/vllm-ascend PR #16370 family",
    ),
    Fault(
        "coins have one name in all cycles",
        MODULE,
        'return ("coin", cycle, node)',
        'return ("coin", node)',
        "tests/same_law/test_verify.py::test_two_cycles_in_a_row_keep_the_law_under_every_rule",
        "vllm-project/vllm-ascend PR #16370 family",
    ),
)
