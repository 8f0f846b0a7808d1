"""What a person sees: accepted tokens told apart, text whole again when the marks are removed."""

import re

from hypothesis import given
from hypothesis import strategies as st

from eagle_min.decode import Cycle, Generation
from eagle_min.show import terminal as show
from eagle_min.show.generate import Printer
from eagle_min.show.terminal import Painter, RunningText, label, picture, printable, run_to_end, wants_colour
from eagle_min.tokenizer import Tokenizer
from eagle_min.tree import DraftTree

BYTES = Tokenizer([bytes([byte]) for byte in range(256)])  # token id = byte; 256 is END
ANSI = re.compile(r"\x1b\[[0-9]*m")


class Stream:
    def __init__(self, terminal: bool) -> None:
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@st.composite
def cycles_of(draw: st.DrawFn, content: bytes) -> list[Cycle]:
    """`content`, a token a byte, cut into cycles of 1 to 5 tokens with any number of them accepted."""
    cycles, start = [], 0
    while start < len(content):
        size = min(draw(st.integers(1, 5)), len(content) - start)
        tokens = tuple(content[start : start + size])
        cycles.append(Cycle(tokens, draw(st.integers(0, size)), None, (), None))
        start += size
    return cycles


def painted(cycles: list[Cycle], colour: bool) -> str:
    text = RunningText(BYTES, Painter(colour))
    return "".join(map(text.add, cycles)) + text.end()


@given(st.data(), st.text(st.characters(exclude_characters="‹›", exclude_categories=["Cs"])))
def test_without_its_marks_the_shown_text_is_the_text(data, content):
    cycles = data.draw(cycles_of(content.encode()))
    wanted = "".join(f"\\x{ord(c):02x}" if re.match(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", c) else c for c in content)
    assert re.sub("[‹›]", "", painted(cycles, colour=False)) == wanted
    assert ANSI.sub("", painted(cycles, colour=True)) == wanted


@given(st.data(), st.binary())
def test_any_bytes_can_be_shown(data, content):
    shown = painted(data.draw(cycles_of(content)), colour=True)
    plain = ANSI.sub("", shown)
    assert all(char in "\n\t" or char.isprintable() or ord(char) >= 160 for char in plain)


@given(st.lists(st.tuples(st.text("abc", max_size=4), st.sampled_from(["", "x", "y"])), max_size=6))
def test_marks_enclose_the_accepted_tokens_and_nothing_else(parts):
    parts = [(accepted, own) for accepted, own in parts if accepted + own]
    cycles = [Cycle(tuple((a + b).encode()), len(a), None, (), None) for a, b in parts]
    shown = painted(cycles, colour=False)
    assert re.findall("‹(.*?)›", shown) == [accepted for accepted, _ in parts if accepted]
    assert re.sub("‹.*?›", "", shown) == "".join(own for _, own in parts)


def test_a_cut_character_appears_when_it_is_complete():
    text = RunningText(BYTES, Painter(False))
    first, second = "é".encode()
    assert text.add(Cycle((first,), 1, None, (), None)) == ""
    assert text.add(Cycle((second,), 0, None, (), None)) == "é"
    assert text.end() == ""
    assert text.add(Cycle((first,), 0, None, (), None)) + text.end() == "�"


def test_colour_is_for_terminals_and_no_color_turns_it_off():
    assert wants_colour(Stream(True), {"TERM": "xterm"})
    assert wants_colour(Stream(True), {"NO_COLOR": ""})  # no-color.org: only a value that is not empty counts
    assert not wants_colour(Stream(True), {"NO_COLOR": "1"})
    assert not wants_colour(Stream(True), {"TERM": "dumb"})
    assert not wants_colour(Stream(False), {"TERM": "xterm"})


def test_the_legend_is_painted_like_the_text():
    for colour in (False, True):
        painter = Painter(colour)
        assert painter.accepted("accepted draft tokens") in painter.legend()
    assert "\x1b" not in Painter(False).legend()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_label_is_one_line_without_blanks(text):
    shown = label(BYTES, *text.encode())
    assert not set(shown) & set("\n\t \x1b\0")
    assert label(BYTES, *b"a \n\xff", BYTES.end_id) == "a·\\n\\xff<|end|>"


def test_a_picture_has_a_line_a_node_and_the_bonus_token():
    tree = DraftTree(tuple(b"abc"), (-1, 0, 0), (0.0, -0.5, -1.0))
    cycle = Cycle(tuple(b"bz"), 1, tree, (0, 1), None)
    lines = picture(tree, cycle, BYTES, Painter(False)).splitlines()
    assert [line.split()[:2] for line in lines[:3]] == [["●", "a"], ["├─●", "b"], ["└─○", "c"]]
    assert lines[1].endswith("0.607") and lines[2].endswith("0.368")
    assert lines[3].endswith(": z")
    ended = Cycle(tuple(b"b"), 1, tree, (0, 1), "length")  # the text ended inside the accepted run
    assert len(picture(tree, ended, BYTES, Painter(False)).splitlines()) == 3


def test_watch_sees_every_cycle_up_to_the_last():
    cycles = [Cycle((1,), 0, None, (), None), Cycle((2, 3), 1, None, (), "stop")]
    seen: list[Cycle] = []
    generation, seconds = run_to_end(iter([*cycles, "one too many"]), seen.append)
    assert seen == cycles
    assert generation == Generation([1, 2, 3], "stop", cycles)
    assert seconds >= 0


def test_the_clock_of_watch_stands_still_while_something_is_shown(monkeypatch):
    now = [0.0]

    def decoding():
        for reason in (None, "stop"):
            now[0] += 1
            yield Cycle((1,), 0, None, (), reason)

    monkeypatch.setattr(show.time, "perf_counter", lambda: now[0])
    _, seconds = run_to_end(decoding(), lambda cycle: now.__setitem__(0, now[0] + 100))
    assert seconds == 2


def test_a_printer_shows_prompt_text_and_cost(capsys):
    cycles = [Cycle((97,), 0, None, (), None), Cycle((98, 99), 1, None, (), "stop")]
    printer = Printer(BYTES, trees=False)
    printer.begin([BYTES.end_id, 62])
    for cycle in cycles:
        printer.cycle(cycle)
    printer.finish(Generation([97, 98, 99], "stop", cycles), "chain")
    out = capsys.readouterr().out
    assert ">┃a‹b›c\n" in out
    assert out.splitlines()[-1] == "chain: 3 tokens, 2 target calls, tau 2.00, ended by stop"


def test_control_characters_are_spelled_out():
    assert printable("a\x7f") == "a\\x7f"
    assert printable("a\x1b[31m\n\t\x9b\r") == "a\\x1b[31m\n\t\\x9b\\x0d"
