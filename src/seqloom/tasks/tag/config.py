"""What a tagger reads."""

from seqloom.data.reads import EmbeddedCorpus, Reads

READS = Reads(
    "tag",
    "CoNLL-U (.conllu), or one word and its tag per line (.conll)",
    ("conll",),
    corpora={
        "python": EmbeddedCorpus("seqloom.data.corpora.python:sentences"),
        "copy": EmbeddedCorpus("seqloom.data.corpora.copy:sentences"),
        "brackets": EmbeddedCorpus("seqloom.data.corpora.brackets:sentences"),
    },
    suffix=".conllu",
)
