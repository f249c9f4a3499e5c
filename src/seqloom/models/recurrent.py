"""RNN, LSTM, GRU and their textbook variants, deep and in both directions."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from seqloom.core import names
from seqloom.core.config.section import AllBut, Values, key
from seqloom.core.problem import KeyName, Problem, conflict
from seqloom.models.family import Family, Probability, Use, Width
from seqloom.models.registry import architectures_of

if TYPE_CHECKING:
    from seqloom.nn.layer import Layer


def recurrent_encoders() -> tuple[str, ...]:
    """The encoders that have a direction: the only values of `model.encoder` with which `bidirectional` has a use."""
    return architectures_of(Recurrent)


class Recurrent(Family):
    """Depth, directions and dropout of one cell, whose name is `arch`."""

    sizes: ClassVar[Mapping[str, Values]] = {
        "tiny": {"dim": 32, "hidden": 64, "depth": 1},
        "small": {"dim": 128, "hidden": 256, "depth": 1},
        "base": {"dim": 512, "hidden": 512, "depth": 2},
    }
    has_initial_state: ClassVar[bool] = True

    hidden: Width = key(..., "The size of the hidden state, per direction.")
    bidirectional: bool = key(
        ...,
        "Whether a second network reads the sequence backwards (in an encoder-decoder: in the encoder).",
        only_with={"model.encoder": recurrent_encoders},
    )
    connection: names.Connection = key(
        "plain", "How a layer's input joins its output: not at all (plain), added (residual) or concatenated (dense)."
    )
    initial_state: names.InitialState = key("zero", "The initial state.")
    bias: bool = key(True, "Whether the cells have biases.")
    dropout_kind: names.DropoutKind = key(
        "plain", "Whether dropout draws a new mask at each token (plain), or one mask for the whole text."
    )
    recurrent_init: names.Scheme = key(
        "orthogonal",
        "The initialization of state-to-state weights; only with `init`.",
        only_with={"model.init": AllBut((None,))},
    )
    input_dropout: Probability = key(0.0, "The dropout probability of token embeddings.")
    weight_drop: Probability = key(0.0, "The dropout probability of recurrent weights (DropConnect, as in AWD-LSTM).")
    zoneout: Probability = key(
        0.0, "The probability that an element of the state keeps its previous value at a token in training (zoneout)."
    )

    @classmethod
    def defaults(cls, size: str, use: Use) -> Values:
        return {"bidirectional": use is not Use.GENERATE}  # in an encoder-decoder, of the encoder

    @classmethod
    def encoder_values(cls, max_length: int) -> Values:
        return {"bidirectional": True}

    def decoder_changes(self, *, own_initial_state: bool) -> Values:
        return {"bidirectional": False, "initial_state": self.initial_state if own_initial_state else "zero"}

    def conflicts(self, use: Use) -> Iterator[Problem]:
        if use is Use.GENERATE and self.bidirectional:
            message = f"{KeyName('model.bidirectional')} makes {self.arch} read backwards too"
            yield conflict(
                "model.bidirectional", f"{message}, so it can't generate text token by token", "Leave it out"
            )
        no_width_is_kept = self.depth == 1 and self.dim != self.layer_width
        if self.connection == "residual" and no_width_is_kept:
            message = f"{KeyName('model.connection', 'residual')} needs a layer that keeps its width"
            advice = f"Give {KeyName('model.depth')} 2 or more, or {KeyName('model.dim')} as wide as the layer's output"
            yield conflict("model.connection", message, advice)

    def decoder_conflicts(self, *, own_initial_state: bool) -> Iterator[Problem]:
        if self.initial_state != "zero" and not own_initial_state:
            reason = "because the source sets the decoder's initial state"
            message = f"{KeyName('model.initial_state', self.initial_state)} has no effect here, {reason}"
            yield conflict("model.initial_state", message, f"Leave it out, or give {KeyName('model.bridge', 'none')}")

    @property
    def layer_width(self) -> int:
        """The width of the output of one layer."""
        return self.hidden * (2 if self.bidirectional else 1)

    @property
    def output_width(self) -> int:
        return self.dim + self.depth * self.layer_width if self.connection == "dense" else self.layer_width

    @property
    def hidden_width(self) -> int:
        return self.hidden

    @property
    def output_has_hidden_width(self) -> bool:
        return self.connection != "dense"

    def build(self, input_size: int, *, causal: bool) -> "Layer":
        from seqloom.nn.deep_recurrent import recurrent_stack
        from seqloom.nn.dropout import DROPOUTS
        from seqloom.nn.stack import Stack

        stack = recurrent_stack(
            self.arch,
            input_size,
            self.hidden,
            depth=self.depth,
            bidirectional=self.bidirectional,
            connection=self.connection,
            bias=self.bias,
            initial=self.initial_state,
            dropout=self.dropout,
            input_dropout=self.input_dropout,
            dropout_kind=self.dropout_kind,
            weight_drop=self.weight_drop,
            zoneout=self.zoneout,
        )
        last = DROPOUTS[self.dropout_kind](stack.output_size, self.dropout)  # after the last layer too
        return Stack({"recurrent": stack, "dropout": last})


FAMILY = Recurrent
