"""How a model learns."""

from typing import Annotated, Literal

from pydantic import Field

from seqloom.spec import names
from seqloom.spec.config.part import Part

Probability = Annotated[float, Field(ge=0, lt=1)]


class Train(Part):
    """The loop: how long, by which steps, and what is kept. A key that is None is off, or of no use to the task."""

    epochs: int | None = Field(None, ge=1, le=1_000_000, description="How many times the training data are read.")
    steps: int | None = Field(
        None,
        ge=1,
        le=1_000_000_000,
        description="How many steps to take; where `epochs` are given too, training ends with whichever comes first.",
    )
    batch: int = Field(
        ge=1,
        le=16_777_216,
        description="language: how many stretches of text are read together; else: the most tokens in a batch, "
        "padding included.",
    )
    bptt: int | None = Field(
        None, ge=1, le=1_000_000, description="language: how many tokens back the gradient goes (truncated BPTT)."
    )
    bptt_drawn: bool | None = Field(
        None,
        description="language: whether that number is drawn at random around `bptt` for each batch; only with `carry`.",
    )
    carry: bool | None = Field(
        None,
        description="language: whether the state is carried from batch to batch; otherwise each batch starts anew.",
    )
    loss_at: Literal["every", "last"] | None = Field(
        None, description="language, classify: whether every token of a row counts in the loss, or only its last."
    )
    optimiser: names.Optimiser = Field(description="The optimiser, which turns gradients into steps.")
    lr: float = Field(gt=0, le=1000, description="The learning rate at its highest.")
    momentum: Probability = Field(0.9, description="How much of the last step is kept (optimisers momentum, rmsprop).")
    beta1: Probability = Field(0.9, description="How much of the mean gradient is kept (optimisers adam, adamw).")
    beta2: Probability = Field(
        0.999, description="How much of the mean squared gradient is kept (optimisers rmsprop, adam, adamw)."
    )
    epsilon: float = Field(
        1e-8, gt=0, le=1, description="Added to the denominator (optimisers adagrad, rmsprop, adam, adamw)."
    )
    l2: float = Field(
        0.0, ge=0, le=10, description="L2: this times each weight is added to its gradient (all optimisers but adamw)."
    )
    decay: float = Field(
        0.0, ge=0, le=10, description="Weight decay of matrices; biases and norms have none (optimiser adamw)."
    )
    schedule: names.Schedule = Field(description="How the learning rate changes after the warm-up.")
    warmup: int = Field(
        0, ge=0, le=10_000_000, description="The number of first steps over which the learning rate rises from 0."
    )
    halve_every: int = Field(
        1,
        ge=1,
        description="Halve the learning rate after this many epochs (schedule halve), or after this many validations "
        "without a better score (plateau).",
    )
    floor: float = Field(
        0.0, ge=0, le=1, description="The share of the learning rate left at the end (schedule cosine)."
    )
    clip_norm: float | None = Field(
        None, gt=0, description="The largest norm that the gradient of all weights together may have."
    )
    clip_value: float | None = Field(
        None, gt=0, description="The largest value that the gradient of any single weight may have."
    )
    label_smoothing: Probability = Field(
        0.0,
        description="The share of each target spread over all classes in training (not with a CRF or several labels).",
    )
    scheduled_sampling: Probability | None = Field(
        None,
        description="translate, caption: the share of tokens that the decoder reads as it would write them, not as "
        "they should be; it rises from 0 to this in the course of training (Bengio 2015).",
    )
    doubly_stochastic: float | None = Field(
        None,
        ge=0,
        le=1000,
        description="translate, caption: how strongly attention is held to look at each source position once in all "
        "(Xu 2015).",
    )
    average: int | None = Field(
        None,
        ge=2,
        le=100,
        description="The weights at this many of the last validations are averaged at the end, and kept if they score "
        "better; their checkpoints stay on the disk until the run has ended.",
    )
    activation_l2: float = Field(0.0, ge=0, description="Activation regularisation: this times the mean of y².")
    slowness: float = Field(
        0.0, ge=0, description="Temporal activation regularisation: this times the mean of (y_t − y_{t−1})²."
    )
    accumulate: int = Field(
        1, ge=1, le=100_000, description="The number of batches in each step: as one large batch, in less memory."
    )
    validate_every: int | None = Field(
        None, ge=1, description="The number of steps between validations; unless given, one per epoch."
    )
    early_stop: int | None = Field(None, ge=1, description="Stop after this many validations without a better score.")
    checkpoint_every: int | None = Field(
        None,
        ge=1,
        description="The number of steps between checkpoints; unless given, at each validation and about every minute.",
    )
    keep: int = Field(2, ge=1, le=1000, description="How many of the newest checkpoints are kept.")
    log_every: int = Field(10, ge=1, description="The number of steps between lines in metrics.jsonl.")
    not_finite: int = Field(
        10,
        ge=1,
        description="Steps without a finite loss and gradient are skipped; the run stops after this many in a row.",
    )
    samples: int | None = Field(
        None, ge=0, le=20, description="language: how many sample texts are written at each validation."
    )
    precision: names.Precision = Field(
        "float32", description="The precision of matrix products; weights stay in float32."
    )
    deterministic: bool = Field(
        False, description="Whether operations that differ from run to run are refused (on a GPU; slower)."
    )
    device: names.Device = Field("auto", description="Where to compute; auto takes a GPU if there is one.")
    tensorboard: bool = Field(
        False, description="Whether TensorBoard files are written too (needs `pip install seqloom[track]`)."
    )
