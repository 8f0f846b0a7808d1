"""What a head is told: the paper's ablation of its two inputs, with short trainings (`short.py`).

Without the token that was chosen behind a feature, the head cannot know which way sampling went; without the
feature it is a small language model of its own. Read next: `loss.py`.
"""

from . import short
from .short import Variant

VARIANTS = {  # from best to worst, as the paper has them
    "feature and shifted token": Variant(),
    "feature and token": Variant(token="unshifted"),
    "feature alone": Variant(token="none"),
    "shifted token alone": Variant(feature=False),
}


STUDY = short.study(
    VARIANTS,
    "Feature and shifted token draft better than feature and token of the same place, these better than the "
    "feature alone, and that better than tokens alone (EAGLE, 2401.15077, figure on the inputs).",
)
