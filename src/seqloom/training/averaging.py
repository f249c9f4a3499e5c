"""The mean of the weights at the last few validations: often better than any of them (Vaswani et al. 2017, § 6.1)."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from seqloom.training import checkpoints
from seqloom.training.events import Average
from seqloom.training.loop import Keeper, Trainer


def average(trainer: Trainer, keeper: Keeper, folder: Path) -> Average | None:
    """Measure the mean of what `train.average` says, and keep it if that is the best of all; None if there is none.

    The checkpoints of those validations are kept for it beside the `train.keep` newest, each with its weights and what
    the optimizer remembers of them: with Adam three times the size of the weights. They go when the scores are written:
    until then they say all, so a run that is killed in here and resumed does the same again.
    """
    steps = tuple(step for step in trainer.progress.validations if checkpoints.place(folder, step).exists())
    if len(steps) < 2:
        return None
    trainer.model.load_state_dict(mean([checkpoints.place(folder, step) for step in steps]))
    evaluation = trainer.evaluate("valid")
    told = Average(trainer.progress.step, steps, evaluation.scores, trainer.better(evaluation))
    if told.best:
        keeper.best(trainer.model, evaluation)
    trainer.tell(told)
    return told


def mean(paths: Sequence[Path]) -> dict[str, Tensor]:
    """w̄ = 1/n Σ w in float64, one checkpoint in memory at a time; what is not a real number is the last one's."""
    sums: dict[str, Tensor] = {}
    weights: dict[str, Tensor] = {}
    for path in paths:
        checkpoints.check(path)
        weights = checkpoints.read_tensors(path / checkpoints.WEIGHTS, torch.device("cpu"))
        for name, tensor in weights.items():
            if tensor.is_floating_point():
                sums[name] = sums[name] + tensor if name in sums else tensor.double()
    means = {name: (total / len(paths)).to(weights[name].dtype) for name, total in sums.items()}
    return {**weights, **means}
