"""Runs any experiment: options, checks, rows with where they come from, table, picture, verdict.

Every option is checked, and every file that will be written is tried, before anything is measured. Rows are stored
one after the other, so that little is lost when a long run is stopped. Read next: `experiments/compare.py`.
"""

import argparse
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from ..config import require
from ..drafters.model_set import load
from .experiment import Experiment, Setting
from .figures.tables import text_table
from .options import MODEL
from .record import Row, check_writable, provenance, write_rows, write_text


def command(experiment: Experiment) -> tuple[Callable[[ArgumentParser], None], Callable[[Namespace], int]]:
    """`add_arguments` and `run`, for an experiment that is a command of its own."""
    return partial(add_arguments, experiment), partial(run, experiment)


def add_arguments(experiment: Experiment, parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    for option in (MODEL, *experiment.options):
        option.add_to(parser)
    parser.add_argument("--json", type=Path, help="store the rows in this file")
    if len(experiment.pictures) == 1:
        parser.add_argument("--picture", type=Path, help="draw the rows into this file, FILE.svg")


def run(experiment: Experiment, args: argparse.Namespace) -> int:
    """Measure, store, print. ValueError or FileNotFoundError, one line, for a bad option, raised before anything is
    measured."""
    options = Namespace(**{option.name: option.check(getattr(args, option.name)) for option in experiment.options})
    picture = getattr(args, "picture", None)  # an option where one picture shows the rows
    check_files(args.json, picture)
    rows: list[Row] = []
    for row in measured(experiment, Setting(load(args.model), options)):
        rows.append(row)
        write_rows(args.json, rows)
        experiment.tell(rows)
    if picture is not None:
        [draw] = experiment.pictures.values()
        write_text(picture, draw(rows))
    print(report(experiment, rows))
    return 0


def check_files(json: Path | None, picture: Path | None) -> None:
    """ValueError unless both can be written, and are two."""
    check_writable(json)
    check_writable(picture, "--picture")
    require(picture is None or picture.suffix == ".svg", "--picture", str(picture), "a file whose name ends in .svg")
    same = json is not None and picture is not None and json.resolve() == picture.resolve()
    require(not same, "--picture", str(picture), "another file than that of --json")


def measured(experiment: Experiment, setting: Setting) -> Iterator[Row]:
    """The experiment's rows, with where they come from."""
    weights = experiment.weights(setting)
    origin = provenance(setting.models, weights, setting.seed, setting.corpus.fingerprint())
    name = {"study": experiment.name} if experiment.claim else {}
    for row in experiment.rows(setting):
        yield name | row | origin


def report(experiment: Experiment, rows: Sequence[Row]) -> str:
    """Claim, tables, what was drawn, and the verdict on the last line; of these what the experiment has."""
    parts = [f"claim: {experiment.claim}"] if experiment.claim else []
    parts += [text_table(columns, [row for row in rows if "drawn" not in row]) for columns in experiment.tables]
    parts += [row["drawn"] for row in rows if "drawn" in row]
    return "\n\n".join([*parts, experiment.verdict(rows)] if experiment.verdict else parts)
