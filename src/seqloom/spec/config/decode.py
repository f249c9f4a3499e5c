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
    length: int = Field(400, ge=1, le=100_000, description="The most tokens to write.")
    seed: int | None = Field(
        None, ge=0, lt=2**63, description="The same seed writes the same text; unless given, each text is different."
    )
    prompt: str = Field("", description="The text to continue.")
