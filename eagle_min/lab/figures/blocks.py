"""Pages with generated parts: a part stands between two markers, and whatever is there is replaced.

    <!-- results:begin compare -->
    <!-- results:end compare -->

The name says which stored figures the part shows; `../results.py` knows them all. Here a page is text with named
parts, nothing more. Read next: `../options.py`.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from ...config import require
from ..record import Row, write_text

MARKER = re.compile(r"<!-- results:(begin|end) ([\w.-]+) -->")
BLOCK = re.compile(r"(<!-- results:begin ([\w.-]+) -->\n)(.*?)(<!-- results:end \2 -->)", re.DOTALL)


def find_blocks(page: Path) -> dict[str, str]:
    """What stands between the markers of each name. ValueError unless the page is there and its markers pair up."""
    require(page.is_file(), "README", str(page), "an existing file")
    text = page.read_text(encoding="utf-8")
    blocks = {found[2]: found[3] for found in BLOCK.finditer(text)}
    wanted = [(kind, name) for name in blocks for kind in ("begin", "end")]
    markers = MARKER.findall(text)
    require(markers == wanted, "markers in the README", markers, "begin NAME, end NAME, each name once")
    require(bool(blocks), f"markers in {page.name}", sorted(blocks), "one pair at least")
    return blocks


def replace_blocks(page: Path, blocks: Mapping[str, str]) -> None:
    """Put these texts between the markers of their names; the rest of the page stays."""
    text = page.read_text(encoding="utf-8")
    write_text(page, BLOCK.sub(lambda found: found[1] + blocks.get(found[2], found[3]) + found[4], text))


def origin(row: Row) -> str:
    """One line: command, and of commit, machine and day what the row knows."""
    known = [f"commit {row['commit'][:12]}"] if "commit" in row else []
    known += [row[key] for key in ("machine", "date") if key in row]
    return ", ".join([f"`{row['command']}`", *known])
