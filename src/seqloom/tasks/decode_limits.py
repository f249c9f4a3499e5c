"""How far a model can write about a source: what may be asked of it, and what stopped it."""

from seqloom.core.config.decode import DecodeSection
from seqloom.core.plurals import counted
from seqloom.core.problem import KeyName, UserError
from seqloom.decoding.hypothesis import Hypothesis
from seqloom.tasks.known_characters import says_nothing
from seqloom.tasks.text_source import Source


def beginning(options: DecodeSection, longest: int | None, source: Source) -> list[int]:
    """The tokens that every answer begins with; a sentence if it can't be written as asked.

    longest: the model's positions; None for one without
    """
    if longest is not None and options.min_length >= longest:
        allowed = f"the model's positions allow {counted(longest - 1, 'token')}"
        message = f"{KeyName('decode.min_length')} is {options.min_length:,}, and {allowed}"
        longer = KeyName("data.max_length", options.min_length)
        raise UserError(message, f"Make it smaller, or train with {longer}", code="decode-limit")
    prompt, name, otherwise = options.prompt, KeyName("decode.prompt"), "Begin otherwise, or leave it out"
    if not prompt:
        return []
    new = source.target.unknown_in(prompt)
    if new:
        message = f"{name} has {new[0][:40]!r}, which this run has not learned to write"
        raise UserError(message, otherwise, code="unknown-prompt")
    if says_nothing(prompt, source.target, source.seen.target):
        message = f"{name} is {prompt[:40]!r}, of which no character is in the texts that this run learned to write"
        raise UserError(message, otherwise, code="unknown-prompt")
    tokens = [int(token) for token in source.target.encode(prompt)]
    most = options.max_length if longest is None else min(options.max_length, longest)
    if len(tokens) > most:
        message = f"{name} has {len(tokens):,} tokens, and an answer may have {most:,}"
        raise UserError(message, f"Raise {KeyName('decode.max_length')}, or begin with less", code="decode-limit")
    return tokens


def cut_by(hypothesis: Hypothesis, options: DecodeSection, longest: int | None) -> dict[str, str]:
    """What stopped a text that the model did not end: the length asked for, the model's positions, or the rules, by
    which no token was left."""
    steps = len(hypothesis.log_probs)
    if hypothesis.ended:
        return {}
    if steps == longest:
        return {"cut_by": "positions"}
    return {"cut_by": "length" if steps == options.max_length else "rules"}
