"""Mistakes that can be found at once, before torch is started, which takes seconds."""

from seqloom.spec.errors import UserError
from seqloom.spec.names import DEVICES
from seqloom.spec.problem import KeyName
from seqloom.spec.registry import unknown


def refuse_device(name: str) -> None:
    """A device that does not exist anywhere; whether this machine has it, torch knows."""
    if name not in DEVICES:
        raise UserError(*unknown(KeyName("train.device"), name, DEVICES))
