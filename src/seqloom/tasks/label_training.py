"""The prior of labels, from which the training of a model begins."""

import numpy as np
import torch
from jaxtyping import Integer, Shaped
from numpy import ndarray

from seqloom.core.config.section import Section, keys
from seqloom.nn.heads.head import ClassHead
from seqloom.tasks.label_config import LabelModel

CHUNK = 1 << 20  # labels that are counted at a time


def count_labels(ids: Integer[ndarray, " n"], labels: int) -> Integer[ndarray, " labels"]:
    """How often each label occurs.

    >>> count_labels(np.array([2, 1, 2]), labels=3).tolist()
    [0, 1, 2]
    """
    counts = np.zeros(labels, dtype=np.int64)
    for start in range(0, len(ids), CHUNK):
        counts += np.bincount(ids[start : start + CHUNK], minlength=labels)
    return counts


def init_output_bias(head: ClassHead, model: Section, prior: Shaped[ndarray, " labels"] | None) -> None:
    """Set the bias of the head as `model.output_bias` says: b_k = log p(k), see `ClassHead.init_bias_from_prior`.

    prior: the number of each label in the training split, or the share of its texts if these may have several;
        None without training data, where weights are loaded
    """
    bias = getattr(head.output, "bias", None)  # the output layer of a user-defined head may have none
    if prior is not None and bias is not None and keys(model, LabelModel).output_bias == "prior":
        head.init_bias_from_prior(torch.from_numpy(prior))
