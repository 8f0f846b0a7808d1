"""Pictures: well-formed, drawn to scale, with nothing in them that a reader could be misled by."""

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle_min.drafters.model_set import SHIPPED
from eagle_min.lab import results
from eagle_min.lab.figures.svg import Bar, bars, lines, ticks

NAME = "{http://www.w3.org/2000/svg}"
values = st.floats(0, 1e6) | st.sampled_from([0.0, 1e-9, 0.37, 5])
words = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=9)


def parts(svg: str, tag: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(svg).iter(NAME + tag))


@given(st.lists(st.tuples(words, values), min_size=1, max_size=6), words)
def test_bars_are_as_long_as_their_values(rows, title):
    svg = bars(title, [Bar(label, value) for label, value in rows])
    lengths = [float(rect.get("width")) for rect in parts(svg, "rect")]
    most = max(value for _, value in rows)
    for length, (_, value) in zip(lengths, rows, strict=True):
        assert length == pytest.approx(value / most * max(lengths) if most else 0, abs=0.1)
    shown = ["".join(part.itertext()) for part in parts(svg, "text")]
    assert shown == [title, *(part for label, value in rows for part in (label, f"{value:.2f}"))]


def test_an_interval_is_drawn_on_the_scale_of_its_bar():
    svg = bars("t", [Bar("a", 4.0, 3.0, 5.0), Bar("b", 2.0)])
    [interval], (first, second) = parts(svg, "line"), parts(svg, "rect")
    unit, zero = float(first.get("width")) / 4, float(first.get("x"))
    assert float(second.get("width")) == pytest.approx(2 * unit)
    assert [float(interval.get(end)) for end in ("x1", "x2")] == pytest.approx([zero + 3 * unit, zero + 5 * unit])


@given(st.lists(st.tuples(values, values), min_size=1, max_size=5), st.booleans())
def test_points_lie_where_the_axes_say(points, diagonal):
    svg = lines("t", {"a": points, "b": [(1.0, 2.0)]}, "x", "y", diagonal)
    most = [max(numbers) for numbers in zip(*points, (1.0, 2.0))]
    most = [max(most)] * 2 if diagonal else most
    axis = parts(svg, "polyline")[0].get("points").split()
    (left, top), (_, bottom), (right, _) = ([float(n) for n in place.split(",")] for place in axis)
    for circle, (x, y) in zip(parts(svg, "circle"), [*points, (1.0, 2.0)], strict=True):
        assert float(circle.get("cx")) == pytest.approx(left + x / most[0] * (right - left), abs=0.2)
        assert float(circle.get("cy")) == pytest.approx(bottom - y / most[1] * (bottom - top), abs=0.2)


@given(st.floats(1e-6, 1e9))
def test_ticks_are_few_round_and_reach_the_end(most):
    found = ticks(most)
    step = found[1]
    assert 3 <= len(found) <= 12 and found[0] == 0 and most - step <= found[-1] <= most * 1.001
    mantissa = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(mantissa - round_one) for round_one in (1, 2, 5, 10)) < 1e-6


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_what_cannot_be_drawn_is_refused(value):
    for draw in (lambda v: bars("t", v), lambda v: lines("t", {"a": [(x.value, 0.5) for x in v]}, "x", "y")):
        for rows in ([Bar("a", value)], []):
            with pytest.raises(ValueError, match="values of a chart must be at least one, finite and not below 0"):
                draw(rows)


def test_every_class_has_a_style_on_light_and_on_dark_pages():
    chart = lines("t", {str(i): [(1.0, 1.0 + i)] for i in range(7)}, "x", "y", True) + bars("t", [Bar("a", 1, 0, 2)])
    used = {name for names in re.findall(r'class="([^"]*)"', chart) for name in names.split()}
    light, dark = re.search(r"<style>(.*)@media[^{]*{(.*)</style>", chart, re.DOTALL).groups()
    for style in (light, dark):
        assert used - {"title"} <= set(re.findall(r"\.(\w+) {", style))


def test_the_shipped_pictures_are_those_of_the_stored_rows():
    assert results.stale_pictures(SHIPPED / "results") == []
    drawn = set(results.drawn(SHIPPED / "results"))
    assert drawn >= {"tau.svg", "faster.svg", "alpha.svg", *(f"{name}.svg" for name in results.CLAIMS)}
    assert drawn == {path.name for path in (SHIPPED / "results").glob("*.svg")}
    page = (SHIPPED / "results" / "README.md").read_text(encoding="utf-8")
    assert all(f'src="{name}"' in page for name in drawn)


def test_a_missing_field_is_one_line(tmp_path):
    (tmp_path / "compare.json").write_text('[{"domain": "code"}]')
    with pytest.raises(ValueError, match="rows for a picture are not complete"):
        results.drawn(tmp_path)
