"""What a language model reads."""

from seqloom.data.reads import EmbeddedCorpus, Reads

READS = Reads(
    "language",
    "plain text",
    ("text",),
    corpora={
        "python": EmbeddedCorpus("seqloom.data.corpora.python:text"),
        "copy": EmbeddedCorpus("seqloom.data.corpora.copy:text"),
        "brackets": EmbeddedCorpus("seqloom.data.corpora.brackets:text"),
    },
)
