"""Charts as SVG text: bars with intervals, and lines over numbers. Readable on light and on dark pages.

    bars("tau", [Bar("eagle2", 4.7, 4.6, 4.9)])                       a bar each, on a scale from 0 to the largest
    lines("calibration", {"T=0": [(0.1, 0.12)]}, "confidence", "accepted", diagonal=True)

Colours are those of the page that shows them: a style sheet inside asks whether it is dark. Nothing here
knows what it draws. Read next: `comparison.py`.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LEFT, RIGHT, TOP = 720, 190, 90, 44
ROW = 24  # height of a bar and the gap below it
PLOT_HEIGHT, PLOT_LEFT = 300, 60
TICKS = 5  # about so many on an axis
STYLE = """<style>
text { font: 13px sans-serif; fill: #24292f } .title { font-weight: bold } .quiet { fill: #57606a }
.axis { stroke: #8c959f; fill: none } .grid { stroke: #d0d7de } .interval { stroke: #24292f; stroke-width: 1.5 }
.s0 { fill: #0969da; stroke: #0969da } .s1 { fill: #bc4c00; stroke: #bc4c00 } .s2 { fill: #1a7f37; stroke: #1a7f37 }
.s3 { fill: #8250df; stroke: #8250df } .s4 { fill: #bf3989; stroke: #bf3989 } .line { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .quiet { fill: #9198a1 } .axis { stroke: #656c76 } .grid { stroke: #3d444d }
.interval { stroke: #e6edf3 } .s0 { fill: #4493f8; stroke: #4493f8 } .s1 { fill: #f0883e; stroke: #f0883e }
.s2 { fill: #3fb950; stroke: #3fb950 } .s3 { fill: #ab7df8; stroke: #ab7df8 } .s4 { fill: #db61a2; stroke: #db61a2 }
.line { fill: none } }
</style>"""
NUM_COLOURS = 5
Point = tuple[float, float]


@dataclass(frozen=True)
class Bar:
    """A value, and the interval it is known to lie in, if any."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    colour: int = 0


def bars(title: str, rows: Sequence[Bar]) -> str:
    """A horizontal bar for each row. ValueError when there are none, or for a value below 0 or not finite."""
    values = [value for row in rows for value in (row.value, row.high) if value is not None]
    check(values)
    scale = (WIDTH - LEFT - RIGHT) / (max(values) or 1.0)
    body = []
    for place, row in enumerate(rows):
        y, length = TOP + place * ROW, row.value * scale
        body.append(text(LEFT - 8, y + 13, row.label, anchor="end"))
        body.append(f'<rect class="s{row.colour % NUM_COLOURS}" x="{LEFT}" y="{y}" width="{length:.1f}" height="17"/>')
        if row.low is not None and row.high is not None:
            ends = f'x1="{LEFT + row.low * scale:.1f}" x2="{LEFT + row.high * scale:.1f}"'
            body.append(f'<line class="interval" {ends} y1="{y + 8.5}" y2="{y + 8.5}"/>')
        end = LEFT + max(length, (row.high or 0) * scale)
        body.append(text(end + 6, y + 13, f"{row.value:.2f}", "quiet"))
    return page(title, TOP + len(rows) * ROW + 8, body)


def lines(title: str, series: dict[str, Sequence[Point]], x_label: str, y_label: str, diagonal: bool = False) -> str:
    """A line with dots for each series, its name in its colour; `diagonal` draws where x equals y. Both axes begin
    at 0. ValueError when there are no points, or for a coordinate below 0 or not finite."""
    points = [point for line in series.values() for point in line]
    check([value for point in points for value in point])
    most_x, most_y = (max(values) or 1.0 for values in zip(*points))
    if diagonal:
        most_x = most_y = max(most_x, most_y)
    right, bottom = WIDTH - 180, TOP + PLOT_HEIGHT

    def place(x: float, y: float) -> Point:
        return round(PLOT_LEFT + x / most_x * (right - PLOT_LEFT), 1), round(bottom - y / most_y * PLOT_HEIGHT, 1)

    body = []
    for tick in ticks(most_x):
        x, _ = place(tick, 0)
        body.append(text(x, bottom + 18, f"{tick:g}", "quiet", "middle"))
    for tick in ticks(most_y):
        _, y = place(0, tick)
        body.append(f'<line class="grid" x1="{PLOT_LEFT}" x2="{right}" y1="{y}" y2="{y}"/>')
        body.append(text(PLOT_LEFT - 8, y + 4, f"{tick:g}", "quiet", "end"))
    body.append(f'<polyline class="axis" points="{path([place(0, most_y), place(0, 0), place(most_x, 0)])}"/>')
    if diagonal:
        ends = path([place(0, 0), place(most_x, most_y)])
        body.append(f'<polyline class="axis" stroke-dasharray="4" points="{ends}"/>')
    for number, (name, line) in enumerate(series.items()):
        colour = f"s{number % NUM_COLOURS}"
        places = [place(*point) for point in line]
        body.append(f'<polyline class="{colour} line" points="{path(places)}"/>')
        for x, y in places:
            body.append(f'<circle class="{colour}" cx="{x}" cy="{y}" r="3"/>')
        body.append(f'<rect class="{colour}" x="{right + 16}" y="{TOP + number * ROW}" width="12" height="12"/>')
        body.append(text(right + 34, TOP + number * ROW + 11, name))
    body.append(text((PLOT_LEFT + right) / 2, bottom + 40, x_label, anchor="middle"))
    body.append(text(PLOT_LEFT, TOP - 8, y_label, "quiet"))
    return page(title, bottom + 52, body)


def path(places: Iterable[Point]) -> str:
    """The points of a polyline."""
    return " ".join(f"{x},{y}" for x, y in places)


def check(values: Sequence[float]) -> None:
    """ValueError unless there are values, all finite and at least 0."""
    if not values or not all(math.isfinite(value) and value >= 0 for value in values):
        raise ValueError(f"values of a chart must be at least one, finite and not below 0, got {list(values)[:3]}")


def ticks(most: float) -> list[float]:
    """Round numbers from 0 to `most`, about TICKS of them: multiples of 1, 2 or 5 times a power of ten."""
    rough = most / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    return [round(i * step, 12) for i in range(int(most / step * 1.0001) + 1)]


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Words at a place; whatever they contain is shown as it is."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def page(title: str, height: float, body: Iterable[str]) -> str:
    """The whole file."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img">'
    return "\n".join([head, f"<title>{escape(title)}</title>", STYLE, text(8, 20, title, "title"), *body, "</svg>\n"])
