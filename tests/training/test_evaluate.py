"""Bits per byte, sums and the yardsticks against their definitions, computed slowly."""

import copy
import functools
import lzma
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from networks import CONFIG, random_head, random_target, slow_head, slow_target, weights

from eagle_min.config import ModelConfig
from eagle_min.tokenizer import Tokenizer
from eagle_min.train.evaluate import bits_per_byte, first_choices, sum_accuracy, windows
from eagle_min.train.ngram import NGram, lzma_bits_per_byte, pack

BYTES = Tokenizer([bytes([byte]) for byte in range(256)])  # a token is a byte, END is 256
CONTEXT = 12
DOCUMENTS = [("a", "def f(x):\n    return x + 1\n"), ("b", "é sums"), ("c", "x"), ("d", "1 + 2 = 3\n4")]


@functools.cache
def small_target():
    shape = ModelConfig(vocab_size=257, width=8, num_layers=1, num_heads=2, hidden=8, context=CONTEXT)
    return random_target(3, shape)


def slow_bits(documents, start_of, places=None) -> float:
    """Bits of the tokens at `places`, by default all behind the first; the window of the token at
    i starts at start_of(i)."""
    stream = [256]
    for _, text in documents:
        stream += [*text.encode(), 256]
    total = 0.0
    for i in places or range(1, len(stream)):
        logits = slow_target(small_target(), stream[start_of(i) : i])[1][-1]
        total += np.log(np.exp(logits - logits.max()).sum()) + logits.max() - logits[stream[i]]
    return total / math.log(2)


def window_of(i: int) -> int:
    """The first window, half a context after another, that reads the token before i."""
    half = CONTEXT // 2
    return 0 if i <= CONTEXT else math.ceil((i - CONTEXT) / half) * half


def test_bits_per_byte_is_the_slow_sum_over_windows_half_a_context_apart() -> None:
    num_bytes = sum(len(text.encode()) for _, text in DOCUMENTS)
    wanted = slow_bits(DOCUMENTS, window_of) / num_bytes
    assert bits_per_byte(small_target(), DOCUMENTS, BYTES) == pytest.approx(wanted, rel=1e-5)


def test_a_text_that_fits_into_one_window_is_scored_with_all_its_context() -> None:
    document = [("a", "x = 1\n")]
    wanted = slow_bits(document, lambda i: 0) / 6
    assert bits_per_byte(small_target(), document, BYTES) == pytest.approx(wanted, rel=1e-5)


def test_a_target_that_knows_nothing_needs_log_v_bits_a_token() -> None:
    target = copy.deepcopy(small_target())
    with torch.no_grad():
        target.lm_head.weight.zero_()
    text = "ab" * 20
    assert bits_per_byte(target, [("a", text)], BYTES) == pytest.approx(math.log2(257) * 41 / 40, rel=1e-6)


def test_fewer_tokens_are_taken_from_all_over_the_text() -> None:
    documents = [("a", "abcdefgh" * 15)]  # 121 tokens to score: 1 to 12 in the first window, 121 in the last
    wanted = slow_bits(documents, window_of, [*range(1, 13), 121]) / 12  # the last is END, no byte
    assert bits_per_byte(small_target(), documents, BYTES, max_tokens=CONTEXT) == pytest.approx(wanted, rel=1e-5)
    first = slow_bits(documents, window_of, range(1, 13)) / 12  # bytes are those of the scored tokens
    assert bits_per_byte(small_target(), documents, BYTES, max_tokens=1) == pytest.approx(first, rel=1e-5)
    everything = slow_bits(documents, window_of) / 120
    assert bits_per_byte(small_target(), documents, BYTES, max_tokens=10**6) == pytest.approx(everything, rel=1e-5)


@given(st.integers(2, 200), st.integers(1, 30))
def test_each_token_is_scored_once_and_behind_half_a_context(num_tokens: int, context: int) -> None:
    spans = windows(num_tokens, context)
    assert [place for _, scored, end in spans for place in range(scored, end)] == list(range(num_tokens - 1))
    for start, scored, end in spans:
        assert 0 < end - start <= context
        assert start == 0 or scored - start >= context // 2


@pytest.mark.parametrize("max_tokens", [0, -1])
def test_bits_per_byte_refuses_nothing_to_measure(max_tokens: int) -> None:
    with pytest.raises(ValueError, match="max_tokens must be at least 1"):
        bits_per_byte(small_target(), DOCUMENTS, BYTES, max_tokens)
    with pytest.raises(ValueError, match="number of documents must be at least 1, got 0"):
        bits_per_byte(small_target(), [], BYTES)
    with pytest.raises(ValueError, match="bytes of text must be at least 1, got 0"):
        bits_per_byte(small_target(), [("empty", "")], BYTES)


class Book:
    """A target that continues `a + b =` with what stands in a book, whatever is right."""

    def __init__(self, book: dict[str, str]) -> None:
        self.book = book
        self.lm_head = torch.nn.Linear(1, 257, bias=False)

    def __call__(self, ids: torch.Tensor, positions: torch.Tensor) -> tuple[None, torch.Tensor]:
        logits = torch.zeros(*ids.shape, 257)
        for row, line in enumerate(ids.tolist()):
            for place in range(len(line)):
                logits[row, place, self.next_token(line[: place + 1])] = 1
        return None, logits

    def next_token(self, ids: list[int]) -> int:
        assert ids[0] == BYTES.end_id
        text = bytes(token for token in ids if token < 256).decode()
        for question, answer in self.book.items():
            whole = question + answer
            if text.startswith(question) and whole.startswith(text) and whole != text:
                return ord(whole[len(text)])
        return BYTES.end_id


ANSWERS = {  # question -> (continuation, whether it counts)
    "1 + 2 =": (" 3\n", True),
    "4 + 8 =": (" 12", True),  # END behind it
    "4 + 9 =": (" 14\n", False),
    "7 + 7 =": (" 140\n", False),  # goes on behind the right digits
    "8 + 9 =": ("17\n", False),  # no space
    "50 + 50 =": (" 10", False),  # ends early
    "60 + 50 =": (" 110\n", True),
    "9 + 9 =": (" 18 \n", False),
}


@given(st.lists(st.sampled_from(sorted(ANSWERS)), min_size=1, max_size=8))
def test_a_sum_is_right_when_the_answer_and_then_its_end_are_the_greedy_text(questions: list[str]) -> None:
    book = Book({question: answer for question, (answer, _) in ANSWERS.items()})
    lines = [("sum", f"{q} {sum(int(word) for word in q.split() if word.isdigit())}") for q in questions]
    wanted = sum(ANSWERS[question][1] for question in questions) / len(questions)
    assert sum_accuracy(book, BYTES, lines) == pytest.approx(wanted)


def test_a_limit_takes_sums_from_all_over_the_list() -> None:
    lines = [("sum", "1 + 2 = 3"), *[("sum", "4 + 9 = 13")] * 3, ("sum", "60 + 50 = 110")]
    book = Book({question: answer for question, (answer, _) in ANSWERS.items()})
    assert sum_accuracy(book, BYTES, lines, limit=2) == 1
    assert sum_accuracy(book, BYTES, lines, limit=50) == pytest.approx(2 / 5)
    with pytest.raises(ValueError, match="number of sums"):
        sum_accuracy(book, BYTES, [])
    with pytest.raises(ValueError, match="a sum must be a \\+ b = c, got 'x'"):
        sum_accuracy(book, BYTES, [("sum", "x")])


@given(st.integers(0, 2), st.lists(st.integers(0, CONFIG.vocab_size - 1), min_size=3, max_size=9))
def test_the_heads_first_choice_is_compared_with_the_targets_of_the_token_after_next(seed, ids):
    features, logits = slow_target(random_target(seed), ids)
    table, lm_head = (weights(random_target(seed))[f"{name}.weight"] for name in ("embed", "lm_head"))
    sure, same = first_choices(random_target(seed), random_head(seed), ids)
    assert len(sure) == len(same) == len(ids) - 2
    for place in range(1, len(ids) - 1):  # the target has read this token, the head only its embedding
        guess = slow_head(random_head(seed), features[:place], table[ids[1 : place + 1]])[-1]
        assert same[place - 1] == (np.argmax(lm_head @ guess) == np.argmax(logits[place]))
        law = np.exp(logits[place] - logits[place].max())
        assert sure[place - 1].item() == pytest.approx(1 / law.sum(), rel=1e-9)


def witten_bell(stream: list[int], history: tuple[int, ...], token: int, vocab_size: int) -> Fraction:
    """The formula of the module's docstring, with dictionaries and fractions."""
    lower = witten_bell(stream, history[1:], token, vocab_size) if history else Fraction(1, vocab_size)
    size = len(history)
    followers = Counter(stream[i + size] for i in range(len(stream) - size) if tuple(stream[i : i + size]) == history)
    if not followers:
        return lower
    return (followers[token] + len(followers) * lower) / (sum(followers.values()) + len(followers))


streams = st.lists(st.sampled_from([0, 1, 2, 1023]), min_size=5, max_size=25)


@given(streams, st.lists(st.sampled_from([0, 1, 2, 3, 1023]), min_size=2, max_size=8), st.integers(1, 5))
def test_the_ngram_model_is_witten_and_bells_formula(train: list[int], held_out: list[int], order: int) -> None:
    got = NGram(np.array(train, dtype=np.uint16), order).probabilities(np.array(held_out, dtype=np.uint16))
    wanted = [
        witten_bell(train, tuple(held_out[max(0, i - order + 1) : i]), held_out[i], 1024)
        for i in range(1, len(held_out))
    ]
    assert got == pytest.approx([float(p) for p in wanted], rel=1e-12)
    bits = NGram(np.array(train), order).bits(np.array(held_out))
    assert bits == pytest.approx(-sum(math.log2(p) for p in wanted))


@given(st.lists(st.integers(0, 4), min_size=5, max_size=40), st.lists(st.integers(0, 4), min_size=1, max_size=6))
def test_ngram_probabilities_sum_to_one_over_the_vocabulary(train: list[int], history: list[int]) -> None:
    model = NGram(np.array(train), order=5, vocab_size=5)
    shares = [model.probabilities(np.array([*history, token]))[-1] for token in range(5)]
    assert sum(shares) == pytest.approx(1, rel=1e-12)
    assert min(shares) > 0


def test_a_key_holds_its_ids_in_order() -> None:
    keys = pack(np.array([1023, 1, 2, 3, 4, 5], dtype=np.uint16), 5)
    assert [[int(key) >> 10 * place & 1023 for place in (4, 3, 2, 1, 0)] for key in keys] == [
        [1023, 1, 2, 3, 4],
        [1, 2, 3, 4, 5],
    ]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: NGram(np.arange(9), order=7), "order must be between 1 and 6, got 7"),
        (lambda: NGram(np.arange(3), order=5), "length of the training stream must be at least the order, 5, got 3"),
        (lambda: NGram(np.array([1, 2, 1024]), order=2), "token id must be below 1024, got 1024"),
        (lambda: NGram(np.array([1, -2, 3]), order=2), "token id must be at least 0, got -2"),
        (lambda: NGram(np.arange(3), order=2, vocab_size=2000), "vocab_size must be between 1 and 1024, got 2000"),
        (lambda: NGram(np.arange(3), order=2).bits(np.array([1])), "length of the stream must be at least 2, got 1"),
        (lambda: lzma_bits_per_byte([("a", "")]), "bytes of text must be at least 1, got 0"),
    ],
)
def test_the_yardsticks_refuse_what_they_cannot_measure(build, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        build()
    assert str(caught.value) == message


def test_lzma_reads_the_documents_end_to_end() -> None:
    documents = [("a", "line of text é\n" * 50), ("b", "line of text é\n" * 50)]
    text = "".join(text for _, text in documents)
    packed = lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)
    assert lzma_bits_per_byte(documents) == 8 * len(packed) / len(text.encode())
    assert lzma_bits_per_byte(documents) < 1.5 * lzma_bits_per_byte(documents[:1])
