"""Faults of whole decoders that show only where filters meet, two stop tokens are given, nothing is drafted or a tree
has a node below one of two siblings: the worlds that `certify` tries must hold such places."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest
from samplers import processed, softmax

from eagle_min.config import SamplingConfig
from eagle_min.exactness import certify
from eagle_min.exactness.judge.report import report


def by_nodes(tokens: Sequence[int], parents: Sequence[int]) -> list[int]:
    """The row of each node: its own."""
    return list(range(len(tokens)))


def decoder(
    model,
    drafter,
    prompt,
    max_new_tokens,
    stop,
    sampling,
    *,
    law: Callable = processed,
    stops: Callable = set,
    rows: Callable = by_nodes,
    nothing_drafted: Callable = processed,
) -> list[int]:
    """The match walk over the rows of a tree. `law` makes a law of logits and a sampling, `nothing_drafted` where the
    tree is a root alone and was not before; `rows` says which row of the tree a node is judged by; `stops` which
    tokens end a text."""
    text, drafted = list(prompt), False
    while True:
        tokens, parents, _ = drafter(text)
        paths: list[list[int]] = [[]]
        for node in range(1, len(tokens)):
            paths.append([*paths[parents[node]], int(tokens[node])])
        logits = np.array([model([*text, *path])[-1] for path in paths])
        of, node, make = rows(tokens, parents), 0, nothing_drafted if drafted and len(tokens) == 1 else law
        drafted = drafted or len(tokens) > 1
        while node is not None:
            chances = make(logits[of[node]], sampling)
            text.append(int(np.random.choice(len(chances), p=chances)))
            if text[-1] in stops(stop) or len(text) == len(prompt) + max_new_tokens:
                return text[len(prompt) :]
            found = [n for n in range(len(tokens)) if parents[n] == node and tokens[n] == text[-1]]
            node = found[0] if found else None


def either_filter(row, sampling):
    """Where there is a top_k, top_p is forgotten."""
    return processed(row, SamplingConfig(sampling.temperature, sampling.top_k) if sampling.top_k else sampling)


def never_flatter(row, sampling):
    """A temperature above 1 counts as 1."""
    return processed(row, SamplingConfig(min(1.0, sampling.temperature), sampling.top_k, sampling.top_p))


def nucleus_first(row, sampling):
    """top_p is taken at temperature 1."""
    kept = processed(row, SamplingConfig(1.0, None, sampling.top_p)) > 0
    return processed(np.where(kept, row, -np.inf), SamplingConfig(sampling.temperature, sampling.top_k))


def greedy(row, sampling):
    return (np.arange(len(row)) == softmax(row).argmax()).astype(float)


def by_rank(tokens, parents):
    """Rows counted from the parent's on, which is right for chains and for children of the root."""
    found = [0]
    for node in range(1, len(tokens)):
        found.append(found[parents[node]] + 1 + list(parents[:node]).count(parents[node]))
    return found


WRONG = {
    "top_k switches top_p off": {"law": either_filter},
    "temperatures above 1 count as 1": {"law": never_flatter},
    "top_p before temperature": {"law": nucleus_first},
    "one stop token": {"stops": lambda stop: set(sorted(stop)[:1])},
    "greedy where nothing is drafted": {"nothing_drafted": greedy},
    "rows by rank": {"rows": by_rank},
}


QUICK = ("one stop token", "greedy where nothing is drafted")  # the others in the ci tier


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.ci]) for name in WRONG]
)
def test_a_decoder_with_a_fault_that_shows_in_few_places_is_refuted(name):
    verdict = certify(partial(decoder, **WRONG[name]), "loop")
    assert verdict.status == "refuted" and verdict.counterexample.broken is None, report(verdict)


def test_without_its_fault_it_is_exact():
    assert certify(decoder, "loop", num_worlds=15).status == "exact"
