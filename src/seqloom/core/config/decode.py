"""The `decode` section: how text is generated from next-token scores."""

from collections.abc import Iterator

from seqloom.core.config.section import Section, key
from seqloom.core.problem import KeyName, Problem, conflict

WITHOUT_BEAM = {"decode.beam_size": (1,)}
SAMPLE = f"Leave it out, or draw a text with {KeyName('decode.temperature')}"


class DecodeSection(Section):
    """How the next token is chosen, and how many are generated."""

    temperature: float = key(
        0.8,
        ge=0,
        le=10,
        description="Divides the scores: below 1 favors likely tokens, above 1 unlikely ones; 0 takes the likeliest.",
    )
    top_k: int | None = key(
        None,
        ge=1,
        description="Choose only among this many of the likeliest tokens.",
        only_with=WITHOUT_BEAM,
        instead=SAMPLE,
    )
    top_p: float | None = key(
        None,
        gt=0,
        le=1,
        description="Choose only among the likeliest tokens that together have this probability (after top_k).",
        only_with=WITHOUT_BEAM,
        instead=SAMPLE,
    )
    min_p: float | None = key(
        None,
        gt=0,
        lt=1,
        description="Choose only among tokens at least this times as likely as the likeliest (after top_k and top_p).",
        only_with=WITHOUT_BEAM,
        instead=SAMPLE,
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
        only_with=WITHOUT_BEAM,
        instead=SAMPLE,
    )
    prompt: str = key("", description="The text to continue.")

    @property
    def answers(self) -> int:
        """The number of texts that are returned."""
        return 1

    def conflicts(self) -> Iterator[Problem]:
        """Keys that do not go together."""
        beam, temperature = KeyName("decode.beam_size"), KeyName("decode.temperature")
        if self.beam_size > 1 and self.temperature > 0:
            message = f"{beam} is {self.beam_size} and {temperature} {self.temperature:g}"
            reason = "a beam looks for the likeliest text, a temperature draws one"
            yield conflict("decode.beam_size", f"{message}: {reason}", "Give one of them")
        if self.temperature == 0 and self.answers > self.beam_size:
            message = f"{KeyName('decode.n_best')} is {self.answers}, more than {beam}, {self.beam_size}"
            yield conflict("decode.n_best", message, f"Widen the beam, or draw texts with {temperature}")
        if self.min_length > self.max_length:
            limit = f"{KeyName('decode.max_length')}, {self.max_length}"
            message = f"{KeyName('decode.min_length')} is {self.min_length}, more than {limit}"
            yield conflict("decode.min_length", message, "Make it smaller")


class Decode(DecodeSection):
    """The keys of tasks that answer about a source, with one text or several."""

    n_best: int = key(1, ge=1, le=256, description="How many of the texts found are given, the best first.")
    prompt: str = key("", description="How every answer begins.")

    @property
    def answers(self) -> int:
        return self.n_best
