"""Faults in experiments about claims: comparisons of something else than is said, and words that do not follow."""

from fault import Fault

CLAIMS = "tests/lab/test_claims.py::"
TRAINING = "tests/lab/test_short_trainings.py::"

FAULTS = (
    Fault(
        "each drafter is resampled on files of its own",
        "eagle_min.lab.instruments.measures",
        "difference(table[drawn].sum(axis=1))",
        "difference(np.concatenate([table[drawn].sum(axis=1)[:, :2], table[drawn[::-1]].sum(axis=1)[:, 2:]], axis=1))",
        CLAIMS + "test_both_drafters_are_counted_on_the_same_files",
        "common: an interval so wide that nothing is ever decided",
    ),
    Fault(
        "a difference around 0 counts as one",
        "eagle_min.lab.experiments.claims.claim",
        "return HOLDS if low > 0 else FAILS if high < 0 else OPEN",
        "return HOLDS if low + high > 0 else FAILS",
        CLAIMS + "test_the_word_is_that_of_the_interval",
        "common: the larger mean wins",
    ),
    Fault(
        "the verdict is that of the first part",
        "eagle_min.lab.experiments.claims.claim",
        "worst = next(word for word in (FAILS, OPEN, HOLDS) if any(word == part[0] for part in parts))",
        "worst = parts[0][0]",
        CLAIMS + "test_the_worst_word_goes_first_and_the_others_stay_with_their_numbers",
        "beginner: a claim in two parts holds when one does",
    ),
    Fault(
        "token of the same place is the next one",
        "eagle_min.train.variants",
        "variant.inputs(true, embedded[:, :-1], embedded[:, 1:])",
        "variant.inputs(true, embedded[:, 1:], embedded[:, 1:])",
        TRAINING + "test_the_loss_is_that_of_what_the_variant_is_told",
        "beginner: two variants of an ablation are one",
    ),
    Fault(
        "a variant drafts with the token it was not trained on",
        "eagle_min.train.variants",
        "self.variant.inputs(features, before, after)",
        "self.variant.inputs(features, after, after)",
        TRAINING + "test_a_variant_drafts_from_what_it_is_told_in_every_cycle",
        "common: an ablation that measures the mismatch",
    ),
    Fault(
        "first feature of a cycle has the token of the cycle before",
        "eagle_min.train.variants",
        "        self.token = reading.following[-1]\n",
        "        self.token = self.token\n",
        TRAINING + "test_a_variant_drafts_from_what_it_is_told_in_every_cycle",
        "beginner: right in the first cycle only",
    ),
    Fault(
        "squared error is not halved",
        "eagle_min.train.variants",
        "F.mse_loss(guesses, wanted) / 2",
        "F.mse_loss(guesses, wanted)",
        TRAINING + "test_the_loss_is_that_of_what_the_variant_is_told",
        "common: two things differ, the distance and its weight",
    ),
    Fault(
        "own confidence is the value",
        "eagle_min.lab.experiments.claims.tree",
        "return sapling.values[node] if value else own[node]",
        "return sapling.values[node]",
        CLAIMS + "test_growers_without_a_part_of_the_rule_keep_what_brute_force_keeps",
        "beginner: an ablation that leaves nothing out",
    ),
    Fault(
        "the best nodes are taken wherever they hang",
        "eagle_min.lab.experiments.claims.tree",
        "waiting = [(-rank(node), node) for node in below[0]]",
        "return sorted(range(1, len(parents)), key=rank, reverse=True)[:budget]",
        CLAIMS + "test_growers_without_a_part_of_the_rule_keep_what_brute_force_keeps",
        "common: a child without its parent",
    ),
    Fault(
        "entropy in nats",
        "eagle_min.lab.experiments.claims.entropy",
        "laws.clamp_min(torch.finfo(laws.dtype).tiny).log2()",
        "laws.clamp_min(torch.finfo(laws.dtype).tiny).log()",
        CLAIMS + "test_first_drafts_are_those_of_the_slow_networks",
        "common: a unit that the heading does not have",
    ),
    Fault(
        "each temperature is compared with the one before",
        "eagle_min.lab.experiments.claims.temperature",
        "coldest = coldest or starts",
        "coldest = starts",
        CLAIMS + "test_each_drafter_is_compared_with_itself_at_the_lowest_temperature",
        "beginner: differences that do not add up to what is claimed",
    ),
    Fault(
        "the most accepted tokens make the fastest size",
        "eagle_min.lab.experiments.claims.size",
        'best = max(rows, key=lambda row: row["ratio"])',
        'best = max(rows, key=lambda row: row["tau"])',
        CLAIMS + "test_the_largest_tree_must_be_the_fastest",
        "common: what a node costs is left out",
    ),
    Fault(
        "bins that are all but empty vote",
        "eagle_min.lab.experiments.claims.confidence",
        "series(rows, MEMBERS).items()",
        "series(rows).items()",
        CLAIMS + "test_bins_with_few_members_have_no_vote",
        "beginner: three nodes decide about a curve",
    ),
)
