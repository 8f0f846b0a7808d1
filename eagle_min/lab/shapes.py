"""`python -m eagle_min shapes`: why the target has the shape it has.

Two things pull apart. A wider or deeper target writes better text after the same time of training,
and speculation pays where a call on 24 tokens costs little more than a call on one, which a
narrow model on a CPU offers and a wide one does not. So each candidate is trained for the same
number of seconds, from nothing, and its calls are timed. The rows are kept in the target's card.
Read next: `rules.py`.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..checkpoint import read_card
from ..config import ModelConfig, require
from ..drafters.model_set import ModelSet, load
from ..files import command_line, write_atomically
from ..model import GPT
from ..train.batches import training_streams
from ..train.corpus import Document, load_held_out
from ..train.evaluate import bits_per_byte
from ..train.loop import TrainConfig
from ..train.target import train_target
from .costs import call_seconds
from .record import Column, Row, number, text_table

SHAPES = ((128, 16, 2), (128, 24, 2), (192, 16, 3), (256, 12, 4))  # width, layers, attention heads
HIDDEN = 2.75  # inner width of the SwiGLU, in widths
TREE = 24  # nodes of a call, the root included
TRIAL_STEPS = 4  # to see how fast a shape trains
SCORED_TOKENS = 20_000
ROUNDS = 30

COLUMNS: list[Column] = [
    ("width", lambda row: str(row["width"])),
    ("layers", lambda row: str(row["num_layers"])),
    ("parameters, million", number("parameters", 2, 1e-6)),
    ("tokens trained, million", number("tokens", 2, 1e-6)),
    ("code, bits/byte", number("bits_per_byte", 3)),
    ("plain step, ms", number("step_seconds", 2, 1e3)),
    (f"{TREE} nodes / 1 node", number("call_ratio")),
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--model", default="tiny", help="set whose vocabulary is used and whose card keeps the rows")
    parser.add_argument("--folder", type=Path, required=True, help="for the encoded text and the runs")
    parser.add_argument("--seconds", type=int, default=120, help="of training for each shape (default 120)")


def run(args: argparse.Namespace) -> int:
    """Study all shapes, print the table, keep the rows. ValueError for a bad option."""
    require(args.seconds >= 1, "seconds", args.seconds, "at least 1")
    models, held_out = load(args.model), load_held_out().held_out["code"]
    training_streams(models.tokenizer, args.folder)  # encoded once, before a clock runs
    rows = []
    for width, num_layers, num_heads in SHAPES:
        vocab_size, hidden = models.tokenizer.vocab_size, int(HIDDEN * width)
        shape = ModelConfig(vocab_size, width, num_layers, num_heads, hidden)
        rows.append(study(shape, models, held_out, args.folder, args.seconds))
        print(f"{width} x {num_layers}: {rows[-1]['bits_per_byte']:.3f} bits/byte", file=sys.stderr)
    card = read_card(models.folder, "target") | {"shape_study": {"command": command_line(), "rows": rows}}
    content = json.dumps(card, indent=1) + "\n"
    write_atomically(models.folder / "target.json", lambda file: file.write(content.encode()))
    print(text_table(COLUMNS, rows))
    return 0


def study(shape: ModelConfig, models: ModelSet, held_out: Sequence[Document], folder: Path, seconds: int) -> Row:
    """Train one shape for about so many seconds, from nothing; what it reached and what its calls cost."""
    trial, trial_seconds = trained(shape, models, folder, TRIAL_STEPS)
    costs = call_seconds(trial, ROUNDS, (1, TREE))
    num_steps = max(1, round(seconds / trial_seconds * TRIAL_STEPS))
    target, spent = trained(shape, models, folder, num_steps)
    return {
        "width": shape.width,
        "num_layers": shape.num_layers,
        "parameters": sum(param.numel() for param in target.parameters()),
        "tokens": num_steps * TrainConfig().batch_tokens,
        "seconds": spent,
        "bits_per_byte": bits_per_byte(target, held_out, models.tokenizer, SCORED_TOKENS),
        "step_seconds": costs[1],
        "call_ratio": costs[TREE] / costs[1],
    }


def trained(shape: ModelConfig, models: ModelSet, folder: Path, num_steps: int) -> tuple[GPT, float]:
    """A target after so many steps, and the seconds they took. The run itself is thrown away."""
    train = TrainConfig(tokens=num_steps * TrainConfig().batch_tokens, warmup=min(50, max(1, num_steps // 4)))
    with tempfile.TemporaryDirectory(dir=folder) as run_folder:
        target, _, done = train_target(shape, train, models.tokenizer, Path(run_folder))
    return target.eval().requires_grad_(False), done.seconds
