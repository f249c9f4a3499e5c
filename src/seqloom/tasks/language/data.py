"""The text of a language model: one long row of tokens."""

from seqloom.data.schema import TokenizerLearner
from seqloom.tasks.language.config import LanguageData


def learner(data: LanguageData) -> TokenizerLearner:
    """What learns its tokenizer."""
    kind, sample = data.tokeniser or "character", data.sample or 20_000_000
    return TokenizerLearner((0,), kind, data.vocabulary or 0, data.min_count, data.lowercase, sample)
