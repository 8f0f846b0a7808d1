"""The mutation score of the core: which of all small changes to its modules do the tests notice?

    python tests/faults/score.py                           every mutant
    python tests/faults/score.py --module dice             of one module
    python tests/faults/score.py --sample 60 --seed 3      a random sample
    python tests/faults/score.py --json runs/score.json    go on where an interrupted run stopped
    python tests/faults/score.py "sampling | top_p"        mutants whose id holds this text
    python tests/faults/score.py --counts tests/faults/score.json store the counts of all mutants, for results.md

Planted faults (`mutation.py`) were chosen by hand, so that each is a real one; these mutants come from
rules (`mutants.py`), so that no place is forgotten. A mutant is killed when one of its module's
tests fails, or when they use more than five times the processor time they need without it, and ten seconds.

Score = killed / (all - argued equivalent, see `equivalent.py`). A mutant that does not run at all
(`error`: a name left unbound, a module that cannot be imported) shows nothing about a test: it is no kill and
is listed apart. Exit status 1: the score is below --at-least, an equivalent was killed or is no mutant; 2: a
bad option.
"""

import argparse
import ast
import functools
import hashlib
import math
import random
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import paths  # noqa: F401 first, for it says where the others lie
from equivalent import EQUIVALENT
from fault import ROOT
from mutants import Mutant, mutants_of, unchanged
from mutation import Result, run

TESTS = {  # test files of a module, the cheapest first
    "dice": ("dice",),
    "sampling": ("sampling",),
    "tree": ("tree",),
    "verify": ("verify", "verify_sampled", "eight_properties"),
    "cache": ("cache",),
    "exactness.law": ("law",),
    "grow": ("grow", "eight_properties"),
    "ending": ("decode",),
    "decode": ("decode", "law_of_the_loop", "eight_properties"),
}
FOLDERS = {"cache": "network"}  # the others lie in tests/same_law
OPERATORS = ("comparison", "arithmetic", "constant", "boolean", "slice", "statement")
OUTCOMES = ("killed", "equivalent", "survived", "error")
AT_LEAST = 0.95
Row = dict


def killers_of(module: str) -> tuple[str, ...]:
    """Test files of a module, the cheapest first."""
    return tuple(f"tests/{FOLDERS.get(name, 'same_law')}/test_{name}.py" for name in TESTS[module])


@functools.cache
def mutants_in(module: str) -> list[Mutant]:
    """Of one module, in the order of their places."""
    blank = unchanged(f"eagle_min.{module}", "", killers_of(module))
    return mutants_of(blank.module, blank.path.read_text(encoding="utf-8"), blank.killers)


def all_mutants(modules: Iterable[str] = TESTS) -> list[Mutant]:
    """Of these modules, in the order of their places."""
    return [mutant for module in modules for mutant in mutants_in(module)]


def with_helpers(files: Iterable[Path]) -> list[Path]:
    """Test files and what they share: whatever they import from tests/support, and conftest.py."""
    found: set[Path] = set()
    waiting = [*files, ROOT / "tests" / "conftest.py"]
    while waiting:
        path = waiting.pop()
        if path not in found and path.exists():
            found.add(path)
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            names = [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
            waiting += [ROOT / "tests" / "support" / f"{name}.py" for name in names]
    return sorted(found)


def core_files() -> list[Path]:
    """What the modules of TESTS, and their tests, rest on of the package: all but its folders, and the law of a
    program."""
    return [*sorted((ROOT / "eagle_min").glob("*.py")), ROOT / "eagle_min" / "exactness" / "law.py"]


def sources_sha256(module: str) -> str:
    """Of the core, the module and its tests: what a verdict is about."""
    files = (*core_files(), *with_helpers(ROOT / name for name in killers_of(module)))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


class Store:
    """Rows by id, those of other sources forgotten; written after every verdict."""

    def __init__(self, path: Path | None) -> None:
        """`path`: where rows are kept, nowhere with None. ValueError unless a file can be written there."""
        from eagle_min.lab import record  # not above: a child must import nothing of the package before its mutant

        record.check_writable(path)
        self.path, self.record = path, record
        self.hashes = {f"eagle_min.{module}": sources_sha256(module) for module in TESTS}
        rows = record.read_rows(path) if path is not None and path.exists() else []
        self.rows = {row["id"]: row for row in rows if row["sources_sha256"] == self.hashes.get(row["module"])}
        self.origin = {
            "command": shlex.join(["python", "tests/faults/score.py", *sys.argv[1:]]),
            "commit": record.commit(),
            "machine": record.machine(),
        }

    def add(self, result: Result) -> Row:
        """The row of a result, stored."""
        mutant = result.fault
        row = {
            "id": mutant.name,
            "module": mutant.module,
            "operator": mutant.operator,
            "place": f"{mutant.path.relative_to(ROOT)}:{mutant.line_number}",
            "old": mutant.old,
            "new": mutant.new,
            "verdict": result.verdict,
            "reason": result.reason,
            "seconds": round(result.seconds, 1),  # of processor time
            "sources_sha256": self.hashes[mutant.module],
            **self.origin,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        self.rows[mutant.name] = row
        self.record.write_rows(self.path, list(self.rows.values()))
        return row

    def write_counts(self, path: Path | None, rows: Sequence[Row]) -> None:
        """The counts alone, of at least one row, for results.md."""
        date = max(row["date"] for row in rows)
        self.record.write_rows(path, [{**row, **self.origin, "date": date} for row in counted(rows)])


def baseline(mutant: Mutant, store: Store) -> float:
    """Processor seconds of the tests without a mutant. ValueError when they fail: all would be killed."""
    same = unchanged(mutant.module, mutant.path.read_text(encoding="utf-8"), mutant.killers)
    row = store.rows.get(same.name)
    if row is None:
        [result] = run([same], limit=600)
        if result.verdict != "survived":
            raise ValueError(f"tests of {mutant.module} must pass without a mutant, got {result.reason}")
        row = store.add(result)
    return row["seconds"]


def verdicts(mutants: Sequence[Mutant], store: Store, num_workers: int) -> Iterator[Row]:
    """A row for each mutant, stored ones first."""
    yield from (store.rows[mutant.name] for mutant in mutants if mutant.name in store.rows)
    left = [mutant for mutant in mutants if mutant.name not in store.rows]
    for module in dict.fromkeys(mutant.module for mutant in left):
        group = [mutant for mutant in left if mutant.module == module]
        limit = math.ceil(5 * baseline(group[0], store) + 10)
        for result in run(group, num_workers, limit):
            yield store.add(result)


def outcome(row: Row) -> str:
    """The verdict, or `equivalent` for one that was not killed and is argued."""
    return "equivalent" if row["verdict"] != "killed" and row["id"] in EQUIVALENT else row["verdict"]


def score(rows: Iterable[Row]) -> float:
    """Share of the killed among those that could be; 1 when there are none."""
    counts = Counter(map(outcome, rows))
    total = counts.total() - counts["equivalent"]
    return counts["killed"] / total if total else 1.0


def mistakes(rows: Iterable[Row]) -> list[str]:
    """What is wrong with the list of equivalents: killed ones, and ids that no mutant has."""
    known = {mutant.name for mutant in all_mutants()}
    wrong = [f"killed, so not equivalent: {row['id']}" for row in rows if row["verdict"] == "killed"]
    wrong = [line for line in wrong if line.partition(": ")[2] in EQUIVALENT]
    return wrong + [f"no such mutant: {name}" for name in EQUIVALENT if name not in known]


def count(what: str, rows: Sequence[Row]) -> Row:
    """How the mutants of one operator, or in one module, came out."""
    counts = Counter(map(outcome, rows))
    return {"mutants_of": what, "mutants": len(rows), **{name: counts[name] for name in OUTCOMES}, "score": score(rows)}


def counted(rows: Sequence[Row]) -> list[Row]:
    """The counts of each operator, each module, and of all."""
    groups = {name: [row for row in rows if row["operator"] == name] for name in OPERATORS}
    groups |= {f"{name}.py": [row for row in rows if row["module"] == f"eagle_min.{name}"] for name in TESTS}
    return [count(what, group) for what, group in groups.items() if group] + [count("all", rows)]


def report(rows: Sequence[Row]) -> list[str]:
    """The counts, then what is to be done."""
    from tables import SCORED  # not above, as in `Store`

    from eagle_min.lab.figures.tables import text_table

    lines = ["", text_table(SCORED, counted(rows))]
    for verdict, what in (("survived", "holes, which no test notices"), ("error", "mutants that did not run")):
        group = [row for row in rows if outcome(row) == verdict]
        lines += ["", f"{what}: {len(group)}"]
        for row in group:
            lines += [f"{row['place']}: {row['old']}  ->  {row['new']}", f"    {row['id']}", f"    {row['reason']}"]
    return lines


def chosen(args: argparse.Namespace) -> list[Mutant]:
    """The mutants that the command line asks for."""
    mutants = all_mutants([args.module] if args.module else TESTS)
    mutants = [mutant for mutant in mutants if all(text in mutant.name for text in args.texts)]
    if args.sample is None:
        return mutants
    sample = random.Random(args.seed).sample(mutants, min(args.sample, len(mutants)))
    return sorted(sample, key=mutants.index)


def check(args: argparse.Namespace, mutants: Sequence[Mutant]) -> None:
    """ValueError, before hours of running, for what could not be stored or would say nothing."""
    from eagle_min.config import require  # not above, as in `Store`
    from eagle_min.lab.record import check_writable

    require(bool(mutants), "selection", [*args.texts, args.sample], "one that some mutant fits")
    partial = args.texts or args.module or args.sample is not None
    require(args.counts is None or not partial, "--counts", str(args.counts), "without a selection: counts are of all")
    check_writable(args.counts, "--counts")


def main() -> int:
    """Run what the command line asks for. The exit status, 2 for a bad option."""
    parser = argparse.ArgumentParser(description="Change the core in many small ways; the tests must notice.")
    parser.add_argument("texts", nargs="*", help="only mutants whose id holds these texts")
    parser.add_argument("--module", choices=TESTS)
    parser.add_argument("--sample", type=int, help="so many mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path, help="store verdicts here, and take those that are there")
    parser.add_argument("--counts", type=Path, help="store the counts here")
    parser.add_argument("--at-least", type=float, default=AT_LEAST, help="the lowest score that is good")
    args = parser.parse_args()
    rows = []
    try:
        mutants = chosen(args)
        check(args, mutants)
        store = Store(args.json)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for row in verdicts(mutants, store, args.workers):
        rows.append(row)
        print(f"{row['verdict']:9} {row['seconds']:5.1f} s  {row['id']}", flush=True)
    if args.counts is not None:
        store.write_counts(args.counts, rows)
    wrong = mistakes(rows)
    print("\n".join([*report(rows), "", *wrong, f"score {score(rows):.3f}, at least {args.at_least} wanted"]))
    return int(score(rows) < args.at_least or bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
