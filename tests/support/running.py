"""Runs an experiment of the lab as its command would."""

from eagle_min.__main__ import Parser
from eagle_min.lab import runner
from eagle_min.lab.experiment import Experiment


def run_experiment(experiment: Experiment, *words: object) -> int:
    """The exit status of `EXPERIMENT WORDS`; what is wrong with the words is raised."""
    parser = Parser()
    runner.add_arguments(experiment, parser)
    return runner.run(experiment, parser.parse_args([str(word) for word in words]))
