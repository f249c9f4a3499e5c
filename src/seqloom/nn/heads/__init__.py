"""Heads: vectors to an answer, each with its loss and its prediction."""

from seqloom.nn.heads.crf import CRF, Chain
from seqloom.nn.heads.head import PADDING, ClassHead, Head, Loss, StepHead
from seqloom.nn.heads.per_token import LabelsPerPosition, PerPosition
from seqloom.nn.heads.pooled import Classes, Pooled, SeveralLabels
from seqloom.nn.heads.regression import GaussianLikelihood, SquaredError
from seqloom.nn.heads.tied import TiedLinear

__all__ = [
    "CRF",
    "PADDING",
    "Chain",
    "ClassHead",
    "Classes",
    "GaussianLikelihood",
    "Head",
    "LabelsPerPosition",
    "Loss",
    "PerPosition",
    "Pooled",
    "SeveralLabels",
    "SquaredError",
    "StepHead",
    "TiedLinear",
]
