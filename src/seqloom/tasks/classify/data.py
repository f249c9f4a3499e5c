"""The rows of a classifier: a text as tokens, and its labels."""

from collections.abc import Collection
from dataclasses import dataclass

from seqloom.data.prepare import SplitExamples, never_in_train
from seqloom.data.schema import AnswerColumn, AnswerLearner, Counts, Schema, TextColumn, TokenColumn, tokenizer_learner
from seqloom.data.source import DataSource
from seqloom.tasks.classify.config import ClassifyData
from seqloom.tasks.label_check import not_in_train, refuse_labels, seen_once, single_label

TEXT, LABELS = 0, 1  # indices of the values of an example
GIVE_ANOTHER = "Give examples of another"
TOKENIZER_FILE, LABELS_FILE = "source.json", "labels.json"


@dataclass(frozen=True)
class LabeledTexts(Schema):
    """Refuses labels that can't be learned.

    multilabel: whether a text may have any number of labels, even if each example has one
    on_rare_label: what to do with a label with a single example
    """

    multilabel: bool = False
    on_rare_label: str | None = None

    def check_answers(self, examples: SplitExamples, counts: Counts, single: bool) -> Collection[str]:
        rare = [label for label, splits in counts.items() if splits.total() == 1]
        left_out = rare if self.on_rare_label == "skip" else []
        kept = {label: splits for label, splits in counts.items() if label not in left_out}
        if len(kept) < 2 and single and not self.multilabel:
            refuse_labels(single_label("label", kept, GIVE_ANOTHER), examples)
        if unseen := never_in_train(examples.source, kept):
            refuse_labels(not_in_train("label", unseen, "example"), examples, unseen)
        if rare and self.on_rare_label == "refuse":
            refuse_labels(seen_once(rare), examples, rare)
        return left_out


def schema(data: ClassifyData) -> Schema:
    tokens = TokenColumn("tokens", TEXT, data.max_length, encoder=TOKENIZER_FILE)
    labels = AnswerColumn("labels", LABELS, encoder=LABELS_FILE)
    return LabeledTexts(
        (tokens, labels, TextColumn("texts", TEXT)),
        {TOKENIZER_FILE: tokenizer_learner((TEXT,), data, "word"), LABELS_FILE: AnswerLearner((LABELS,))},
        content=TEXT,
        answers=LABELS,
        multilabel=data.label_separator is not None,
        on_rare_label=data.on_rare_label,
    )


def guess_tokenizer(source: DataSource) -> str:
    """The tokenizer of the corpus; for files character if most of the first texts are one word, otherwise word."""
    if source.corpus and (tokenizer := source.data_spec.corpora[source.corpus].tokenizer):
        return tokenizer
    lengths = sorted(len(example.values[TEXT].split()) for example in source.first_examples())
    return "word" if lengths and lengths[len(lengths) // 2] > 1 else "character"
