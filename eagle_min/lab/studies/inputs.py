"""What a head is told: the paper's ablation of its two inputs, with short trainings (`short.py`).

Without the token that was chosen behind a feature, the head cannot know which way sampling went; without the
feature it is a small language model of its own. Read next: `loss.py`.
"""

from collections.abc import Iterator

from ..record import Row
from . import short
from .setting import Setting, Study, ranked
from .short import Variant

VARIANTS = {  # from best to worst, as the paper has them
    "feature and shifted token": Variant(),
    "feature and token": Variant(token="unshifted"),
    "feature alone": Variant(token="none"),
    "shifted token alone": Variant(feature=False),
}


def rows(setting: Setting) -> Iterator[Row]:
    """A row for each variant."""
    return short.rows(setting, VARIANTS)


STUDY = Study(
    claim="Feature and shifted token draft better than feature and token of the same place, these better than the "
    "feature alone, and that better than tokens alone (EAGLE, 2401.15077, figure on the inputs).",
    sizes={"tokens": 400_000, "prefixes": 500},
    columns=short.COLUMNS,
    rows=rows,
    verdict=ranked,
    picture=short.picture,
    trains=True,
)
