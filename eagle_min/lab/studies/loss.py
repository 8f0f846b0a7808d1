"""How features are learned: the distance, and the head's own guesses as input, one at a time (`short.py`).

The weight of the token loss is the paper's throughout. Squared error is halved, so that both distances are
equal where the error is below 1; the last column says how often it is not, after training.
Read next: `../bank.py`.
"""

from . import short
from .short import Variant

VARIANTS = {  # each differs in one thing from the one before, which is claimed to be better
    "smooth L1 in three steps": Variant(num_steps=3),
    "smooth L1": Variant(),
    "squared error": Variant(distance="squared error"),
}


STUDY = short.study(
    VARIANTS,
    "Heads that were shown their own guesses draft better (training-time steps, 2408.15766 and 2503.01840), "
    "and smooth L1 on features (EAGLE, 2401.15077, section 3.2) is better than the squared error that articles name.",
)
