"""Byte pairs: every string comes back, special names are plain text, merges as the textbook says."""

import base64
import re
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from networks import shipped
from strategies import fewer

from eagle_min.tokenizer import END, PATTERN, Tokenizer, learn_vocabulary, load_tokenizer, merge, save_vocabulary

BYTES = [bytes([byte]) for byte in range(256)]
BYTES_ONLY = Tokenizer(BYTES)
texts = st.text() | st.text("ab \n\t01_.é😀" + END, max_size=30)
corpora = st.lists(st.text("aab b\n1_.é", max_size=12), max_size=6)


@given(texts)
def test_every_string_comes_back(text):
    for tokenizer in (shipped().tokenizer, BYTES_ONLY):
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
        assert all(0 <= token < tokenizer.end_id for token in ids)
        assert tokenizer.decode_bytes(ids) == text.encode()


@given(texts)
def test_tokens_are_the_bytes_of_the_text_cut_up(text):
    tokenizer = shipped().tokenizer
    pieces = [tokenizer.decode_bytes([token]) for token in tokenizer.encode(text)]
    assert b"".join(pieces) == text.encode() and all(pieces)
    assert all(tokenizer.vocabulary[token] == piece for token, piece in zip(tokenizer.encode(text), pieces))


@given(st.lists(st.deferred(lambda: st.integers(0, shipped().tokenizer.vocab_size - 1))))
def test_every_list_of_ids_has_a_text(ids):
    """Also where a character is cut in two, and END has no bytes."""
    tokenizer = shipped().tokenizer
    whole = b"".join(tokenizer.vocabulary[token] for token in ids if token != tokenizer.end_id)
    assert tokenizer.decode_bytes(ids) == whole
    assert tokenizer.decode(ids) == whole.decode(errors="replace")


def test_bytes_alone_are_a_vocabulary():
    assert BYTES_ONLY.encode("né") == list("né".encode())
    assert BYTES_ONLY.vocab_size == 257 and BYTES_ONLY.end_id == 256


@pytest.mark.parametrize("text", [END, "<|endoftext|>", f"a{END}b", "<s>[INST]</s>"])
def test_names_of_special_tokens_are_plain_text(text):
    tokenizer = shipped().tokenizer
    assert tokenizer.end_id not in tokenizer.encode(text)
    assert tokenizer.prompt(text)[0] == tokenizer.end_id
    assert tokenizer.prompt(text)[1:] == tokenizer.encode(text)
    assert tokenizer.decode(tokenizer.prompt(text)) == text


def test_a_lone_surrogate_becomes_the_replacement_character():
    """It has no UTF-8; everything around it is kept."""
    assert shipped().tokenizer.decode(shipped().tokenizer.encode("a\ud800b")) == "a\ufffdb"


def test_an_unknown_id_is_an_error():
    with pytest.raises(KeyError):
        shipped().tokenizer.decode([shipped().tokenizer.vocab_size])


def slow_merges(corpus: list[str], vocab_size: int) -> tuple[list[bytes], list[list[bytes]]]:
    """Byte-pair merging from the definition: count all pairs anew for every merge.

    Returns the vocabulary and the words of the corpus as they end up.
    """
    words = [[bytes([byte]) for byte in word.encode()] for text in corpus for word in re.findall(PATTERN, text)]
    vocabulary = list(BYTES)
    while len(vocabulary) < vocab_size - 1:
        counts = Counter(pair for word in words for pair in zip(word, word[1:]))
        if not counts:
            break
        rank = {piece: number for number, piece in enumerate(vocabulary)}
        best = min(counts, key=lambda pair: (-counts[pair], rank[pair[0]], rank[pair[1]]))
        for word in words:
            place = 0
            while place < len(word) - 1:
                if (word[place], word[place + 1]) == best:
                    word[place : place + 2] = [best[0] + best[1]]
                place += 1
        vocabulary.append(best[0] + best[1])
    return vocabulary, words


@given(corpora, st.integers(257, 275))
def test_learned_merges_equal_the_slow_ones(corpus, vocab_size):
    vocabulary = learn_vocabulary(corpus, vocab_size)
    wanted, _ = slow_merges(corpus, vocab_size)
    assert vocabulary == wanted
    assert len(set(vocabulary)) == len(vocabulary) < vocab_size


@given(corpora, st.integers(257, 275))
def test_encoding_repeats_the_merges_of_learning(corpus, vocab_size):
    """tiktoken, given only the ranks, cuts the corpus exactly as learning did."""
    vocabulary, words = slow_merges(corpus, vocab_size)
    tokenizer = Tokenizer(vocabulary)
    encoded = [tokenizer.encode(word) for text in corpus for word in re.findall(PATTERN, text)]
    assert [[vocabulary[token] for token in ids] for ids in encoded] == words


@given(st.lists(st.integers(0, 3)), st.integers(0, 3), st.integers(0, 3))
@example([1, 1, 1], 1, 1)  # joined from the right, the last two would be one
def test_merge_joins_from_the_left(ids, left, right):
    letters = "".join("abcd"[token] for token in ids)
    pair = "abcd"[left] + "abcd"[right]
    assert "".join("abcde"[token] for token in merge(ids, (left, right), 4)) == letters.replace(pair, "e")


def test_a_digit_is_a_token_and_no_token_crosses_words():
    tokenizer = shipped().tokenizer
    assert len(tokenizer.encode("2026")) == 4
    for piece in tokenizer.vocabulary[256:]:
        assert not re.search(rb"[0-9]|.\n|[A-Za-z_] |[^ A-Za-z_][A-Za-z_]|[A-Za-z_][^A-Za-z_]", piece), piece


@fewer(3)
@given(corpora)
def test_vocabulary_survives_its_file(tmp_path_factory, corpus):
    path = tmp_path_factory.mktemp("ranks") / "tokenizer.ranks"
    vocabulary = learn_vocabulary(corpus, 265)
    save_vocabulary(vocabulary, path)
    assert load_tokenizer(path).vocabulary == vocabulary


GOOD = [f"{base64.b64encode(piece).decode()} {rank}" for rank, piece in enumerate([*BYTES, b"ab", b"abc"])]


@pytest.mark.parametrize(
    "lines",
    [
        [],
        GOOD[1:],  # a rank is missing, and with it a byte
        [*GOOD[:256], GOOD[257]],  # a rank is missing in the middle
        [*GOOD, GOOD[-1]],  # twice the same
        [*GOOD[:97], "YWI= 97", *GOOD[98:256], "YQ== 257"],  # ranks with a hole
        [*GOOD[:-1], "YWJj nonsense"],
        [*GOOD[:-1], "YWJj"],
        [*GOOD[:-1], "!!!! 257"],
        [*GOOD[:-1], "é 257"],
        ["{}"],
    ],
)
def test_bad_rank_files_are_refused(tmp_path, lines):
    path = tmp_path / "tokenizer.ranks"
    path.write_text("\n".join(GOOD) + "\n")
    assert load_tokenizer(path).vocab_size == 259
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match="is not a file of token ranks") as error:
        load_tokenizer(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_a_missing_rank_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="tokenizer.ranks"):
        load_tokenizer(tmp_path / "tokenizer.ranks")
