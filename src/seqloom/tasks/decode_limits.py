"""What decoding options a model can follow, and why a generated text was cut."""

from seqloom.core.config.decode import DecodeSection
from seqloom.core.problem import KeyName, UserError
from seqloom.core.wording import counted
from seqloom.data.tokenizers import Tokenizer
from seqloom.decoding.hypothesis import Hypothesis
from seqloom.tasks.known_characters import is_all_unknown


def forced_prefix(options: DecodeSection, max_length: int | None, target: Tokenizer, known: str) -> list[int]:
    """The tokens of `decode.prompt`, with which every answer begins; an error for options that can't be followed.

    max_length: the positions of the model; None without a limit
    known: the characters of the training texts; empty if they were not recorded
    """
    if max_length is not None and options.min_length >= max_length:
        allowed = f"the model can generate at most {counted(max_length - 1, 'token')}"
        message = f"{KeyName('decode.min_length')} is {options.min_length:,}, and {allowed}"
        longer = KeyName("data.max_length", options.min_length)
        raise UserError(message, f"Make it smaller, or train with {longer}", code="decode-limit")
    prompt, name, advice = options.prompt, KeyName("decode.prompt"), "Change it, or leave it out"
    if not prompt:
        return []
    if unknown := target.unknown_in(prompt):
        message = f"{name} has {unknown[0][:40]!r}, which is not in the run's output vocabulary"
        raise UserError(message, advice, code="unknown-prompt")
    if is_all_unknown(prompt, target, known):
        message = f"{name} is {prompt[:40]!r}, none of whose characters occurs in the target texts of the run"
        raise UserError(message, advice, code="unknown-prompt")
    tokens = [int(token) for token in target.encode(prompt)]
    most = options.max_length if max_length is None else min(options.max_length, max_length)
    if len(tokens) > most:
        message = f"{name} has {len(tokens):,} tokens, but an output may have at most {most:,}"
        raise UserError(message, f"Raise {KeyName('decode.max_length')}, or shorten the prompt", code="decode-limit")
    return tokens


def cut_reason(hypothesis: Hypothesis, options: DecodeSection, max_length: int | None) -> dict[str, str]:
    steps = len(hypothesis.log_probs)
    if hypothesis.ended:
        return {}
    if steps == max_length:
        return {"cut_by": "positions"}
    return {"cut_by": "length" if steps == options.max_length else "rules"}
