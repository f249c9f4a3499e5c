"""Heads: vectors to a prediction, each with its loss."""

from seqloom.nn.heads.crf import CRF as CRF
from seqloom.nn.heads.crf import Chain as Chain
from seqloom.nn.heads.head import PADDING as PADDING
from seqloom.nn.heads.head import ClassHead as ClassHead
from seqloom.nn.heads.head import Head as Head
from seqloom.nn.heads.head import Loss as Loss
from seqloom.nn.heads.head import StepHead as StepHead
from seqloom.nn.heads.per_token import LabelsPerToken as LabelsPerToken
from seqloom.nn.heads.per_token import PerToken as PerToken
from seqloom.nn.heads.pooled import LabelsPerSequence as LabelsPerSequence
from seqloom.nn.heads.pooled import PerSequence as PerSequence
from seqloom.nn.heads.pooled import Pooled as Pooled
from seqloom.nn.heads.regression import GaussianLikelihood as GaussianLikelihood
from seqloom.nn.heads.regression import SquaredError as SquaredError
from seqloom.nn.heads.tied import TiedLinear as TiedLinear
