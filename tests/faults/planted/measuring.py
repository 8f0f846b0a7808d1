"""Faults in measuring: figures that look right and are not."""

from fault import Fault

LAB = "tests/lab/test_lab.py::"
MEASURES = "tests/lab/test_measures.py::"

FAULTS = (
    Fault(
        "tau is a mean of ratios in the interval",
        "eagle_min.lab.instruments.measures",
        "tokens, calls = table[drawn].sum(axis=1).T",
        "tokens, calls = (table[drawn][..., 0] / table[drawn][..., 1]).mean(axis=1), 1",
        MEASURES + "test_the_interval_resamples_files",
        "common: short texts count as much as long ones",
    ),
    Fault(
        "prefill counts as a cycle of free-running text",
        "eagle_min.lab.experiments.compare",
        "for cycle in run.text.cycles[1:]]",
        "for cycle in run.text.cycles]",
        MEASURES + "test_tau_of_free_running_text_leaves_out_the_prefill",
        "common: tau is lowered for short texts",
    ),
    Fault(
        "prefixes are always decoded greedily",
        "eagle_min.lab.instruments.measures",
        "drafter, prefixes, temperature, seed)\n    cycles",
        "drafter, prefixes, 0.0, seed)\n    cycles",
        LAB + "test_prefixes_are_decoded_at_the_temperature_of_their_row",
        "beginner: two rows of a table that are one",
    ),
    Fault(
        "warm-up counts",
        "eagle_min.lab.instruments.timing",
        "median(values[1:])",
        "median(values)",
        MEASURES + "test_the_first_round_is_not_counted",
        "common: the first call of an operator is slow",
    ),
    Fault(
        "timed texts run past their end",
        "eagle_min.lab.instruments.timing",
        '"stop": stop}',
        '"stop": ()}',
        MEASURES + "test_a_stop_token_ends_a_text_that_is_timed",
        "common: what follows the end is easy to draft",
    ),
    Fault(
        "a timed call leaves its rows in the cache",
        "eagle_min.lab.instruments.costs",
        "        session.keep(CACHED, [])\n",
        "",
        MEASURES + "test_each_reading_of_a_tree_starts_behind_the_same_tokens",
        "beginner: later sizes look slower than they are",
    ),
    Fault(
        "useless drafter is the trained one",
        "eagle_min.lab.instruments.costs",
        "EagleDrafter(models.target, random_head, drafter.grow, drafter.tree)",
        "EagleDrafter(models.target, drafter.head, drafter.grow, drafter.tree)",
        LAB + "test_the_useless_drafter_is_not_the_trained_one",
        "beginner: the slowdown looks like a gain",
    ),
    Fault(
        "clock runs while the text is shown",
        "eagle_min.show.terminal",
        "            show(cycle)\n",
        "            begin = time.perf_counter()\n            show(cycle)\n"
        "            seconds += time.perf_counter() - begin\n",
        "tests/house/test_show.py::test_the_clock_of_watch_stands_still_while_something_is_shown",
        "common: a slow terminal looks like a slow drafter",
    ),
)
