"""One experiment: everything that decides how a run ends, in one frozen value."""

from seqloom.spec.config.experiment import Experiment as Experiment
