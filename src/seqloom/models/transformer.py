"""The Transformer (Vaswani et al. 2017), as an encoder or a decoder."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, NoReturn

from pydantic import model_validator

from seqloom.core import names
from seqloom.core.config.section import AllBut, Values, key
from seqloom.core.problem import ConfigError, KeyName, Problem
from seqloom.core.wording import counted, join_words
from seqloom.models.family import Family, Use, Width, norm_conflicts

if TYPE_CHECKING:
    from seqloom.nn.layer import Layer
    from seqloom.nn.transformer import TransformerConfig

# The encoder-decoder of size `base` is the model of the paper (https://arxiv.org/abs/1706.03762).
PAPER_MODEL = {"norm_order": "post", "activation": "relu"}
PAPER_TRAINING = {
    "optimizer": "adam", "beta2": 0.98, "epsilon": 1e-9, "schedule": "inverse-sqrt", "warmup": 4000,
    "lr": 7e-4,  # (512 · 4000)^(−1/2), the peak of the schedule
}  # fmt: skip


def is_paper_model(size: str, use: Use) -> bool:
    return use is Use.DECODE and size == "base"


class Transformer(Family):
    """Attention and feed-forward layers."""

    sizes: ClassVar[Mapping[str, Values]] = {
        "tiny": {"dim": 32, "hidden": 128, "depth": 2, "heads": 2},
        "small": {"dim": 128, "hidden": 512, "depth": 4, "heads": 4},
        "base": {"dim": 512, "hidden": 2048, "depth": 6, "heads": 8},
    }
    carries_state: ClassVar[bool] = False  # its state, the cache, grows with the text
    cross_attends: ClassVar[bool] = True

    heads: int = key(..., "The number of attention heads; it must divide `dim`.", ge=1, le=256)
    hidden: Width = key(..., "The hidden size of the feed-forward layers.")
    positions: names.Position = key("sinusoidal", "The positional encoding.")
    max_length: int = key(..., "The maximum number of tokens that the model reads at once.", ge=1, le=1_000_000)
    norm_order: names.Order = key(
        "pre",
        "Whether normalization comes before each sublayer (pre) or after it (post).",
        only_with={"model.norm": AllBut(("none",))},
    )
    norm: names.Norm = key("layer", "The normalization.")
    activation: names.Activation = key("gelu", "The activation of the feed-forward layers.")
    gated: bool = key(False, "Whether feed-forward layers are gated (SwiGLU, if the activation is swish).")
    score: names.Score = key("scaled-dot", "The attention score of a query and a key.")
    kv_heads: int | None = key(
        None,
        "The number of key and value heads, each shared by a group of query heads; default: one per query head.",
        ge=1,
    )
    attention_window: int | None = key(
        None, "The maximum number of tokens that each position attends to; default: all.", ge=1
    )
    bias: bool = key(True, "Whether the linear layers have biases.")
    scale_embeddings: bool = key(False, "Whether token embeddings are multiplied by √dim (Vaswani 2017).")

    @classmethod
    def defaults(cls, size: str, use: Use) -> Values:
        values: Values = {"dropout": 0.1}  # in every sublayer
        if use is Use.DECODE:
            values["scale_embeddings"] = True  # otherwise positions, whose norm is larger, outweigh tokens
        return values | (PAPER_MODEL if is_paper_model(size, use) else {})

    @classmethod
    def train_defaults(cls, size: str, use: Use) -> Values:
        if is_paper_model(size, use):
            return dict(PAPER_TRAINING)
        return {"lr": 1e-3, "optimizer": "adamw", "weight_decay": 0.01, "warmup": 100}

    @classmethod
    def encoder_values(cls, max_length: int) -> Values:
        return {"max_length": max_length}

    @model_validator(mode="after")
    def check_heads(self) -> "Transformer":
        def refuse(name: str, message: str, advice: str = "", *, code: str) -> NoReturn:
            raise ConfigError(message, advice, key=f"model.{name}", code=code)

        for name, dividend in (("heads", "dim"), ("kv_heads", "heads")):
            count, total = getattr(self, name), getattr(self, dividend)
            if count is not None and total % count:
                message = f"{KeyName(f'model.{name}')} is {count}, and does not divide {KeyName(f'model.{dividend}')}"
                refuse(name, f"{message}, {total}", "Give a divisor of it", code="heads")
        rotary = KeyName("model.positions", "rotary")
        if self.positions == "rotary" and self.dim // self.heads % 2:
            message = f"{rotary} needs an even share of {KeyName('model.dim')} in each head"
            refuse("positions", message, "Change dim or heads", code="rotary")
        if self.positions == "rotary" and self.score not in names.ROTATABLE:
            scores = join_words([score for score in names.SCORES if score in names.ROTATABLE])
            refuse("positions", f"{rotary} goes with the scores {scores}, not with {self.score}", code="rotary")
        return self

    def conflicts(self, use: Use) -> Iterator[Problem]:
        if use is not Use.ENCODE:
            yield from norm_conflicts(self.norm)

    def build(self, input_size: int, *, causal: bool) -> "Layer":
        """A decoder without cross-attention if causal, otherwise an encoder."""
        from seqloom.nn.transformer import decoder, encoder

        config = self.config(input_size)
        return decoder(config) if causal else encoder(config)

    def build_decoder(self, input_size: int, *, memory_size: int) -> "Layer":
        from seqloom.nn.transformer import cross_decoder

        return cross_decoder(self.config(input_size), memory_size=memory_size)

    def config(self, width: int) -> "TransformerConfig":
        from seqloom.nn.transformer import TransformerConfig

        return TransformerConfig(
            depth=self.depth,
            size=width,
            heads=self.heads,
            hidden_size=self.hidden,
            norm_order=self.norm_order,
            norm=self.norm,
            activation=self.activation,
            gated=self.gated,
            kv_heads=self.kv_heads,
            score=self.score,
            window=self.attention_window,
            rotary=10_000.0 if self.positions == "rotary" else None,
            bias=self.bias,
            dropout=self.dropout,
        )

    def position_layer(self, width: int, max_length: int | None = None) -> "Layer | None":
        from seqloom.nn.positions import POSITIONS

        return POSITIONS[self.positions](width, max_length or self.max_length)

    @property
    def stem_dropout(self) -> float:
        return self.dropout

    @property
    def scales_embeddings(self) -> bool:
        return self.scale_embeddings

    def describe_size(self) -> str:
        return f"{counted(self.depth, 'layer')} of {self.dim}, {counted(self.heads, 'head')}"


FAMILY = Transformer
