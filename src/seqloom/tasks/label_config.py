"""Keys of the model that all tasks with labels have."""

from typing import Literal

from seqloom.core.config.section import Section, key


class LabelModel(Section):
    output_bias: Literal["prior", "zero"] = key(
        "prior",
        "The initial bias of the output layer: prior is b_k = log p(k), p(k) the share of class k in the training "
        "data (log p/(1 − p) if a text may have several labels); zero is 0.",
        in_older_runs="zero",
    )
