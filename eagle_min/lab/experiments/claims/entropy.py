"""Acceptance of the first drafted token against how open the next token is, and two trees to look at.

At each place of held-out code the head is given true features, as behind a text that was just verified, and its
likeliest token is the draft. No token is drawn: at temperature 0 a draft is accepted when the target finds the
same token likeliest, at temperature 1 with the probability that the target's law gives to it, and no single
draft could be accepted with more than the largest probability in that law. Entropies are in bits, of the
target's law at temperature 1.

The trees are those of EAGLE-2 behind two short prompts, with few nodes so that they can be read.
Shapes: T tokens of a text, V vocabulary. Read next: `size.py`.
"""

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from ....config import SamplingConfig, TreeConfig
from ....decode import Cycle, laws_of
from ....dice import SeededDice
from ....head import EagleHead
from ....model import GPT
from ....sampling import next_token_law
from ....show.terminal import Painter
from ....show.terminal import picture as tree_picture
from ....tree import children
from ....verify import verify
from ...experiment import Experiment, Setting
from ...figures.svg import Point, lines
from ...figures.tables import Column, number
from ...instruments.measures import first_tree
from ...options import HEAD, SEED
from ...record import Row
from .claim import FAILS, HOLDS, MEMBERS, OPEN, Judged, follows, num_prefixes, overall

EASY, HARD = "10 + 2 =", "10 + 2"  # the figure's pair: a sum to be finished, and a text that may go on in many ways
TREE = TreeConfig(num_nodes=12)
SERIES = {"T=0": "greedy", "T=1": "sampled"}
COLUMNS: list[Column] = [
    ("entropy, bits", lambda row: f"{row['low']} to {row['high']}"),
    ("places", lambda row: str(row["num_places"])),
    ("mean entropy", number("entropy")),
    ("accepted, T=0", number("greedy")),
    ("accepted, T=1", number("sampled")),
    ("at most, T=1", number("most")),
]


@torch.inference_mode()
def first_drafts(target: GPT, head: EagleHead, ids: Sequence[int]) -> Tensor:
    """(T - 2, 4), for each token but the first and the last: entropy in bits of what follows, whether the draft
    is the likeliest token, its probability, and the largest one."""
    tokens = torch.tensor(ids)
    features = target.features(tokens, torch.arange(len(ids)))
    guesses = head(features[:-2], target.embed(tokens[1:-1]), torch.arange(len(ids) - 2))
    drafts = target.lm_head(guesses).argmax(-1, keepdim=True)
    laws = target.lm_head(features[1:-1]).double().softmax(-1)  # (T - 2, V)
    entropy = -(laws * laws.clamp_min(torch.finfo(laws.dtype).tiny).log2()).sum(-1)
    most, likeliest = laws.max(-1)
    return torch.stack([entropy, likeliest == drafts[:, 0], laws.gather(-1, drafts)[:, 0], most], dim=-1)


def measured(setting: Setting) -> Iterator[Row]:
    """A row for each bin of one bit, as many as the vocabulary can need, and one for each of the two trees."""
    target, head = setting.models.target, setting.drafter("chain").head
    places = torch.cat([first_drafts(target, head, prefix.ids) for prefix in setting.prefixes])
    for low in range(math.ceil(math.log2(target.vocab_size))):
        here = places[(places[:, 0] >= low) & (places[:, 0] < low + 1)]
        means = here.mean(dim=0).tolist() if len(here) else [None] * 4
        yield {"low": low, "high": low + 1, "num_places": len(here)} | dict(
            zip(("entropy", "greedy", "sampled", "most"), means)
        )
    for prompt in (EASY, HARD):
        yield tree_row(setting, prompt)


def tree_row(setting: Setting, prompt: str) -> Row:
    """The tree below the last token of a prompt, and what the target accepts of it at temperature 0."""
    models, ids = setting.models, setting.models.tokenizer.prompt(prompt)
    tree, logits = first_tree(models.target, setting.drafter("eagle2", TREE), ids)
    path, bonus = verify(tree, laws_of(logits, SamplingConfig()), SeededDice(setting.seed), len(ids), 0)
    cycle = Cycle((*(tree.tokens[node] for node in path[1:]), bonus), len(path) - 1, tree, tuple(path), None)
    law = next_token_law(logits[0], SamplingConfig(1.0))
    entropy = -sum(p * math.log2(p) for p in law.tolist() if p > 0)
    shown = tree_picture(tree, cycle, models.tokenizer, Painter(colour=False))
    return {
        "prompt": prompt,
        "entropy": entropy,
        "root_children": len(children(tree.parents)[0]),
        "drawn": f"behind `{prompt}`, where the next token has {entropy:.2f} bits:\n{shown}",
    }


def series(rows: Sequence[Row], least: int = 1) -> dict[str, list[Point]]:
    """(mean entropy, share accepted) of the bins with `least` places or more, by temperature."""
    bins = [row for row in rows if row.get("num_places", 0) >= least]
    return {name: [(row["entropy"], row[key]) for row in bins] for name, key in SERIES.items()}


def verdict(rows: Sequence[Row]) -> str:
    """Acceptance falls with entropy, and the root of the easy prompt has fewer children."""
    parts = [follows(f"accepted at {name}", points, sign=-1) for name, points in series(rows, MEMBERS).items()]
    return overall([*parts, fewer_children({row["prompt"]: row for row in rows if "prompt" in row})])


def fewer_children(trees: dict[str, Row]) -> Judged:
    """Whether EAGLE-2 tries fewer next tokens behind the easy prompt."""
    easy, hard = (trees[prompt]["root_children"] for prompt in (EASY, HARD))
    word = HOLDS if easy < hard else FAILS if easy > hard else OPEN
    return word, f"tokens tried behind `{EASY}`: {easy}, behind `{HARD}`: {hard}"


def picture(rows: Sequence[Row]) -> str:
    """Acceptance over entropy, and what no single draft could exceed."""
    most = [(row["entropy"], row["most"]) for row in rows if row.get("num_places")]
    title = "acceptance of the first drafted token, held-out code"
    return lines(title, series(rows) | {"at most, T=1": most}, "entropy of the target's law, bits", "share accepted")


EXPERIMENT = Experiment(
    name="entropy",
    question="Are fewer drafts accepted where the next token is more open, and are trees wider there?",
    claim="The more open the next token is, the fewer drafts are accepted, and the wider EAGLE-2's tree becomes "
    "(EAGLE-2, 2406.16858, figure 2, which compares `10+2=` with `10+2`).",
    options=[HEAD, num_prefixes(300), SEED],
    rows=measured,
    tables=[COLUMNS],
    verdict=verdict,
    pictures={"study_entropy.svg": picture},
)
