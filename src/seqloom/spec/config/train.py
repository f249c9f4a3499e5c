"""How a model learns."""

from typing import Annotated, Literal

from pydantic import Field

from seqloom.spec import names
from seqloom.spec.config.part import Part

Probability = Annotated[float, Field(ge=0, lt=1)]


class Train(Part):
    """The loop: how long, by which steps, and what is kept. A key that is None is one that the task has no use for."""

    epochs: int | None = Field(None, ge=1, le=1_000_000, description="How often all of the training part is read.")
    steps: int | None = Field(
        None, ge=1, le=1_000_000_000, description="How many steps to take; ends before `epochs` do."
    )
    batch: int = Field(
        ge=1,
        le=16_777_216,
        description="language: streams of text read side by side; else: the most tokens in a batch, padding included.",
    )
    bptt: int | None = Field(
        None, ge=1, le=1_000_000, description="language: after how many tokens the gradient is cut (truncated BPTT)."
    )
    bptt_drawn: bool | None = Field(None, description="language: draw that number around `bptt` for each batch.")
    carry: bool | None = Field(
        None, description="language: whether the state goes on from batch to batch, or each batch starts afresh."
    )
    loss_at: Literal["every", "last"] | None = Field(
        None, description="language, classify: whether every step has a loss, or the last one of a row alone."
    )
    optimiser: names.Optimiser = Field(description="What takes the steps.")
    lr: float = Field(gt=0, le=1000, description="The learning rate, at its highest.")
    momentum: Probability = Field(0.9, description="momentum, rmsprop's: how much of the last step goes on.")
    beta1: Probability = Field(0.9, description="adam, adamw: how much of the mean gradient is kept.")
    beta2: Probability = Field(
        0.999, description="adam, adamw, rmsprop: how much of the mean squared gradient is kept."
    )
    epsilon: float = Field(1e-8, gt=0, le=1, description="adagrad, rmsprop, adam, adamw: added to the denominator.")
    l2: float = Field(0.0, ge=0, le=10, description="L2: this times each weight is added to its gradient (not adamw).")
    decay: float = Field(
        0.0, ge=0, le=10, description="adamw: decoupled decay of matrices; biases and norms have none."
    )
    schedule: names.Schedule = Field(description="How the learning rate goes on after its warm-up.")
    warmup: int = Field(0, ge=0, le=10_000_000, description="Steps in which the learning rate rises from 0.")
    halve_every: int = Field(
        1,
        ge=1,
        description="schedule halve: after so many epochs; plateau: after so many validations without a better one.",
    )
    floor: float = Field(
        0.0, ge=0, le=1, description="schedule cosine: the share of the learning rate that is left at the end."
    )
    clip_norm: float | None = Field(None, gt=0, description="The longest that a gradient may be, all weights together.")
    clip_value: float | None = Field(
        None, gt=0, description="The largest that a gradient's value may be, each by itself."
    )
    label_smoothing: Probability = Field(
        0.0, description="The share of the target spread over all classes, in training."
    )
    activation_l2: float = Field(0.0, ge=0, description="Activation regularisation: this times the mean of y².")
    slowness: float = Field(
        0.0, ge=0, description="Temporal activation regularisation: this times the mean of (y_t − y_{t−1})²."
    )
    accumulate: int = Field(
        1, ge=1, le=100_000, description="Batches in each step; as one large batch, in less memory."
    )
    validate_every: int | None = Field(None, ge=1, description="Steps between validations; unless said, one an epoch.")
    early_stop: int | None = Field(None, ge=1, description="Stop after so many validations without a better one.")
    checkpoint_every: int | None = Field(
        None, ge=1, description="Steps between checkpoints; unless said, at each validation and about every minute."
    )
    keep: int = Field(2, ge=1, le=1000, description="How many of the last checkpoints are kept.")
    log_every: int = Field(10, ge=1, description="Steps between lines in metrics.jsonl.")
    not_finite: int = Field(
        10, ge=1, description="Steps in a row without a finite loss and gradient, skipped, after which the run stops."
    )
    samples: int | None = Field(None, ge=0, le=20, description="language: texts written at each validation.")
    precision: names.Precision = Field("float32", description="Of matrix products; weights stay in float32.")
    deterministic: bool = Field(False, description="Refuse operations that differ from run to run (a GPU's; slower).")
    device: names.Device = Field("auto", description="Where to compute; auto takes a GPU if there is one.")
    tensorboard: bool = Field(False, description="Write TensorBoard files too (needs `pip install seqloom[track]`).")
