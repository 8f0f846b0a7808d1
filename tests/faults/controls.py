"""Right samplers in many worlds: the certifier must not speak against one of them.

    python tests/faults/controls.py                each in 40 drawn worlds and those always tried, as `certify` has it
    python tests/faults/controls.py --worlds 2000  the figure of results.md; more than an hour of two cores
    python tests/faults/controls.py --json FILE    a row for each, written as soon as it is known; rows in FILE
                                                   that stand for as many drawn worlds are not measured again

They are the controls of the bank, whose law is the target's whatever people say of them, the further exact rules, and
samplers that draw from sources of their own (`samplers.py`). Those of the bank get Fractions, so that one unequal
probability in any world would show; the others float64. Exit status 1 when one of them is not exact.
"""

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import paths  # noqa: F401 first, for it says where the others lie
import samplers
from bank import provenance
from faulty_samplers import CONTROLS
from tables import CERTIFIED

from eagle_min.config import require
from eagle_min.exactness import certify
from eagle_min.exactness.judge.command import load_function
from eagle_min.exactness.judge.report import report
from eagle_min.exactness.undrawn.watch import watched
from eagle_min.lab.figures.tables import text_table
from eagle_min.lab.record import Row, check_writable, read_rows, write_rows


def right_ones() -> Iterator[tuple[str, str, Callable, bool]]:
    """(name, kind, sampler, whether it works on Fractions) of every right sampler that the certifier can call."""
    for row in CONTROLS:
        if row.kind != "step":
            yield row.name, row.kind, row.sampler, True
    for kind, name in samplers.RIGHT:
        with watched():  # one of them has a generator that is made at import
            sampler = load_function(f"{samplers.__file__}:{name}")
        yield f"samplers.py: {name}", kind, sampler, False


def judged(num_worlds: int, place: int) -> tuple[Row, str]:
    """The verdict on one sampler and what it rests on; and the report."""
    name, kind, sampler, exact = list(right_ones())[place]
    start = time.process_time()
    verdict = certify(sampler, kind, exact=exact, num_worlds=num_worlds)
    row = {
        "certified": name,
        "kind": kind,
        "compared": "==" if exact else "within 1e-6",
        "status": verdict.status,
        "num_worlds": verdict.num_worlds,
        "drawn_worlds": num_worlds,
        "num_branches": verdict.num_branches,
        "largest_distance": float(verdict.largest_distance),
        "seconds": round(time.process_time() - start, 1),
    }
    return row, report(verdict)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="No right sampler may be refuted.")
    parser.add_argument("--worlds", type=int, default=40, help="so many drawn for each, at least 1")
    parser.add_argument("--workers", type=int, default=2, help="processes, at least 1")
    parser.add_argument("--json", type=Path, help="store the rows in this file")
    args = parser.parse_args(arguments)
    try:
        require(args.worlds >= 1, "worlds", args.worlds, "at least 1")
        require(args.workers >= 1, "workers", args.workers, "at least 1")
        check_writable(args.json)
        rows = stored(args.json, args.worlds)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    origin, names = provenance("controls", arguments), [name for name, *_ in right_ones()]
    missing = [place for place, name in enumerate(names) if name not in rows]
    with multiprocessing.Pool(args.workers) as pool:
        for row, text in pool.imap_unordered(partial(judged, args.worlds), missing):
            rows[row["certified"]] = {**row, **origin}
            write_rows(args.json, [rows[name] for name in names if name in rows])
            print(f"{row['status']}: {row['certified']}" if row["status"] == "exact" else text, file=sys.stderr)
    table = [rows[name] for name in names]
    print(text_table(CERTIFIED, table))
    return int(any(row["status"] != "exact" for row in table))


def stored(path: Path | None, num_worlds: int) -> dict[str, Row]:
    """Rows of an earlier run by name, those that stand for at least so many drawn worlds. ValueError for another
    file."""
    rows = read_rows(path) if path is not None and path.exists() else []
    return {row["certified"]: row for row in rows if row.get("drawn_worlds", 0) >= num_worlds}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
