"""The command line: `python -m eagle_min [COMMAND] [OPTIONS]`, without a command the demo.

A command is one row of COMMANDS. Its module is imported only when it is asked for, so that
the demo does not wait for what training needs, and has two functions:

    add_arguments(parser)      declares its options
    run(args) -> int           does the work, returns the exit status

Exit status: 0; 1 when a command found what it must not find (texts that differ); 2 for bad
input, with one line `error: ...` on stderr; 130 after Ctrl-C; 141 when the reader of a pipe
has gone. Read next: `show/generate.py`.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

COMMANDS = {
    "demo": ("eagle_min.show.demo", "decode shipped prompts plainly and with EAGLE-2, and compare"),
    "generate": ("eagle_min.show.generate", "continue one prompt"),
    "compare": ("eagle_min.lab.experiments.compare", "measure drafters: tau, alphas, seconds; print a table"),
    "bench": (
        "eagle_min.lab.experiments.bench",
        "measure what a cycle costs, and how well confidence tracks acceptance",
    ),
    "train": ("eagle_min.train.command", "train a target or a head; can be resumed"),
    "certify": ("eagle_min.exactness.judge.command", "prove or refute that a sampler keeps the target's law"),
    "lab": ("eagle_min.lab.command", "experiments, each with the question it answers; without a name: the list"),
}


class Parser(argparse.ArgumentParser):
    """argparse, but a wrong option is a ValueError like any other bad value."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def build_parser(chosen: str) -> Parser:
    """The parser of all commands; only the module of the `chosen` one is imported."""
    parser = Parser(
        prog="python -m eagle_min",
        description="A tiny GPT that decodes with EAGLE-2. Without a command: the demo.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (module, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        if name == chosen:
            loaded = importlib.import_module(module)
            loaded.add_arguments(command)
            command.set_defaults(run=loaded.run)
    return parser


def one_line(error: Exception) -> str:
    """The message of an error on one line, without the number of an operating system error."""
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f": {error.filename!r}"
        return f"{error.strerror}{where}"
    return " ".join(str(error).split("\n"))


def leave_pipe() -> int:
    """The reader of stdout has gone (`| head`): end quietly, with the status a shell expects.

    What is still buffered would raise again when Python closes stdout, so it goes nowhere.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status."""
    argv = list(sys.argv[1:] if argv is None else argv) or ["demo"]
    if sys.stdout is None:  # closed by whoever started this
        sys.stdout = open(os.devnull, "w", encoding="utf-8")
    if hasattr(sys.stdout, "reconfigure"):  # a stream that cannot show a character shows "?"
        sys.stdout.reconfigure(errors="replace")
    try:
        if argv[0].startswith("-") and argv[0] not in ("-h", "--help"):
            raise ValueError(f"COMMAND must come first, one of {', '.join(COMMANDS)}, got {argv[0]!r}")
        args = build_parser(argv[0]).parse_args(argv)
        status = args.run(args)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        return leave_pipe()
    except (ValueError, OSError) as error:
        print(f"error: {one_line(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
