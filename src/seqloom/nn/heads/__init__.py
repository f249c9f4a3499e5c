"""Heads: vectors to a prediction, each with its loss."""

from seqloom.nn.heads.crf import CRF, Chain
from seqloom.nn.heads.head import PADDING, ClassHead, Head, Loss, StepHead
from seqloom.nn.heads.per_token import LabelsPerToken, PerToken
from seqloom.nn.heads.pooled import LabelsPerSequence, PerSequence, Pooled
from seqloom.nn.heads.regression import GaussianLikelihood, SquaredError
from seqloom.nn.heads.tied import TiedLinear

__all__ = [
    "CRF", "PADDING", "Chain", "ClassHead", "GaussianLikelihood", "Head", "LabelsPerSequence", "LabelsPerToken", "Loss",
    "PerSequence", "PerToken", "Pooled", "SquaredError", "StepHead", "TiedLinear",
]  # fmt: skip
