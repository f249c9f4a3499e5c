"""The text of a language model: one long row of tokens."""

from seqloom.data.schema import TokenizerLearner, tokenizer_learner
from seqloom.tasks.language.config import LanguageData


def learner(data: LanguageData) -> TokenizerLearner:
    return tokenizer_learner((0,), data, "character")
