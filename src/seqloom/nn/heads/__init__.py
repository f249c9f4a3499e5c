"""Heads: vectors to an answer, each with its loss and its prediction."""

from seqloom.nn.heads.chain import Chain
from seqloom.nn.heads.crf import CRF
from seqloom.nn.heads.head import PADDING, ClassHead, Head, StepHead
from seqloom.nn.heads.loss import Loss
from seqloom.nn.heads.pooled import Classes, Pooled, SeveralLabels
from seqloom.nn.heads.positions import LabelsPerPosition, PerPosition
from seqloom.nn.heads.tied import TiedLinear
from seqloom.nn.heads.values import GaussianLikelihood, SquaredError

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
