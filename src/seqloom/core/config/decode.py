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
        "The sampling temperature: below 1 is less random, above 1 is more random, 0 takes the most probable token.",
        ge=0,
        le=10,
    )
    top_k: int | None = key(
        None, "Sample only from this many most probable tokens.", ge=1, only_with=WITHOUT_BEAM, instead=SAMPLE
    )
    top_p: float | None = key(
        None,
        "Sample only from the most probable tokens whose probabilities sum to this (after top_k).",
        gt=0,
        le=1,
        only_with=WITHOUT_BEAM,
        instead=SAMPLE,
    )
    min_p: float | None = key(
        None,
        "Sample only from tokens with at least this share of the highest probability (after top_k and top_p).",
        gt=0,
        lt=1,
        only_with=WITHOUT_BEAM,
        instead=SAMPLE,
    )
    beam_size: int = key(1, "The number of hypotheses in beam search; 1 is greedy search, or sampling.", ge=1, le=256)
    length_penalty: float = key(
        1.0, "Beam search ranks texts by log p / length to this power; 0 ranks them by log p.", ge=0, le=10
    )
    min_length: int = key(0, "The minimum number of tokens to generate.", ge=0, le=100_000)
    no_repeat_ngram: int = key(0, "Generate no sequence of this many tokens twice; 0 allows repetition.", ge=0, le=100)
    max_length: int = key(400, "The maximum number of tokens to generate.", ge=1, le=100_000)
    seed: int | None = key(
        None,
        "The random seed of sampling; default: a new one each time.",
        ge=0,
        lt=2**63,
        only_with=WITHOUT_BEAM,
        instead=SAMPLE,
    )
    prompt: str = key("", "The text to continue.")

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
    """The keys of tasks that generate one or several texts for a source."""

    n_best: int = key(1, "The number of texts to return, the best first.", ge=1, le=256)
    prompt: str = key("", "The text that every output begins with.")

    @property
    def answers(self) -> int:
        return self.n_best
