"""What a model that describes images reads."""

from seqloom.data.reads import EmbeddedCorpus, Reads, Role

READS = Reads(
    "caption",
    "TSV, CSV or JSONL, with an image's path and its caption",
    ("table",),
    roles=(
        Role(
            "image",
            "source",
            ("image", "path", "file", "filename", "photo", "picture", "source", "features"),
            languages=True,
        ),
        Role(
            "caption",
            "target",
            ("caption", "description", "text", "sentence", "comment", "target", "title"),
            languages=True,
        ),
    ),
    corpora={"scenes": EmbeddedCorpus("seqloom.data.corpora.scenes:captioned")},
    suffix=".tsv",
)
