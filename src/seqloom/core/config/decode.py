"""The `decode` section: how text is generated from next-token scores."""

from collections.abc import Iterator

from seqloom.core.config.section import Section, key
from seqloom.core.problem import KeyName, Problem, conflict

WITHOUT_BEAM = {"decode.beam_size": (1,)}
SAMPLE = f"Leave it out, or sample with {KeyName('decode.temperature')}"


class DecodeSection(Section):
    """How the next token is chosen, and how many are generated."""

    temperature: float = key(
        0.8,
        ge=0,
        le=10,
        description="The sampling temperature: below 1 is less random, above 1 is more random, 0 takes the most "
        "probable token.",
    )
    top_k: int | None = key(
        None,
        ge=1,
        description="Sample only from this many most probable tokens.",
        only_with=WITHOUT_BEAM,
        instead=SAMPLE,
    )
    top_p: float | None = key(
        None,
        gt=0,
        le=1,
        description="Sample only from the most probable tokens whose probabilities sum to this (after top_k).",
        only_with=WITHOUT_BEAM,
        instead=SAMPLE,
    )
    min_p: float | None = key(
        None,
        gt=0,
        lt=1,
        description="Sample only from tokens with at least this share of the highest probability (after top_k and "
        "top_p).",
        only_with=WITHOUT_BEAM,
        instead=SAMPLE,
    )
    beam_size: int = key(
        1, ge=1, le=256, description="The number of hypotheses in beam search; 1 is greedy search, or sampling."
    )
    length_penalty: float = key(
        1.0,
        ge=0,
        le=10,
        description="Beam search ranks texts by log p / length to this power; 0 ranks them by log p.",
    )
    min_length: int = key(0, ge=0, le=100_000, description="The minimum number of tokens to generate.")
    no_repeat_ngram: int = key(
        0, ge=0, le=100, description="Generate no sequence of this many tokens twice; 0 allows repetition."
    )
    max_length: int = key(400, ge=1, le=100_000, description="The maximum number of tokens to generate.")
    seed: int | None = key(
        None,
        ge=0,
        lt=2**63,
        description="The random seed of sampling; default: a new one each time.",
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
            reason = "beam search finds the most probable text, a temperature samples one"
            yield conflict("decode.beam_size", f"{message}: {reason}", "Give one of them")
        if self.temperature == 0 and self.answers > self.beam_size:
            message = f"{KeyName('decode.n_best')} is {self.answers}, more than {beam}, {self.beam_size}"
            yield conflict("decode.n_best", message, f"Use a larger beam, or sample with {temperature}")
        if self.min_length > self.max_length:
            limit = f"{KeyName('decode.max_length')}, {self.max_length}"
            message = f"{KeyName('decode.min_length')} is {self.min_length}, more than {limit}"
            yield conflict("decode.min_length", message, "Make it smaller")


class Decode(DecodeSection):
    """The keys of tasks that answer about a source, with one text or several."""

    n_best: int = key(1, ge=1, le=256, description="The number of texts to return, the best first.")
    prompt: str = key("", description="The text that every output begins with.")

    @property
    def answers(self) -> int:
        return self.n_best
