"""One call of a function that nobody vouches for: nothing hangs, and what it may not do is reported.

It may not raise, take longer than it is given, or change its arguments, which are the caller's; and it returns token
ids, however they are packed. Read next: `sampler.py`.
"""

import contextlib
import copy
import itertools
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..no_verdict import NoVerdict, described
from ..worlds.tables import Text

MOST_RETURNED = 10_000  # that are taken from something without an end


class BrokenContract(Exception):
    """The function did or returned something that no sampler of its kind may."""


def guarded(call: Callable[[], Any], arguments: Sequence[Any], seconds: float) -> Any:
    """What `call` returns; `arguments` are those that the function gets. `BrokenContract` when it raises,
    does not return in time or leaves the arguments changed. `NoVerdict` goes through; where the function
    caught it and went on, `watched` raises it again at its end."""
    before = [copied(argument) for argument in arguments]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            with within(seconds):
                returned = call()
                if isinstance(returned, Iterator):  # a generator has not run yet
                    returned = list(itertools.islice(returned, MOST_RETURNED))
        except OutOfTime as error:
            raise BrokenContract(f"did not return within {seconds:g} seconds") from error
        except (NoVerdict, KeyboardInterrupt):
            raise
        except BaseException as error:  # SystemExit too: a sampler that leaves the program has not sampled
            raise BrokenContract(f"raised {described(error)}") from error
    for place, (old, new) in enumerate(zip(before, arguments), 1):
        if not same(old, new):
            raise BrokenContract(f"changed its argument number {place}")
    return returned


class OutOfTime(BaseException):
    """Raised in the middle of a call; not an Exception, which the code under test might catch."""


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """`OutOfTime` when the block takes longer, even where the block caught it and came to an end. Only the main
    thread can be interrupted so, only where the system has timers, and only between two steps of Python: a single
    endless operation, and a loop that catches all exceptions for ever, take as long as they take."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    rung: list[OutOfTime] = []

    def ring(*_: Any) -> None:
        rung.append(OutOfTime())
        raise rung[0]

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if rung:
            raise rung[0]


def copied(value: Any) -> Any:
    """What `same` will compare a value with. Numbers in arrays cannot change, Fractions neither."""
    if isinstance(value, list):
        return [copied(part) for part in value]
    return value.copy() if isinstance(value, np.ndarray) else copy.deepcopy(value)


def same(a: Any, b: Any) -> bool:
    """Equal, for arrays and for lists of them; functions are not looked into."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    return callable(a) or a == b


def token_ids(returned: Any) -> Text:
    """What a function returned as whole numbers, however it is packed: a list, an array, a tensor, some of them
    nested. `BrokenContract` where that is not what it is; 1.0 counts as 1, and 1.4 as nothing."""
    try:
        numbers = np.asarray(returned).reshape(-1).tolist()
        path = tuple(int(number) for number in numbers)
        if path == tuple(numbers):
            return path
    except Exception as error:  # what was returned may raise anything
        raise BrokenContract(f"returned {described(returned)}: no list of token ids") from error
    raise BrokenContract(f"returned {described(returned)}: no list of token ids")
