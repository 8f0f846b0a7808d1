"""`python -m eagle_min lab`: experiments, each under the name of what it asks about.

    lab                lists them with the question each answers
    lab NAME           runs one; `lab NAME --help` has its options
    lab results        puts stored rows into the tables of README.md and tinymodels/results/README.md, and draws them

`compare` and `bench` are experiments too, and commands of their own. Here the lab ends.
"""

import argparse
from functools import partial

from . import results, runner
from .experiments.registry import EXPERIMENTS

OWN_COMMANDS = ("compare", "bench")
LISTED = {name: experiment for name, experiment in EXPERIMENTS.items() if name not in OWN_COMMANDS}
UPDATE = "put stored figures into tables, and draw them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A command for each experiment, with its options, and one for what is stored."""
    commands = parser.add_subparsers(dest="name", metavar="NAME")
    for name, experiment in LISTED.items():
        about = experiment.question + (f" Tests: {experiment.claim}" if experiment.claim else "")
        about = about.replace("%", "%%")  # to argparse % begins the name of a value
        own = commands.add_parser(name, help=experiment.question, description=about, allow_abbrev=False)
        runner.add_arguments(experiment, own)
        own.set_defaults(run_named=partial(runner.run, experiment))
    own = commands.add_parser("results", help=UPDATE, description=UPDATE, allow_abbrev=False)
    results.add_arguments(own)
    own.set_defaults(run_named=results.run)


def run(args: argparse.Namespace) -> int:
    """Run what was named, or list what there is: a line for each experiment, its name and question."""
    if args.name is not None:
        return args.run_named(args)
    width = max(map(len, LISTED))
    for name, experiment in LISTED.items():
        print(f"{name:{width}}  {experiment.question}")
    print(f"{'results':{width}}  ({UPDATE})")
    return 0
