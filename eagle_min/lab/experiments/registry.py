"""All experiments by name, in the order in which `lab` lists them. Read next: `../results.py`."""

from ..experiment import Experiment
from . import (
    bench,
    choose,
    compare,
    confidence,
    entropy,
    precision,
    rates,
    rules,
    short_trainings,
    size,
    temperature,
    tree,
    typical,
    useless,
)

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        compare.EXPERIMENT,
        bench.EXPERIMENT,
        rules.EXPERIMENT,
        typical.EXPERIMENT,
        precision.EXPERIMENT,
        choose.EXPERIMENT,
        rates.EXPERIMENT,
        confidence.EXPERIMENT,
        entropy.EXPERIMENT,
        size.EXPERIMENT,
        temperature.EXPERIMENT,
        useless.EXPERIMENT,
        tree.EXPERIMENT,
        short_trainings.INPUTS,
        short_trainings.LOSS,
    )
}
