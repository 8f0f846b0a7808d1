"""What the tests compare with: slow, plain, and independent of the package.

Nothing here imports eagle_min. Histories and sequences are tuples of token ids; a `conditional`
maps a history to the law (list or array of numbers) of the next token.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

History = tuple[int, ...]
Conditional = Callable[[History], Sequence]


# --- trees -------------------------------------------------------------------------------------


def ancestors(parents: Sequence[int], node: int) -> set[int]:
    """The nodes met on the way up from `node`, itself left out."""
    return set() if parents[node] < 0 else {parents[node]} | ancestors(parents, parents[node])


def token_path(tokens: Sequence[int], parents: Sequence[int], node: int) -> History:
    """Tokens from below the root to `node`; () for the root."""
    return () if node == 0 else (*token_path(tokens, parents, parents[node]), tokens[node])


def rank_paths(parents: Sequence[int]) -> list[str]:
    """Each node as its path of child ranks: "" the root, "01" the second child of the first child."""
    names = [""]
    for node in range(1, len(parents)):
        elder = sum(parents[other] == parents[node] for other in range(1, node))
        names.append(names[parents[node]] + str(elder))
    return names


# --- sampling ----------------------------------------------------------------------------------


def falling(values: Sequence) -> list[int]:
    """Indices by falling value, equals by rising index."""
    return sorted(range(len(values)), key=lambda index: (-values[index], index))


def filtered_law(weights: Sequence, top_k: int | None, top_p: float | Fraction) -> list:
    """Normalise, keep the top_k, normalise, keep the shortest run that reaches top_p, normalise."""

    def restrict(law: list, kept: Sequence[int]) -> list:
        total = sum(law[token] for token in kept)
        return [law[token] / total if token in kept else law[token] * 0 for token in range(len(law))]

    law = restrict(list(weights), range(len(weights)))
    law = restrict(law, falling(law)[: top_k or len(law)])
    if top_p == 1:
        return law
    kept: list[int] = []
    for token in falling(law):
        if sum(law[other] for other in kept) < top_p:
            kept.append(token)
    return restrict(law, kept)


def softmax(logits: Sequence[float], temperature: float) -> list[float]:
    """The textbook formula, shifted so that nothing overflows."""
    peak = max(logits)
    weights = [math.exp((logit - peak) / temperature) for logit in logits]
    return [weight / sum(weights) for weight in weights]


# --- laws of sequences ---------------------------------------------------------------------------


def sequence_law(conditional: Conditional, history: History, length: int) -> dict[History, Fraction]:
    """The law of the next `length` tokens: a product of conditionals. Zero entries are left out."""
    result = {}
    for sequence in product(range(len(conditional(history))), repeat=length):
        probability = Fraction(1)
        for place, token in enumerate(sequence):
            probability *= conditional(history + sequence[:place])[token]
        if probability:
            result[sequence] = probability
    return result


def first_tokens_law(
    emitted: dict[History, Fraction], conditional: Conditional, history: History, length: int
) -> dict[History, Fraction]:
    """From the law of what a cycle emits to the law of the first `length` tokens.

    Longer emissions are cut; shorter ones go on with draws from `conditional`.
    """
    result: dict[History, Fraction] = {}
    for tokens, probability in emitted.items():
        head = tokens[:length]
        for rest, share in sequence_law(conditional, history + head, length - len(head)).items():
            result[head + rest] = result.get(head + rest, 0) + probability * share
    return result


def greedy_path(tree_children: dict[History, set[int]], conditional: Conditional, history: History) -> History:
    """Follow the first maximum from the root while a child carries it; the last token is the bonus."""
    path: History = ()
    while True:
        law = list(conditional(history + path))
        best = law.index(max(law))
        if best not in tree_children.get(path, set()):
            return (*path, best)
        path += (best,)


# --- growing -------------------------------------------------------------------------------------


def candidate_pool(
    log_draft: Callable[[History], Sequence[float]], top_k: int, depth: int
) -> list[tuple[History, float]]:
    """EAGLE-2's candidates as (path, value), level by level, by sorting everything in full."""
    pool: list[tuple[History, float]] = []
    beam: list[tuple[History, float]] = [((), 0.0)]
    for _ in range(depth):
        level = []
        for path, value in beam:
            row = log_draft(path)
            level += [((*path, token), value + row[token]) for token in falling(row)[:top_k] if row[token] > -math.inf]
        pool += level
        beam = [level[index] for index in falling([value for _, value in level])[:top_k]]
    return pool


def best_candidates(pool: list[tuple[History, float]], number: int) -> dict[History, float]:
    """The `number` best values of a pool, equals by place."""
    return dict(pool[index] for index in falling([value for _, value in pool])[:number])
