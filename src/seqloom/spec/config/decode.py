"""How a model writes: from next-token scores to a text."""

from pydantic import Field

from seqloom.spec.config.part import Part


class Decode(Part):
    """Which of the likely tokens is taken, and how many."""

    temperature: float = Field(
        0.8,
        ge=0,
        le=10,
        description="Scores are divided by this: below 1 is safer, above 1 is bolder, 0 takes the best.",
    )
    top_k: int | None = Field(None, ge=1, description="Choose among the k likeliest tokens alone.")
    top_p: float | None = Field(
        None,
        gt=0,
        le=1,
        description="Choose among the likeliest tokens that together have this probability (after top_k).",
    )
    length: int = Field(400, ge=1, le=100_000, description="The most tokens to write.")
    seed: int | None = Field(
        None, ge=0, lt=2**63, description="The same seed writes the same text; another one each time unless said."
    )
    prompt: str = Field("", description="The text to go on from.")
