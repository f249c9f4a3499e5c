"""How far a model can write about a source: what may be asked of it, and what stopped it."""

from seqloom.decoding.hypothesis import Hypothesis
from seqloom.spec.config.decode import DecodeSection
from seqloom.spec.errors import UserError
from seqloom.tasks.seen import says_nothing
from seqloom.tasks.text_source import Source


def beginning(options: DecodeSection, longest: int | None, source: Source) -> list[int]:
    """The tokens that every answer begins with; a sentence if it can't be written as asked.

    longest: the model's positions; None for one without
    """
    if longest is not None and options.min_length >= longest:
        what = f"decode.min_length is {options.min_length:,}, and the model's positions allow {longest - 1:,} tokens"
        raise UserError(f"{what}. Make it smaller, or train with --data.max-length {options.min_length}.")
    prompt, otherwise = options.prompt, "Begin otherwise, or leave it out."
    if not prompt:
        return []
    new = source.target.unseen(prompt)
    if new:
        raise UserError(f"decode.prompt has {new[0][:40]!r}, which this run has not learned to write. {otherwise}")
    if says_nothing(prompt, source.target, source.seen.target):
        what = f"decode.prompt is {prompt[:40]!r}, of which no character is in the texts that this run learned to write"
        raise UserError(f"{what}. {otherwise}")
    tokens = [int(token) for token in source.target.encode(prompt)]
    most = options.length if longest is None else min(options.length, longest)
    if len(tokens) > most:
        what = f"decode.prompt has {len(tokens):,} tokens, and an answer may have {most:,}"
        raise UserError(f"{what}. Raise decode.length, or begin with less.")
    return tokens


def cut_by(hypothesis: Hypothesis, options: DecodeSection, longest: int | None) -> dict[str, str]:
    """What stopped a text that the model did not end: the length asked for, the model's positions, or the rules, by
    which no token was left."""
    steps = len(hypothesis.log_probs)
    if hypothesis.ended:
        return {}
    if steps == longest:
        return {"cut_by": "positions"}
    return {"cut_by": "length" if steps == options.length else "rules"}
