"""The `train` section: how a model is trained."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import BeforeValidator, Field

from seqloom.core import names
from seqloom.core.config.section import AllBut, Section, key
from seqloom.core.problem import KeyName, Problem, conflict
from seqloom.core.registry import Names

Probability = Annotated[float, Field(ge=0, lt=1)]


def split_names(value: object) -> object:
    """A tuple of names, from a list or from texts with commas between names.

    >>> split_names("a,b"), split_names(["a", "b, c"])
    (('a', 'b'), ('a', 'b', 'c'))
    """
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        return value
    return tuple(dict.fromkeys(name.strip() for word in words for name in word.split(",")))


def only(registered: Names, *builtin: str) -> AllBut:
    """The condition of a key that some built-in parts read, and that any user-defined one may read."""
    return AllBut(tuple(name for name in registered if registered.origin(name) is None and name not in builtin))


WITH_MOMENTUM = {"train.optimizer": only(names.OPTIMIZERS, "momentum", "rmsprop")}
WITH_ADAM = {"train.optimizer": only(names.OPTIMIZERS, "adam", "adamw")}
WITH_SQUARES = {"train.optimizer": only(names.OPTIMIZERS, "rmsprop", "adam", "adamw")}
WITH_DENOMINATOR = {"train.optimizer": only(names.OPTIMIZERS, "adagrad", "rmsprop", "adam", "adamw")}


class Train(Section):
    """The keys of every task. A key that is None is off.

    Some optimizers and schedules have keys of their own (momentum, halve_every). With a built-in one, only the keys
    that it reads may be set; with a user-defined one all of them, since it may read them.
    """

    epochs: int | None = key(None, "The number of passes over the training data.", ge=1, le=1_000_000)
    steps: int | None = key(
        None,
        "The number of optimizer steps; if `epochs` is set too, training stops at whichever comes first.",
        ge=1,
        le=1_000_000_000,
    )
    batch_tokens: int | None = key(
        None,
        "The maximum number of tokens in a batch, padding included; rows of similar length are batched together.",
        ge=1,
        le=16_777_216,
    )
    batch_size: int | None = key(
        None, "The number of rows in a batch; set this or `batch_tokens`.", ge=1, le=16_777_216
    )
    optimizer: names.Optimizer = key(..., "The optimizer.")
    lr: float = key(..., "The peak learning rate.", gt=0, le=1000)
    momentum: Probability = key(
        0.9, "The momentum coefficient (optimizers momentum, rmsprop).", only_with=WITH_MOMENTUM
    )
    beta1: Probability = key(
        0.9, "The decay rate of the running mean of the gradient (optimizers adam, adamw).", only_with=WITH_ADAM
    )
    beta2: Probability = key(
        0.999,
        "The decay rate of the running mean of the squared gradient (optimizers rmsprop, adam, adamw).",
        only_with=WITH_SQUARES,
    )
    epsilon: float = key(
        1e-8,
        "Added to the denominator for numerical stability (optimizers adagrad, rmsprop, adam, adamw).",
        gt=0,
        le=1,
        only_with=WITH_DENOMINATOR,
    )
    l2: float = key(
        0.0,
        "L2 regularization: this times each weight is added to its gradient (all optimizers except adamw).",
        ge=0,
        le=10,
        only_with={"train.optimizer": AllBut(("adamw",))},
        instead=f"Give {KeyName('train.weight_decay')} instead",
    )
    weight_decay: float = key(
        0.0,
        "Weight decay of matrices, not of biases and normalization weights (optimizer adamw).",
        ge=0,
        le=10,
        only_with={"train.optimizer": only(names.OPTIMIZERS, "adamw")},
        instead=f"Give {KeyName('train.l2')} instead",
    )
    schedule: names.Schedule = key(..., "The learning rate schedule after the warm-up.")
    warmup: int = key(0, "The number of warm-up steps, in which the learning rate rises from 0.", ge=0, le=10_000_000)
    halve_every: int = key(
        1,
        "Halve the learning rate after this many epochs (schedule halve), or after this many validations, "
        "counted as for `early_stop` (plateau).",
        ge=1,
        only_with={"train.schedule": only(names.SCHEDULES, "halve", "plateau")},
    )
    min_lr_ratio: float = key(
        0.0,
        "The final learning rate, as a share of the peak (schedule cosine).",
        ge=0,
        le=1,
        only_with={"train.schedule": only(names.SCHEDULES, "cosine")},
    )
    clip_norm: float | None = key(None, "Clip the global norm of the gradient to this value.", gt=0)
    clip_value: float | None = key(None, "Clip each element of the gradient to this absolute value.", gt=0)
    label_smoothing: Probability = key(
        0.0,
        "The share of each target's probability spread over all classes in training (not with a CRF or "
        "several labels).",
    )
    average_checkpoints: int | None = key(
        None,
        "At the end, average the weights of this many last validations, and keep the average if it "
        "is better than the best validation. Their checkpoints stay on disk until the run ends.",
        ge=2,
        le=100,
    )
    activation_l2: float = key(0.0, "Activation regularization: this times the mean of y² is added to the loss.", ge=0)
    temporal_activation_l2: float = key(
        0.0, "Temporal activation regularization: this times the mean of (y_t − y_{t−1})² is added to the loss.", ge=0
    )
    accumulate: int = key(1, "Gradient accumulation: the number of batches per optimizer step.", ge=1, le=100_000)
    validate_every: int | None = key(
        None, "The number of steps between validations; default: one validation per epoch.", ge=1
    )
    early_stop: int | None = key(
        None,
        "Stop after this many validations in a row without a new best; in tasks that generate text, a new lowest loss "
        "ends the row too.",
        ge=1,
    )
    checkpoint_every: int | None = key(
        None, "The number of steps between checkpoints; default: at each validation and about every minute.", ge=1
    )
    keep_checkpoints: int = key(
        2,
        "The number of latest checkpoints to keep. Until the run ends, those whose weights may still be needed stay "
        "on disk too.",
        ge=1,
        le=1000,
    )
    log_every: int = key(10, "The number of steps between lines in metrics.jsonl.", ge=1)
    max_skipped_steps: int = key(
        10, "Steps with a non-finite loss or gradient are skipped; the run fails after this many in a row.", ge=1
    )
    precision: names.Precision = key("float32", "The precision of matrix products; weights stay in float32.")
    deterministic: bool = key(False, "Whether to use deterministic operations only (on a GPU; slower).")
    device: names.Device = key("auto", "The device to compute on; auto uses a GPU if there is one.")
    tensorboard: bool = key(False, "Whether to write TensorBoard files (needs `pip install seqloom[track]`).")

    def conflicts(self) -> Iterator[Problem]:
        """Keys that do not go together."""
        epochs_steps = f"{KeyName('train.epochs')} and {KeyName('train.steps')} are both"
        batches = f"{KeyName('train.batch_tokens')} and {KeyName('train.batch_size')} are both"
        if self.epochs is None and self.steps is None:
            message = f"{epochs_steps} none, so training would never end"
            yield conflict("train.epochs", message, "Give one of them")
        if self.batch_tokens is not None and self.batch_size is not None:
            message = f"{batches} given ({self.batch_tokens}, {self.batch_size})"
            yield conflict("train.batch_size", message, "Give one of them")
        if self.batch_tokens is None and self.batch_size is None:
            message = f"{batches} none, so batches would have no limit"
            yield conflict("train.batch_size", message, "Give one of them")


class ComparedTrain(Train):
    """The keys of tasks that compare answers with references."""

    metrics: Annotated[tuple[names.Metric, ...], BeforeValidator(split_names)] = key(
        (), "Names of metrics to compute in addition to the task's own scores."
    )
