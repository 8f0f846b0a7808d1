"""The kinds of samplers that can be judged: how each is called, and a row with all that is particular to it.

    chain         f(draft_tokens, draft_probs, target_probs): n drafts, (n, V), (n + 1, V); n may be 0
    tree          f(tokens, parents, target_probs): node 0 is the root, perhaps alone, row i the law behind node i
    tree-sampled  f(tokens, parents, draft_probs, target_probs): children drawn without replacement
    tree-iid      the same, children drawn with replacement
    batch         f(draft_tokens, draft_probs, target_probs): lists with an entry a sequence, as in `chain`;
                  one to three sequences here, which stand behind different texts
    loop          f(model, drafter, prompt, max_new_tokens, stop, sampling): a whole decoder

Each returns plain token ids: the accepted path and one token more; `batch` a list of them; `loop` all new tokens.

For a `loop`, `model(ids)` gives (len(ids), V): row i is what follows ids[: i + 1], as logits, or with `exact` as
Fraction weights. `drafter(ids)` gives (tokens, parents, probs): a tree whose root is ids[-1], now and then the
root alone; probs is None when the tree is a function of ids, else (N, V), and its children were drawn without
replacement. `stop` is a set of token ids, and a stop token is the last one returned. `sampling` has temperature,
top_k and top_p: temperatures 0, 1/2, 1 and (not with `exact`) 2, with and without the others. Filters come
behind the temperature, top_p behind top_k, and of equally likely tokens the smaller ids stay.

To add a kind, add a row. Read next: `search.py`.
"""

from functools import partial

from ..acceptance import bounds, known_faults
from ..law import Number
from ..worlds import always_tried, drawn
from ..worlds.tables import World
from . import batches, cycles, decoders
from .sampler import Kind

ROWS = (
    Kind(
        "chain",
        num_arguments=3,
        play=cycles.play_chain,
        laws=cycles.LAWS,
        drawn=drawn.independent(drawn.chains()),
        always_tried=always_tried.FOR_CHAINS,
        bound=bounds.bound_of_chain,
        known_faults=known_faults.OF_CHAINS,
        tries_equal=True,
    ),
    Kind(
        "tree",
        num_arguments=3,
        play=cycles.play_tree,
        laws=cycles.LAWS,
        drawn=drawn.independent(drawn.trees()),
        always_tried=always_tried.FOR_TREES,
        bound=bounds.bound_of_tree,
        known_faults=known_faults.OF_TREES,
    ),
    Kind(
        "tree-sampled",
        num_arguments=4,
        play=partial(cycles.play_sampled_tree, replace=False),
        laws=cycles.LAWS,
        drawn=drawn.independent(drawn.trees(max_drafted=3)),
        always_tried=always_tried.FOR_SAMPLED_TREES,
        bound=partial(bounds.bound_of_sampled_tree, replace=False),
        known_faults=known_faults.OF_SAMPLED_TREES,
    ),
    Kind(
        "tree-iid",
        num_arguments=4,
        play=partial(cycles.play_sampled_tree, replace=True),
        laws=cycles.LAWS,
        drawn=drawn.independent(drawn.trees(max_drafted=3, repeated=True)),
        always_tried=always_tried.FOR_SAMPLED_TREES,
        bound=partial(bounds.bound_of_sampled_tree, replace=True),
    ),
    Kind(
        "batch",
        num_arguments=3,
        play=batches.play_batch,
        laws=batches.LAWS,
        drawn=drawn.independent(drawn.batches()),
        always_tried=always_tried.FOR_BATCHES,
    ),
    Kind(
        "loop",
        num_arguments=6,
        play=decoders.play_decoder,
        laws=decoders.LAWS,
        drawn=drawn.independent(drawn.decodings()),
        always_tried=always_tried.FOR_DECODERS,
    ),
)
KINDS: dict[str, Kind] = {kind.name: kind for kind in ROWS}


def most_accepted(world: World, kind: str) -> Number:
    """Drafted tokens accepted in a first cycle, expected: no exact rule of this kind has more."""
    return KINDS[kind].bound(world)
