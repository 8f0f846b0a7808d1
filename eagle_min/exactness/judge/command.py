"""`python -m eagle_min certify FILE.py:FUNCTION --kind KIND`: a verdict on anyone's sampler.

FILE is imported with its random sources already replaced, so that generators which it makes at import ask dice too. It
may import its neighbours, then and whenever it is called. With `--sample N` nothing is replaced: for code that
looks at its random numbers. Exit status: 0 exact, 1 refuted, 3 undecided. Read next: `../../train/command.py`.
"""

import argparse
import contextlib
import importlib.util
import inspect
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from ...config import require
from ..law import Limits
from ..no_verdict import NoVerdict, Undecided, described
from ..undrawn.watch import watched
from .bet import certify_by_samples
from .kinds import KINDS
from .report import EXIT_STATUS, report
from .search import LIMITS, certify
from .verdict import Verdict


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("function", metavar="FILE.py:FUNCTION", help="the sampler")
    parser.add_argument("--kind", required=True, help=f"how it is called: {', '.join(KINDS)}")
    parser.add_argument("--exact", action="store_true", help="hand over Fractions and compare with ==")
    parser.add_argument("--bits", type=int, help="coins k / 2^BITS, and only the support is judged (1 to 24)")
    parser.add_argument("--sample", type=int, metavar="N", help="do not enumerate: N real texts a world, a test")
    parser.add_argument("--worlds", type=int, help="so many drawn worlds, at least 1 (default 40, 10 with --sample)")
    parser.add_argument("--max-branches", type=int, help=f"sequences of answers (default {LIMITS.max_branches})")
    parser.add_argument("--max-seconds", type=float, help=f"for the law of one cycle (default {LIMITS.max_seconds:g})")


def run(args: argparse.Namespace) -> int:
    """Certify and report. ValueError or FileNotFoundError for what cannot be called."""
    require(args.kind in KINDS, "kind", args.kind, f"one of {', '.join(KINDS)}")
    limits = limits_of(args)
    with importing_from(folder_of(args.function)):
        verdict = by_enumeration(args, limits) if args.sample is None else by_samples(args)
    print(report(verdict))
    return EXIT_STATUS[verdict.status]


def by_enumeration(args: argparse.Namespace, limits: Limits) -> Verdict:
    """The verdict of `certify`, or "undecided" for a file that draws what cannot be enumerated while it is imported."""
    try:
        with watched():
            function = load_function(args.function)
    except Undecided as error:
        return Verdict(args.kind, args.exact, status="undecided", reason=str(error))
    return certify(function, args.kind, exact=args.exact, bits=args.bits, limits=limits, **num_worlds(args))


def by_samples(args: argparse.Namespace) -> Verdict:
    """The test by samples. All generators start from one state, so that the same command says the same."""
    random.seed(0), np.random.seed(0), torch.manual_seed(0)
    return certify_by_samples(load_function(args.function), args.kind, args.sample, **num_worlds(args))


def limits_of(args: argparse.Namespace) -> Limits:
    """Of the law of a cycle. ValueError for a number out of range, and for options of enumeration with `--sample`."""
    given = {"max_branches": args.max_branches, "max_seconds": args.max_seconds}
    given = {name: number for name, number in given.items() if number is not None}
    enumerating = args.exact or args.bits is not None or given
    others = "without --exact, --bits, --max-branches and --max-seconds"
    require(args.sample is None or not enumerating, "--sample", args.sample, others)
    return replace(LIMITS, **given)


def num_worlds(args: argparse.Namespace) -> dict[str, int]:
    """Only what was given: each way of judging has a default of its own."""
    return {} if args.worlds is None else {"num_worlds": args.worlds}


def folder_of(name: str) -> Path:
    """The folder of the file in `FILE.py:FUNCTION`."""
    return Path(name.rpartition(":")[0]).resolve().parent


@contextlib.contextmanager
def importing_from(folder: Path) -> Iterator[None]:
    """Modules in `folder` can be imported inside. It is the last place where they are looked for: a file that is named
    like a module of Python's or an installed one stands in for neither."""
    before = list(sys.path)
    sys.path.append(str(folder))
    try:
        yield
    finally:
        sys.path[:] = before


def load_function(name: str) -> Callable:
    """The function of `FILE.py:FUNCTION`. FileNotFoundError or ValueError, one line, when there is none.

    The file is loaded under a name that no import statement can have, so it replaces no module of its name.
    """
    file, _, function_name = name.rpartition(":")
    path = Path(file)
    require(bool(file and function_name), "function", name, "FILE.py:FUNCTION")
    if not path.is_file():
        raise FileNotFoundError(f"no file {file!r}")
    private_name = f"certified {path.resolve()}"
    spec = importlib.util.spec_from_file_location(private_name, path)
    require(spec is not None and spec.loader is not None, "file", file, "a Python file, *.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[private_name] = module  # dataclasses look their module up there
    try:
        with importing_from(folder_of(name)):
            spec.loader.exec_module(module)
    except (NoVerdict, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit too: a script that ends the program would be taken for a verdict
        raise ValueError(f"{file} cannot be imported: {described(error)}") from error
    function = getattr(module, function_name, None)
    known = [key for key, value in vars(module).items() if inspect.isfunction(value) and not key.startswith("_")]
    require(callable(function), "function", function_name, f"one of {', '.join(known) or 'none'} in {file}")
    return function
