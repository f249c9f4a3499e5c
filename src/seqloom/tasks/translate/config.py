"""What a translator reads."""

from seqloom.data.reads import EmbeddedCorpus, Reads, Role

READS = Reads(
    "translate",
    "TSV, CSV, JSONL, or two text files, line by line",
    ("table", "parallel"),
    roles=(
        Role("source", "source", ("source", "src", "input", "from", "original", "question", "text"), languages=True),
        Role("target", "target", ("target", "tgt", "trg", "output", "to", "translation", "answer"), languages=True),
    ),
    corpora={
        "numbers": EmbeddedCorpus("seqloom.data.corpora.numbers:pairs", ("source_language", "target_language")),
        "copy": EmbeddedCorpus("seqloom.data.corpora.copy:pairs"),
    },
    suffix=".tsv",
)
