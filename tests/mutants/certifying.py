"""Faults in the certifier itself: who proves others exact must be right first."""

from .fault import Fault

TESTS = "tests/test_certify.py::"
X = "eagle_min.exactness."

FAULTS = (
    Fault(
        "a second question forgets the first answer",
        X + "uniform",
        "chance = (x - self.low) / (self.high - self.low)",
        "chance = x",
        TESTS + "test_several_questions_about_one_number_agree",
        "beginner: two comparisons of one coin are not independent",
    ),
    Fault(
        "1 - u is taken for u",
        X + "uniform",
        "return self.source.below(x, closed) if self.rising else not self.source.below(x, not closed)",
        "return self.source.below(x, closed)",
        TESTS + "test_a_comparison_has_the_probability_of_its_interval",
        "beginner: a falling map turns the comparison round",
    ),
    Fault(
        "lattice coins ignore whether a comparison is strict",
        X + "uniform",
        "math.floor(x * self.size) + 1 if closed else math.ceil(x * self.size)",
        "math.ceil(x * self.size)",
        TESTS + "test_a_lattice_number_has_the_points_below_the_threshold",
        "sgl-project/sglang #35771 would pass",
    ),
    Fault(
        "draws without replacement may repeat",
        X + "sources",
        "            weights[found[-1]] = 0\n",
        "            pass\n",
        TESTS + "test_without_replacement_the_second_draw_knows_the_first",
        "beginner",
    ),
    Fault(
        "draft laws of a chain are one place on",
        X + "contracts",
        "for t in texts[:-1]]",
        "for t in texts[1:]]",
        TESTS + "test_right_samplers_are_exact",
        "off by one: right samplers would be refuted",
    ),
    Fault(
        "every law is close enough",
        X + "certify",
        "TOLERANCE = 1e-6",
        "TOLERANCE = 1.0",
        TESTS + "test_wrong_samplers_are_refuted_by_a_small_world",
        "a test that cannot fail",
    ),
    Fault(
        "bound counts one child only",
        X + "bounds",
        "** num_children if num_children",
        "if num_children",
        TESTS + "test_bounds_at_one_node_are_the_published_ones",
        "beginner",
    ),
    Fault(
        "block verification stops at the first refusal",
        X + "rules",
        '        if dice.accept(chance, ("coin", place)):\n            kept = place\n',
        '        if dice.accept(chance, ("coin", place)) and kept == place - 1:\n            kept = place\n',
        TESTS + "test_further_rules_are_exact_and_stay_below_the_bound",
        "vllm-project/vllm-ascend #7807: not the published rule",
    ),
    Fault(
        "traversal leaves the parent its whole weight",
        X + "rules",
        "p, reach = rest / mass, mass / (mass + 1 - reach)",
        "p = rest / mass",
        TESTS + "test_further_rules_are_exact_and_stay_below_the_bound",
        "beginner",
    ),
)
