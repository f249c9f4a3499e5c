"""What a classifier reads."""

from seqloom.data.reads import EmbeddedCorpus, Reads, Role

READS = Reads(
    "classify",
    "CSV, TSV, JSONL, or a folder with one sub-folder or one file per class",
    ("table", "folder"),
    roles=(
        Role("text", "text", guess="text"),
        Role("label", "label", guess="label"),
    ),
    corpora={"numbers": EmbeddedCorpus("seqloom.data.corpora.numbers:labelled", ("languages",))},
)
