"""Runs planted faults against the tests that must notice them.

    python tests/faults/mutation.py             all faults and neutral variants, as a table
    python tests/faults/mutation.py --markdown  the same table for a README
    python tests/faults/mutation.py NAME ...    rows whose name begins with NAME, or of the module NAME
    python tests/faults/mutation.py --seed 3    with examples other than the suite's own

A fault is planted by an import hook in a child process, forked from a server that has torch, Hypothesis
and pytest loaded but nothing of this project. So a child costs little more than its tests, files stay
as they are, and no module of one run is seen by another.

Verdicts: `killed` (a test failed, or used up its processor time: then the reason says so), `survived` (the
tests ran and passed), `error` (they did not run properly, which must never count as a kill: snippet not
found, syntax error, module not imported, import or name error, nothing collected, crash).
"""

import argparse
import contextlib
import importlib.abc
import importlib.util
import multiprocessing
import os
import re
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path

import paths  # noqa: F401 first, for it says where the others lie
import pytest
from fault import ROOT, Fault
from hypothesis import Phase, settings
from neutral import NEUTRAL
from planted import FAULTS

PRELOAD = ["torch", "numpy", "tiktoken", "pytest", "hypothesis.stateful", "hypothesis.extra", "concurrent.futures"]
LIMIT = 60  # seconds of processor time for a fault, which needs about one; ten times as much for whole files
MEMORY = 8 << 30  # bytes of address space of a child, most of them never touched: a fault must not take all there is
PATIENCE = 30  # so many times as long by the clock, then something is wrong: a busy machine is no reason to kill
BROKEN = (ImportError, SyntaxError, NameError)  # a fault that cannot even run shows nothing about a test


@dataclass(frozen=True)
class Result:
    fault: Fault
    verdict: str  # killed, survived or error
    reason: str  # the failing test and its exception, "time limit", or what went wrong
    seconds: float = 0.0  # of processor time, so that a busy machine does not show
    output: str = ""

    @property
    def as_wanted(self) -> bool:
        return self.verdict == ("survived" if self.fault.neutral else "killed")


class Planted(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """An import hook that serves one module with its fault, and remembers that it did."""

    def __init__(self, fault: Fault) -> None:
        self.fault, self.text, self.used = fault, fault.source(), False

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.fault.module:
            return None
        spec = importlib.util.spec_from_loader(fullname, self, origin=str(self.fault.path))
        spec.has_location = True  # __file__ is set: checkpoint.py looks for its neighbours
        return spec

    def get_source(self, fullname: str) -> str:
        self.used = True
        return self.text

    def get_code(self, fullname: str):
        return compile(self.get_source(fullname), str(self.fault.path), "exec", dont_inherit=True)


class Observer:
    """A pytest plugin: quick Hypothesis settings, and what became of the tests."""

    def __init__(self, seed: int | None) -> None:
        self.seed = seed
        self.num_passed, self.failure, self.broken = 0, "", ""

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """No shrinking: that a test fails matters here, not the smallest example of it."""
        quick = {"phases": [Phase.explicit, Phase.generate], "report_multiple_bugs": False}
        if self.seed is not None:
            quick["derandomize"] = False
        settings.register_profile("mutation", settings.get_profile("fast"), **quick)
        settings.load_profile("mutation")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo):
        report = yield
        self.num_passed += report.passed and report.when == "call"
        if report.failed:
            error = call.excinfo.value
            line = (str(error).strip() or "no message").splitlines()[0]
            name = item.nodeid.split("::")[1].split("[")[0]
            reason = f"{name}: {type(error).__name__}: {line}"
            if report.when == "call" and not isinstance(error, BROKEN):
                self.failure = self.failure or reason
            else:
                self.broken = self.broken or reason
        return report

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.broken = self.broken or f"{report.nodeid} could not be collected"

    def verdict(self, code: int, planted: Planted) -> tuple[str, str]:
        if self.broken or code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return "error", self.broken or f"pytest ended with status {int(code)}"
        if not planted.used:
            return "error", f"the tests never imported {planted.fault.module}"
        if self.failure:
            return "killed", self.failure
        return ("survived", f"{self.num_passed} passed") if self.num_passed else ("error", "no test ran")


def limit_of(fault: Fault, limit: int) -> int:
    return limit * 10 if fault.neutral else limit


def _child(fault: Fault, seed: int | None, limit: int, output: str, sender) -> None:
    """One fault in a fresh process; sends (verdict, reason, seconds)."""
    import torch

    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))  # then the signal SIGXCPU ends the process
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    file = os.open(output, os.O_WRONLY | os.O_TRUNC)
    os.dup2(file, 1), os.dup2(file, 2)
    torch.set_num_threads(1)
    os.chdir(ROOT)
    os.environ["EAGLE_MIN_PROFILE"] = "fast"  # a fault has to die by the examples of every day
    loaded = [name for name in sys.modules if name.split(".")[0] == "eagle_min"]
    assert not loaded, f"{loaded} were imported before the fault was planted"
    planted, observer = Planted(fault), Observer(seed)
    sys.meta_path.insert(0, planted)
    sys.path.insert(0, str(ROOT))
    options = ["-x", "-q", "--tb=short", "-p", "no:cacheprovider", f"--rootdir={ROOT}"]
    if seed is not None:
        options.append(f"--hypothesis-seed={seed}")
    code = pytest.main([*options, *fault.killers], plugins=[observer])
    sender.send((*observer.verdict(code, planted), time.process_time()))


def _start(context, fault: Fault, seed: int | None, limit: int):
    """(process, receiving end, output file) of a running child."""
    handle, output = tempfile.mkstemp(prefix="mutation-")
    os.close(handle)
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(fault, seed, limit, output, sender), daemon=True)
    process.start()
    sender.close()
    return process, receiver, output


def _finish(fault: Fault, process, receiver, output: str, limit: int) -> Result:
    """The result of a child that ended, or that we no longer wait for."""
    if process.exitcode is None:
        process.kill()
        process.join()
    verdict, reason, seconds = "error", f"the process ended with status {process.exitcode}", 0.0
    if process.exitcode == -signal.SIGXCPU:
        verdict, reason, seconds = "killed", f"time limit of {limit} s", float(limit)
    elif receiver.poll():
        with contextlib.suppress(EOFError):
            verdict, reason, seconds = receiver.recv()
    text = Path(output).read_text(encoding="utf-8", errors="replace")
    Path(output).unlink()
    return Result(fault, verdict, reason, seconds, text)


def run(faults: Iterable[Fault], num_workers: int = 2, limit: int = LIMIT, seed: int | None = None) -> Iterator[Result]:
    """Results as they come, at most `num_workers` children at a time."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    waiting, running = list(faults), {}
    while waiting or running:
        while waiting and len(running) < num_workers:
            fault = waiting.pop(0)
            try:
                compile(fault.source(), fault.name, "exec", dont_inherit=True)
            except (ValueError, SyntaxError, OSError) as error:
                yield Result(fault, "error", f"{type(error).__name__}: {error}")
                continue
            child = _start(context, fault, seed, limit_of(fault, limit))
            running[child[0].sentinel] = (fault, *child, time.monotonic())
        ready = wait(list(running), timeout=0.5)
        for sentinel, (fault, process, receiver, output, start) in list(running.items()):
            if sentinel in ready:
                process.join()
            if sentinel in ready or time.monotonic() - start > PATIENCE * limit_of(fault, limit):
                del running[sentinel]
                yield _finish(fault, process, receiver, output, limit_of(fault, limit))


def killer_of(result: Result) -> str:
    """The test that failed, or the files that stayed green."""
    if result.reason.startswith("time limit"):
        return f"{result.fault.killers[0].split('::')[-1]} ({result.reason})"
    names = result.reason.split(": ")[0] if result.verdict == "killed" else ", ".join(result.fault.killers)
    return re.sub(r"tests/|\.py(?=,|$)", "", names)


def row(result: Result, markdown: bool) -> str:
    module = result.fault.module.removeprefix("eagle_min.")
    if markdown:
        verdict = "stayed green" if result.fault.neutral and result.as_wanted else result.verdict
        return f"| {result.fault.name} | `{module}` | {result.fault.origin} | `{killer_of(result)}` | {verdict} |"
    detail = killer_of(result) if result.verdict == "killed" else result.reason
    return f"{result.verdict:9} {result.seconds:5.1f} s  {module:10} {result.fault.name:58} {detail}"


def is_named(fault: Fault, names: list[str]) -> bool:
    return fault.name.startswith(tuple(names)) or fault.module.removeprefix("eagle_min.") in names


def main() -> int:
    parser = argparse.ArgumentParser(description="Plant faults; each must be noticed by the test it names.")
    parser.add_argument("names", nargs="*", help="only rows whose name begins so, or of this module")
    parser.add_argument("--markdown", action="store_true", help="a table for a README")
    parser.add_argument("--output", action="store_true", help="show what the tests printed")
    parser.add_argument("--seed", type=int, help="draw other examples than the suite does")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    chosen = [f for f in (*FAULTS, *NEUTRAL) if not args.names or is_named(f, args.names)]
    wrong = 0
    if args.markdown:
        print("| fault | module | origin | noticed by | verdict |\n|---|---|---|---|---|")
    for result in run(chosen, args.workers, seed=args.seed):
        wrong += not result.as_wanted
        print(row(result, args.markdown), flush=True)
        if args.output:
            print(result.output)
        if not args.markdown and not result.as_wanted:
            print(f"          ^ not as it should be: {result.reason}")
    if not args.markdown:
        print(f"{len(chosen) - wrong} of {len(chosen)} as they should be")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
