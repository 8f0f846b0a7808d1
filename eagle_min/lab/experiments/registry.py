"""All experiments by name, in the order in which `lab` lists them. Read next: `../results.py`."""

from ..experiment import Experiment
from . import bench, choose, compare, precision, rates, rules, typical
from .claims import confidence, entropy, short_trainings, size, temperature, tree, useless

MEASURED = (compare, bench, rules, typical, precision, choose, rates)
ABOUT_CLAIMS = (confidence, entropy, size, temperature, useless, tree)
DECLARED = (*(module.EXPERIMENT for module in MEASURED + ABOUT_CLAIMS), short_trainings.INPUTS, short_trainings.LOSS)
EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in DECLARED}
