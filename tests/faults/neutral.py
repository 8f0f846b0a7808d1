"""Neutral variants: another way to the same result. A test that refuses one demands too much.

`killer` names the files that must stay green. Where a file pins what a variant is free to change
(the text of one seed under another rule, say), only the tests of laws are named.
"""

from fault import Fault
from planted import FAULTS
from planted.storage import MERGE

EIGHT = "tests/same_law/test_eight_properties.py"
LOOP_LAW = EIGHT + "::test_loop_over_trees_of_the_context_has_the_target_law"
LAWS = (
    EIGHT,
    "tests/same_law/test_verify.py",
    "tests/same_law/test_verify_sampled.py",
    "tests/same_law/test_law_of_the_loop.py",
)
LOOP = (LOOP_LAW, "tests/same_law/test_law_of_the_loop.py", "tests/network/test_cache.py")
NETWORK = (EIGHT, "tests/network/test_cache.py", "tests/network/test_model.py", "tests/network/test_head.py")

CONTROL = Fault(
    "nothing but a comment",
    "eagle_min.config",
    "import math\n",
    "import math  # the same\n",
    tuple(sorted({killer for fault in FAULTS for killer in fault.killers})),
    "control: every test that kills a fault is green without one",
    neutral=True,
)
NEUTRAL = (
    CONTROL,
    Fault(
        "rejection loop tries siblings in reverse",
        "eagle_min.verify",
        "its ratio is exactly 1\n        for child in below[node]:",
        "its ratio is exactly 1\n        for child in reversed(below[node]):",
        LAWS,
        "another visiting order: for fixed children every order has the target's law",
        neutral=True,
    ),
    Fault(
        "rejection loop instead of match walk",
        "eagle_min.verify",
        "return match_walk(tree, law_at, dice, position)",
        "return rejection_walk(tree, law_at, dice, position, cycle)",
        (
            LOOP_LAW,
            EIGHT + "::test_match_walk_emits_the_target_law_for_any_tree",
            "tests/same_law/test_verify.py::test_two_cycles_in_a_row_keep_the_law_under_every_rule",
            "tests/same_law/test_verify.py::test_a_child_is_accepted_with_the_target_mass_of_the_child_set",
            "tests/same_law/test_law_of_the_loop.py",
            "tests/network/test_cache.py",
        ),
        "EAGLE-2's published loop: one law, another text for a seed",
        neutral=True,
    ),
    Fault(
        "residual as p without the overlap",
        "eagle_min.verify",
        "residual = np.maximum(p - q, 0)",
        "residual = p - np.minimum(p, q)",
        LAWS,
        "algebra",
        neutral=True,
    ),
    Fault(
        "draft tree numbered depth first",
        "eagle_min.decode",
        "        features, rows = read_tree(",
        "        from .tree import path_to\n"
        "        order = sorted(range(len(tree)), key=lambda node: path_to(tree.parents, node))\n"
        "        renamed = {-1: -1, **{old: new for new, old in enumerate(order)}}\n"
        "        tree = DraftTree(\n"
        "            tuple(tree.tokens[old] for old in order),\n"
        "            tuple(renamed[tree.parents[old]] for old in order),\n"
        "            tuple(tree.log_confidence[old] for old in order),\n"
        "            {renamed[old]: law for old, law in tree.child_laws.items()},\n"
        "        )\n"
        "        features, rows = read_tree(",
        LOOP,
        "another valid numbering: parents before children, siblings in the order of drawing",
        neutral=True,
    ),
    Fault(
        "all laws computed before the walk",
        "eagle_min.decode",
        "lambda node: next_token_law(rows[node], sampling)",
        "[next_token_law(row, sampling) for row in rows].__getitem__",
        LOOP,
        "eager instead of lazy",
        neutral=True,
    ),
    Fault(
        "cache by copy instead of in place",
        "eagle_min.cache",
        "self.rows[:, :, :, start:end] = self.rows[:, :, :, index]",
        "copy = self.rows.clone()\n"
        "            copy[:, :, :, start:end] = self.rows[:, :, :, index]\n"
        "            self.rows.copy_(copy)",
        LOOP,
        "copy instead of in place",
        neutral=True,
    ),
    Fault(
        "cache moves rows that are in place already",
        "eagle_min.cache",
        "if list(rows) != list(range(len(rows))):",
        "if rows:",
        LOOP,
        "without the short cut",
        neutral=True,
    ),
    Fault(
        "mask by walking up from each node",
        "eagle_min.tree",
        "mask[node] |= mask[parents[node]]",
        "mask[node, path_to(parents, node)] = True",
        ("tests/same_law/test_tree.py", *LOOP),
        "another algorithm",
        neutral=True,
    ),
    Fault(
        "filters sort with Python",
        "eagle_min.sampling",
        'np.argsort(-weights, kind="stable")[:top_k]',
        "np.array(sorted(range(weights.size), key=lambda token: (-weights[token], token)))[:top_k]",
        ("tests/same_law/test_sampling.py", LOOP_LAW, "tests/same_law/test_law_of_the_loop.py"),
        "another stable sort",
        neutral=True,
    ),
    Fault(
        "best children by a full sort",
        "eagle_min.grow",
        "    order = np.lexsort((-value, row))  #",
        "    order = np.array(sorted(range(len(value)), key=lambda n: (row[n], -value[n], token[n])), dtype=int)  #",
        ("tests/same_law/test_grow.py", EIGHT + "::test_rerank_keeps_the_best_and_stays_connected", *LOOP),
        "another stable sort",
        neutral=True,
    ),
    Fault(
        "causal mask always written out",
        "eagle_min.model",
        "if cache is None or cache.length == 0 or num_new == 1:",
        "if cache is None:",
        NETWORK,
        "the mask the attention operator would imply",
        neutral=True,
    ),
    Fault(
        "head's cache has more room",
        "eagle_min.head",
        "self.target.context + num_spare",
        "self.target.context + 2 * num_spare",
        NETWORK,
        "room that is never used",
        neutral=True,
    ),
    Fault(
        "learner merges with another loop",
        "eagle_min.tokenizer",
        MERGE,
        "    place = 0\n"
        "    while place < len(ids):\n"
        "        found = tuple(ids[place : place + 2]) == pair\n"
        "        merged.append(new_id if found else ids[place])\n"
        "        place += 1 + found\n"
        "    return merged",
        ("tests/network/test_tokenizer.py",),
        "another loop",
        neutral=True,
    ),
    Fault(
        "rerank orders ties of a level the other way",
        "eagle_min.grow",
        "[*kept, *new]",
        "[*kept, *reversed(new)]",
        LOOP,
        "another valid tie order: parents still come before their children",
        neutral=True,
    ),
    Fault(
        "rerank forgets candidates that come too late",
        "eagle_min.grow",
        "                sapling.add(node, token, value)\n        new",
        "                if len(kept) < budget or sapling.values[node] + value > sapling.values[kept[-1]]:\n"
        "                    sapling.add(node, token, value)\n        new",
        ("tests/same_law/test_grow.py", EIGHT + "::test_rerank_keeps_the_best_and_stays_connected"),
        "with a short cut: an equal value comes too late in the order",
        neutral=True,
    ),
    Fault(
        "rotation by swapping halves",
        "eagle_min.model",
        "rotated.roll(self.head_dim // 2, -1)",
        "torch.cat(rotated.chunk(2, -1)[::-1], -1)",
        NETWORK,
        "how Llama's code writes it",
        neutral=True,
    ),
    Fault(
        "cumulated weights are counted through",
        "eagle_min.dice",
        'np.searchsorted(cumulated, point, side="right")',
        "np.count_nonzero(cumulated <= point)",
        ("tests/same_law/test_dice.py",),
        "linear instead of binary search",
        neutral=True,
    ),
)
