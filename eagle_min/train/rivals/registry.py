"""The networks of EAGLE's rivals, and how each of them is trained: a row for each.

Read next: `eagle3.py`.
"""

from ..network import Training
from . import eagle3, medusa, mtp, small_model

RIVALS = {  # by the kind of network, which is also the name of the command and of the file
    "eagle3": Training(eagle3.new_eagle3, eagle3.eagle3_loss, eagle3.layers_of, eagle3.card_fields),
    "small_model": Training(small_model.new_small_model, small_model.small_model_loss),
    "medusa": Training(medusa.new_medusa, medusa.medusa_loss, card_fields=medusa.choose_paths),
    "mtp": Training(mtp.new_mtp, mtp.mtp_loss, card_fields=mtp.card_fields),
}
