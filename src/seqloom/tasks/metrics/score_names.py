"""Names of scores for a person."""

import re

NAMES = {
    "loss": "loss",
    "accuracy": "accuracy",
    "perplexity": "perplexity",
    "bits_per_character": "bits a character",
    "macro_f1": "macro F1",
    "micro_f1": "micro F1",
    "span_f1": "span F1",
    "bleu": "BLEU",
    "chrf": "chrF",
}
BLEU_ORDER = re.compile(r"bleu[_-]?(\d)")


def readable(score: str) -> str:
    """A score's name for a person.

    >>> readable("macro_f1"), readable("tag_accuracy"), readable("bleu_4")
    ('macro F1', 'tag accuracy', 'BLEU-4')
    """
    order = BLEU_ORDER.fullmatch(score)
    return f"BLEU-{order[1]}" if order else NAMES.get(score, score.replace("_", " "))
