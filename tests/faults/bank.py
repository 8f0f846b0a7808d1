"""The bank of faulty samplers: which property of a sampler notices which fault, and how many samples that takes.

    python tests/faults/bank.py              two tables: faults x properties, and the power of a statistical test;
                                      and how long the certifier takes to refute
    python tests/faults/bank.py --markdown   the same for a README
    python tests/faults/bank.py --json FILE  a row for each fault as well, with what it takes to get it again
    python tests/faults/bank.py A2 C11       only the faults with these codes

Everything is found by enumeration (`properties.py`), nothing is written down here. The properties:

    first token            the law of the first token, on the fault's own pair of laws, the same behind every text
    marginals              the law of the token at each place of a cycle, there
    one cycle              the joint law of the tokens of a cycle, there
    two cycles             the joint law over two cycles, where laws depend on the text: `properties.CONTEXTS`
    support                a text comes out that the target never gives, on coins of 2 bits too
    above bound            more drafts are accepted than any exact rule accepts; empty where no bound is known
    residual on one token  one cycle again, on the pair whose residual (p - q)+ has one token

Where a property is silent, a test of it passes with the fault in place: the fault needs another pair, other
texts or another number of tokens than the property looks at. The other columns of this table:

    code    what the fault is called for short. A letter is a family (A acceptance and what follows a refusal, B numbers
            used twice or compared wrongly, C trees and siblings, F drafts left out, G blocks), r and a number a report
            that fits in none of them, and the rest are names; numbers have gaps and mean nothing
    kind    how the sampler is called: `eagle_min/exactness/judge/kinds.py`; `faulty_samplers/row.py` for steps
    origin  where the fault was met in public, or "beginner"

The second table tells what a test by samples is up against, in the first cycle in the fault's own world:

    total variation       between the law of what comes out and the law that should: the largest error of any event
    samples for 5 sigma   texts until a chi-square test is five standard deviations above its mean, or a forbidden text
                          has come; "never" where the laws are equal (`properties.num_samples`)
    seconds to enumerate  both laws in that world, in Fractions
    seconds to refute     the certifier's search, with the number of worlds it tries unless told otherwise, until it has
                          the smallest world; in worlds of its own; empty for steps, which it cannot call
"""

import argparse
import functools
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from shlex import join
from statistics import median

import paths  # noqa: F401 first, for it says where the others lie
from faulty_samplers import FAULTS
from faulty_samplers.row import Faulty
from properties import laws_over, noticed_by, num_samples
from tables import NOTICED, POWER

from eagle_min.config import require
from eagle_min.exactness import certify
from eagle_min.exactness.law import total_variation
from eagle_min.lab.figures.tables import markdown_table, text_table
from eagle_min.lab.record import Row, check_writable, commit, machine, write_rows
from eagle_min.train.batches import versions


def power(row: Faulty) -> Row:
    """The first cycle in the fault's own world: how far off its law is, and what it takes to see that."""
    start = time.perf_counter()
    got, wanted = laws_over(row, row.world, 1)
    seconds, needed = time.perf_counter() - start, num_samples(got, wanted)
    return {
        "total_variation": float(total_variation(got, wanted)),
        "num_samples": needed if isfinite(needed) else None,
        "seconds": seconds,
    }


@functools.cache
def seconds_to_refute(sampler: Callable, kind: str, bits: int | None) -> float | None:
    """Until the certifier has the smallest world in which the law is wrong; None when it finds none, and for a
    step, which it cannot call. It looks for a world of its own, so once is enough for all pairs of a fault."""
    if kind == "step":
        return None
    start = time.perf_counter()
    verdict = certify(sampler, kind, exact=True, bits=bits)
    return time.perf_counter() - start if verdict.status == "refuted" else None


def measured(row: Faulty) -> Row:
    """All that is stored about a fault."""
    about = {"code": row.code, "name": row.name, "kind": row.kind, "origin": row.origin, "law_from": row.source}
    certified = {"seconds_to_refute": seconds_to_refute(row.sampler, row.kind, row.bits)}
    return {**about, **noticed_by(row), **power(row), **certified}


def refuted(rows: Sequence[Row]) -> str:
    """The certifier's share and times, in a line."""
    tried = [row["seconds_to_refute"] for row in rows if row["kind"] != "step"]
    seconds = [each for each in tried if each is not None]
    times = f": median {median(seconds):.1f} s, at most {max(seconds):.1f} s" if seconds else ""
    return f"the certifier refutes {len(seconds)} of the {len(tried)} rows that it can call{times}"


def provenance(script: str, arguments: Sequence[str]) -> Row:
    """Where rows come from: the part of `lab/record.py` that holds without a model."""
    return {
        "command": join(["python", f"tests/faults/{script}.py", *arguments]),
        "commit": commit(),
        "machine": machine(),
        "versions": versions(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Which property notices which fault, and at what price.")
    parser.add_argument("codes", nargs="*", help="only these faults")
    parser.add_argument("--markdown", action="store_true", help="tables for a README")
    parser.add_argument("--json", type=Path, help="store the rows in this file")
    args = parser.parse_args(arguments)
    known = dict.fromkeys(row.code for row in FAULTS)
    try:
        for code in args.codes:
            require(code in known, "code", code, f"one of {', '.join(known)}")
        check_writable(args.json)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    origin, rows = provenance("bank", arguments), []
    for row in FAULTS:
        if not args.codes or row.code in args.codes:
            print(f"enumerating: {row.code} {row.name}", file=sys.stderr)
            rows.append({**measured(row), **origin})
    write_rows(args.json, rows)
    table = markdown_table if args.markdown else text_table
    print(table(NOTICED, rows), table(POWER, rows), refuted(rows), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
