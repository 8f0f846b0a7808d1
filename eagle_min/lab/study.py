"""`python -m eagle_min study NAME`: a claim of the papers, or of articles about them, as an experiment.

    confidence     the draft's confidence against acceptance
    entropy        acceptance against how open the next token is; two draft trees
    size           nodes of the tree against tau and against seconds
    temperature    tau by temperature, for two rules and two shapes of tree
    useless        what a head with random weights costs
    tree           EAGLE-2's tree without parts of its rule
    inputs         what the head is told (trains four heads for a short time)
    loss           how features are learned (trains three heads for a short time)

`--list` prints the claims. A study prints a table and, last, whether the claim holds here: by a rule that
`studies/setting.py` states, from the numbers. Rows are stored with where they come from, one after the other,
so that little is lost when a long run is stopped. Text is held-out code. Read next: `studies/setting.py`.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..config import require, require_seed
from ..drafters.model_set import load
from ..files import write_atomically
from ..train.corpus import load_held_out
from .prefixes import held_out_code
from .record import Row, check_writable, provenance, text_table, write_rows
from .studies import confidence, entropy, inputs, loss, size, temperature, tree, useless
from .studies.setting import Setting, Study

MODULES = (confidence, entropy, size, temperature, useless, tree, inputs, loss)
STUDIES: dict[str, Study] = {module.__name__.rpartition(".")[2]: module.STUDY for module in MODULES}
SIZES = {  # option -> what it counts
    "prefixes": "random held-out prefixes of code",
    "prompts": "shipped prompts",
    "max_new_tokens": "tokens of a text that is timed",
    "nodes": "of a tree, the root included",
    "tokens": "that each head is trained on",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command. What is not given has the study's own default."""
    parser.add_argument("name", nargs="?", help=f"of {', '.join(STUDIES)}")
    parser.add_argument("--list", action="store_true", help="print the claims and stop")
    parser.add_argument("--model", default="tiny", help="shipped set of models, or a folder")
    parser.add_argument("--head", help="head of the set (eagle), for studies that train none")
    for name, what in SIZES.items():
        parser.add_argument("--" + name.replace("_", "-"), type=int, help=what)
    parser.add_argument("--run", dest="folder", type=Path, help="folders of trainings begin so (runs/study-NAME)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="store the rows in this file")
    parser.add_argument("--picture", type=Path, help="draw the rows into this file, FILE.svg")


def run(args: argparse.Namespace) -> int:
    """Run one study. ValueError or FileNotFoundError, one line, for a bad option, raised before anything is
    measured."""
    if args.list:
        print("\n".join(f"{name:12} {study.claim}" for name, study in STUDIES.items()))
        return 0
    require(args.name in STUDIES, "study", args.name, f"one of {', '.join(STUDIES)}")
    study = STUDIES[args.name]
    sizes = sizes_of(study, args)
    check_writable(args.json)
    check_picture(args.picture)
    same = args.json is not None and args.picture is not None and args.json.resolve() == args.picture.resolve()
    require(not same, "--picture", str(args.picture), "another file than that of --json")
    rows: list[Row] = []
    for row in measure(study, sizes, args):
        rows.append(row)
        write_rows(args.json, rows)
        print(f"{args.name}: {len(rows)} rows", file=sys.stderr)
    if args.picture is not None:
        content = study.picture(rows)
        write_atomically(args.picture, lambda file: file.write(content.encode()))
    print(report(study, rows))
    return 0


def sizes_of(study: Study, args: argparse.Namespace) -> dict[str, int]:
    """The sizes that the study is run with. ValueError for one that is too small, or of no use to it."""
    useful = {*study.sizes, "folder" if study.trains else "head"}
    for name in (*SIZES, "head", "folder"):
        value, option = getattr(args, name), "--" + name.replace("_", "-").replace("folder", "run")
        require(value is None or name in useful, option, str(value), "left out: this study has no use for it")
    given = {name: getattr(args, name) for name in study.sizes}
    sizes = {name: study.sizes[name] if value is None else value for name, value in given.items()}
    for name, value in sizes.items():
        require(value >= 1, name, value, "at least 1")
    require_seed(args.seed)
    return sizes


def check_picture(path: Path | None) -> None:
    """As `check_writable`, for the other file."""
    try:
        check_writable(path)
    except ValueError as error:
        raise ValueError(str(error).replace("--json", "--picture", 1)) from error
    require(path is None or path.suffix == ".svg", "--picture", str(path), "a file whose name ends in .svg")


def measure(study: Study, sizes: dict[str, int], args: argparse.Namespace) -> Iterator[Row]:
    """The study's rows, with where they come from."""
    models = load(args.model)
    head = None if study.trains else "eagle" if args.head is None else args.head
    if head is not None:
        models.drafter("eagle2", head)  # a name that is none is found before anything takes long
    origin = provenance(models, [] if head is None else [head], args.seed, load_held_out().fingerprint())
    prefixes = held_out_code(models, sizes["prefixes"], args.seed) if "prefixes" in sizes else []
    folder = args.folder or Path("runs") / f"study-{args.name}"
    for row in study.rows(Setting(models, args.seed, head, prefixes, sizes, folder)):
        yield {"study": args.name, **row, **origin}


def report(study: Study, rows: Sequence[Row]) -> str:
    """Claim, table, what was drawn, and the verdict on the last line."""
    table = text_table(study.columns, [row for row in rows if "drawn" not in row])
    drawn = [row["drawn"] for row in rows if "drawn" in row]
    return "\n\n".join([f"claim: {study.claim}", table, *drawn, study.verdict(rows)])
