"""How a model writes: from next-token scores to a text."""

from collections.abc import Iterator

from seqloom.core.config.section import Section, key
from seqloom.core.problem import KeyName, Problem, conflict

DRAW = f"Leave it out, or draw a text with {KeyName('decode.temperature')}"


class DecodeSection(Section):
    """Which of the likely tokens is taken, and how many."""

    temperature: float = key(
        0.8,
        ge=0,
        le=10,
        description="How boldly to choose: below 1 is safer, above 1 is bolder, 0 always takes the likeliest token.",
    )
    top_k: int | None = key(
        None,
        ge=1,
        description="Choose only among this many of the likeliest tokens.",
        only_with={"decode.beam_size": (1,)},
        instead=DRAW,
    )
    top_p: float | None = key(
        None,
        gt=0,
        le=1,
        description="Choose only among the likeliest tokens that together have this probability (after top_k).",
        only_with={"decode.beam_size": (1,)},
        instead=DRAW,
    )
    min_p: float | None = key(
        None,
        gt=0,
        lt=1,
        description="Choose only among tokens at least this times as likely as the likeliest (after top_k and top_p).",
        only_with={"decode.beam_size": (1,)},
        instead=DRAW,
    )
    beam_size: int = key(
        1, ge=1, le=256, description="How many texts are followed side by side, to find the likeliest; 1 follows one."
    )
    length_penalty: float = key(
        1.0,
        ge=0,
        le=10,
        description="With a beam: texts are ranked by log p / length to this power; 0 ranks them by log p itself.",
    )
    min_length: int = key(0, ge=0, le=100_000, description="The fewest tokens to write before the end.")
    no_repeat_ngram: int = key(
        0, ge=0, le=100, description="No sequence of this many tokens is written twice; 0 allows repetition."
    )
    max_length: int = key(400, ge=1, le=100_000, description="The most tokens to write.")
    seed: int | None = key(
        None,
        ge=0,
        lt=2**63,
        description="The same seed writes the same text; unless given, another each time.",
        only_with={"decode.beam_size": (1,)},
        instead=DRAW,
    )
    prompt: str = key("", description="The text to continue.")

    @property
    def wanted(self) -> int:
        """How many of the texts found are given."""
        return 1

    def conflicts(self) -> Iterator[Problem]:
        """What does not go together."""
        if self.beam_size > 1 and self.temperature > 0:
            beam, temperature = KeyName("decode.beam_size"), KeyName("decode.temperature")
            both = f"{beam} is {self.beam_size} and {temperature} {self.temperature:g}"
            message = f"{both}: a beam looks for the likeliest text, a temperature draws one"
            yield conflict("decode.beam_size", message, "Give one of them")
        if self.temperature == 0 and self.wanted > self.beam_size:
            beam = KeyName("decode.beam_size")
            both = f"{KeyName('decode.n_best')} is {self.wanted}, more than {beam}, {self.beam_size}"
            yield conflict("decode.n_best", both, f"Widen the beam, or draw texts with {KeyName('decode.temperature')}")
        if self.min_length > self.max_length:
            both = f"{KeyName('decode.min_length')} is {self.min_length}, more than {KeyName('decode.max_length')}"
            yield conflict("decode.min_length", f"{both}, {self.max_length}", "Make it smaller")


class Decode(DecodeSection):
    """The same for answers about a source, of which several may be given."""

    n_best: int = key(1, ge=1, le=256, description="How many of the texts found are given, the best first.")
    prompt: str = key("", description="How every answer begins.")

    @property
    def wanted(self) -> int:
        return self.n_best
