"""`python -m eagle_min certify FILE.py:FUNCTION --kind KIND`: a verdict on anyone's sampler.

FILE is imported with its random sources already replaced, so that generators it makes while it is
imported ask the dice too. With `--sample N` nothing is replaced: for code that looks at its random numbers.
Exit status: 0 exact, 1 refuted, 2 undecided. Read next: `../train/command.py`.
"""

import argparse
import importlib.util
import inspect
import random
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from ..config import require
from .certify import LIMITS, WORLDS, certify
from .law import Limits
from .report import EXIT_STATUS, report
from .sample import certify_by_samples
from .uniform import Undecided
from .watch import watched


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("function", metavar="FILE.py:FUNCTION", help="the sampler")
    parser.add_argument("--kind", required=True, help=f"how it is called: {', '.join(WORLDS)}")
    parser.add_argument("--exact", action="store_true", help="hand over Fractions and compare with ==")
    parser.add_argument("--bits", type=int, help="coins k / 2^BITS, and only the support is judged (1 to 24)")
    parser.add_argument("--sample", type=int, metavar="N", help="do not enumerate: N real texts a world, a test")
    parser.add_argument("--worlds", type=int, help="so many worlds, at least 1 (default 40, 10 with --sample)")
    parser.add_argument("--max-branches", type=int, default=LIMITS.max_branches, help="sequences of answers a cycle")
    parser.add_argument("--max-seconds", type=float, default=LIMITS.max_seconds, help="for the law of a cycle")


def run(args: argparse.Namespace) -> int:
    """Certify and report. ValueError or FileNotFoundError for what cannot be called."""
    require(args.kind in WORLDS, "kind", args.kind, f"one of {', '.join(WORLDS)}")
    limits = Limits(args.max_branches, args.max_seconds)
    require(args.sample is None or not (args.exact or args.bits), "--sample", args.sample, "without --exact and --bits")
    if args.sample is not None:
        return sample(args)
    try:
        with watched():
            function = load_function(args.function)
    except Undecided as error:
        print(f"undecided: {error}")
        return EXIT_STATUS["undecided"]
    verdict = certify(function, args.kind, exact=args.exact, bits=args.bits, limits=limits, **num_worlds(args))
    print(report(verdict))
    return EXIT_STATUS[verdict.status]


def sample(args: argparse.Namespace) -> int:
    """The test by samples. All generators start from one state, so that the same command says the same."""
    random.seed(0), np.random.seed(0), torch.manual_seed(0)
    verdict = certify_by_samples(load_function(args.function), args.kind, args.sample, **num_worlds(args))
    print(report(verdict))
    return EXIT_STATUS[verdict.status]


def num_worlds(args: argparse.Namespace) -> dict[str, int]:
    """Only what was given: each way of judging has a default of its own."""
    return {} if args.worlds is None else {"num_worlds": args.worlds}


def load_function(name: str) -> Callable:
    """The function of `FILE.py:FUNCTION`. FileNotFoundError or ValueError, one line, when there is none."""
    file, _, function_name = name.rpartition(":")
    path = Path(file)
    require(bool(file and function_name), "function", name, "FILE.py:FUNCTION")
    if not path.is_file():
        raise FileNotFoundError(f"no file {file!r}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    require(spec is not None and spec.loader is not None, "file", file, "a Python file, *.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent.resolve()))  # it may import its neighbours
    try:
        spec.loader.exec_module(module)
    except Undecided:
        raise
    except Exception as error:
        raise ValueError(f"{file} cannot be imported: {type(error).__name__}: {error}") from error
    function = getattr(module, function_name, None)
    known = [key for key, value in vars(module).items() if inspect.isfunction(value) and not key.startswith("_")]
    require(callable(function), "function", function_name, f"one of {', '.join(known) or 'none'} in {file}")
    return function
