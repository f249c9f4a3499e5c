"""What every part of the config is: frozen, without extra keys, each key with a sentence that teaches it."""

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A part of an experiment. A key's `description` is its help on the command line and its comment in TOML."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        validate_default=True,
        protected_namespaces=(),
    )
