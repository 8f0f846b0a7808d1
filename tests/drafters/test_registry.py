"""The registry: what each name stands for, and that the lengths of trees are those that were chosen."""

from dataclasses import replace

import pytest
from networks import drafter_of

from eagle_min import grow
from eagle_min.checkpoint import read_card
from eagle_min.config import EAGLE1_PATHS, TreeConfig
from eagle_min.drafters import lookahead, lookup
from eagle_min.drafters.model_set import SHIPPED
from eagle_min.drafters.registry import REGISTRY
from eagle_min.lab.experiments import choose
from eagle_min.lab.experiments.rates import RATES, TRIALS
from eagle_min.lab.record import read_rows

GROWERS = {
    "eagle2": grow.confidence,
    "eagle2-lean": grow.confidence,
    "eagle1": grow.static,
    "eagle1-sampled": grow.static_sampled,
    "ratio": grow.ratio,
    "chain": grow.chain,
    "eagle3": grow.confidence,
    "eagle3-lean": grow.confidence,
    "small": grow.confidence,
    "small-chain": grow.chain,
    "small-chain-sampled": grow.static_sampled,
    "small-tree-sampled": grow.static_sampled,
    "mtp": grow.confidence,
}


@pytest.mark.parametrize("name", REGISTRY)
def test_a_name_stands_for_its_grower(name):
    drafter = drafter_of(name)
    assert getattr(drafter, "grow", None) is GROWERS.get(name)
    assert getattr(drafter, "sampled", False) == name.endswith("-sampled")
    assert (REGISTRY[name].weights is None) == (name in ("lookup", "lookahead"))


def test_trees_have_one_budget_and_published_shapes_are_theirs():
    for name, kind in REGISTRY.items():
        tree = kind.tree
        if name in ("eagle1", "eagle1-sampled", "small-tree-sampled"):
            assert tree.paths == tuple(EAGLE1_PATHS.split()) and (tree.num_nodes, tree.depth) == (26, 5)
        elif "chain" in name:
            assert tree.num_nodes == tree.depth + 1 <= 24
        else:
            assert tree.num_nodes == 24
    assert REGISTRY["eagle2-lean"].tree == REGISTRY["eagle3-lean"].tree
    assert REGISTRY["small-chain-sampled"].tree == REGISTRY["small-chain"].tree


def stored() -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = {}
    for row in read_rows(SHIPPED / "results" / "choose.json"):
        found.setdefault(row["drafter"], []).append(row)
    return found


def test_what_is_in_force_was_chosen_on_training_text():
    rows = stored()
    assert set(rows) == {*choose.TREES, *choose.CHAINS, "lookup", "lookahead"}
    in_force = {name: choose.label(REGISTRY[name].tree) for name in (*choose.TREES, *choose.CHAINS)}
    in_force["lookup"] = f"longest {lookup.MAX_NGRAM}"
    in_force["lookahead"] = f"W={lookahead.WINDOW} N={lookahead.NGRAM} G={lookahead.GUESSES}"
    for name, tried in rows.items():
        [chosen] = [row["size"] for row in tried if row["chosen"]]
        assert chosen == in_force[name] == choose.chosen(tried)["size"], name


def test_the_shortest_that_is_good_enough_is_chosen_and_without_passes_the_best():
    taus = {5: 3.9, 7: 3.93, 9: 4.0, 12: 3.99}
    rows = [{"drafter": "mtp", "size": size, "tau": tau, "draft_passes": 4.0} for size, tau in taus.items()]
    assert choose.chosen(rows)["size"] == 7
    free = [row | {"drafter": "lookup", "draft_passes": 0.0} for row in rows]
    assert choose.chosen(free)["size"] == 9
    assert choose.chosen([*free, free[2] | {"size": 10}])["size"] == 9


def test_of_chains_the_one_is_chosen_whose_levels_pay():
    def rows(taus: dict[int, float]) -> list[dict]:
        return [{"drafter": "chain", "size": n, "tau": tau, "draft_passes": float(n)} for n, tau in taus.items()]

    assert choose.chosen(rows({5: 3.7, 7: 4.2, 9: 4.5, 12: 4.8}))["size"] == 7  # 2.85, 2.96, 2.92, 2.79 at 0.06 a pass
    assert choose.chosen(rows({5: 2.5, 7: 2.6, 9: 2.7, 12: 2.8}))["size"] == 5
    assert choose.chosen(rows({5: 3.7, 7: 4.1}))["size"] == 7  # 2.85, 2.89
    small = [row | {"drafter": "small-chain"} for row in rows({5: 3.7, 7: 4.1})]
    assert choose.chosen(small)["size"] == 5  # 2.47, 2.41 at 0.1 a pass


@pytest.mark.parametrize("name", [*choose.TREES, *choose.CHAINS])
def test_sizes_that_are_tried_differ_in_length_alone(name):
    class Models:
        def drafter(self, asked, tree):
            assert asked == name
            return drafter_of(name, tree=tree)

    tried = list(choose.sizes(Models(), name))
    assert [label for label, _ in tried] == [f"depth {depth}" for depth in choose.DEPTHS]
    for (_, drafter), depth in zip(tried, choose.DEPTHS):
        tree = REGISTRY[name].tree
        wanted = (
            replace(tree, depth=depth)
            if name in choose.TREES
            else TreeConfig(depth + 1, depth, paths=tuple("0" * level for level in range(1, depth + 1)))
        )
        assert drafter.tree == wanted


def test_every_network_was_trained_at_a_rate_that_short_trainings_speak_for():
    """Of the rates tried the one on its card has the least loss, or one percent more at most."""
    losses: dict[str, dict[float, float]] = {}
    for row in read_rows(SHIPPED / "results" / "rates.json"):
        network, _, rates = row["setting"].partition(": ")
        losses.setdefault(network, {})[float(rates.split(" ")[0])] = row["value"]
    assert set(losses) == set(TRIALS) and all(tuple(found) == RATES for found in losses.values())
    names = {"head-paper": "eagle-paper", "head-steps": "eagle"}
    for network, found in losses.items():
        rate = read_card(SHIPPED / "tiny", names.get(network, network))["training"]["matrix_lr"]
        assert found[rate] <= 1.01 * min(found.values()), network
