"""How a model writes: from next-token scores to a text."""

from pydantic import Field

from seqloom.spec.config.part import Part


class Decode(Part):
    """Which of the likely tokens is taken, and how many."""

    temperature: float = Field(
        0.8,
        ge=0,
        le=10,
        description="How boldly to choose: below 1 is safer, above 1 is bolder, 0 always takes the likeliest token.",
    )
    top_k: int | None = Field(None, ge=1, description="Choose only among this many of the likeliest tokens.")
    top_p: float | None = Field(
        None,
        gt=0,
        le=1,
        description="Choose only among the likeliest tokens that together have this probability (after top_k).",
    )
    min_p: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="Choose only among tokens at least this times as likely as the likeliest (after top_k and top_p).",
    )
    beam: int = Field(
        1, ge=1, le=256, description="How many texts are followed side by side, to find the likeliest; 1 follows one."
    )
    n_best: int = Field(1, ge=1, le=256, description="How many of the texts found are given, the best first.")
    length_penalty: float = Field(
        1.0,
        ge=0,
        le=10,
        description="With a beam: texts are ranked by log p / length to this power; 0 ranks them by log p itself.",
    )
    min_length: int = Field(0, ge=0, le=100_000, description="The fewest tokens to write before the end.")
    no_repeat: int = Field(
        0, ge=0, le=100, description="No sequence of this many tokens is written twice; 0 allows repetition."
    )
    length: int = Field(400, ge=1, le=100_000, description="The most tokens to write.")
    seed: int | None = Field(
        None, ge=0, lt=2**63, description="The same seed writes the same text; unless given, another each time."
    )
    prompt: str = Field("", description="The text to continue; in translate and caption, how every answer begins.")
