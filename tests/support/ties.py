"""When may two float32 runs differ? Only where the plain run's decision hung on less than the noise.

A tree row and a one-token step compute the same logits in another order, so in float32 they differ
by rounding. `noise` measures by how much, on prompts of its own; `gap` says how much noise in the
logits a decision bears. A difference in text is a tie only where gap <= SAFETY * noise.
"""

import numpy as np

from eagle_min import stream
from eagle_min.config import SamplingConfig
from eagle_min.dice import SeededDice, target_draw
from eagle_min.sampling import next_token_law

SAFETY = 4  # the measured noise is the largest of a few dozen rows, others may be larger
CEILING = 1e-3  # no measured bound above this may excuse anything: logits have a scale of 10

CALIBRATION = [
    "def count_words(text):\n    words = ",
    "class Stack:\n    def __init__(self):\n",
    "Return the number of elements that ",
    "40 + 7 =",
]


class Recorder:
    """A target whose last rows can be looked at."""

    def __init__(self, target) -> None:
        self.target, self.context, self.vocab_size = target, target.context, target.vocab_size

    def start(self, *arguments):
        session = self.target.start(*arguments)
        read = session.read

        def recorded(tokens, positions, mask=None):
            features, self.rows = read(tokens, positions, mask)
            return features, self.rows

        session.read = recorded
        return session


def text_and_rows(target, prompt: list[int], drafter, **options) -> tuple[list[int], np.ndarray]:
    """The tokens of a run, and for each the logits (V,) it was chosen from."""
    recorder, tokens, rows = Recorder(target), [], []
    for cycle in stream(recorder, prompt, drafter, **options):
        path = list(cycle.path) or [-1]
        tokens += cycle.tokens
        rows += list(recorder.rows[path])[: len(cycle.tokens)]
    return tokens, np.array(rows)


def first_difference(one: list[int], other: list[int]) -> int | None:
    """Place of the first token that differs, None when the texts are the same."""
    places = [place for place, pair in enumerate(zip(one, other)) if pair[0] != pair[1]]
    return places[0] if places else None if len(one) == len(other) else min(len(one), len(other))


def noise(models, drafter, num_tokens: int = 16) -> float:
    """Largest difference between the logits of tree rows and of one-token steps over the same text."""
    largest = 0.0
    for prompt in map(models.tokenizer.prompt, CALIBRATION):
        options = {"max_new_tokens": num_tokens, "temperature": 1.0, "seed": 1}
        plain, plain_rows = text_and_rows(models.target, prompt, None, **options)
        drafted, tree_rows = text_and_rows(models.target, prompt, drafter, **options)
        place = first_difference(plain, drafted)
        shared = len(plain) if place is None else place + 1  # the rows before a difference are comparable
        largest = max(largest, float(np.abs(plain_rows[:shared] - tree_rows[:shared]).max()))
    return largest


def gap(row: np.ndarray, sampling: SamplingConfig, seed: int, position: int) -> float:
    """The largest change of each logit that surely leaves the token drawn at `position` as it is.

    Two logits swap when each moves by half their distance. A change of every logit by e moves
    a cumulated probability by at most e / (2 temperature), so a probability's distance to an edge
    counts 2 temperature times.
    """
    falling = -np.sort(-row.astype(np.float64))
    if sampling.temperature == 0:
        return (falling[0] - falling[1]) / 2
    scale, gaps = 2 * sampling.temperature, []
    kept = min(sampling.top_k or len(row), len(row))
    if kept < len(row):
        gaps.append((falling[kept - 1] - falling[kept]) / 2)
    if sampling.top_p < 1:
        before = next_token_law(row, SamplingConfig(sampling.temperature, sampling.top_k))
        cumulated = np.cumsum(-np.sort(-before))
        gaps.append(np.abs(cumulated - sampling.top_p).min() * scale)
        kept = int((cumulated < sampling.top_p).sum()) + 1
        if kept < len(row):
            gaps.append((falling[kept - 1] - falling[kept]) / 2)
    edges = np.cumsum(next_token_law(row, sampling))
    gaps.append(np.abs(edges - SeededDice(seed)._uniform(target_draw(position))).min() * scale)
    return float(min(gaps))
