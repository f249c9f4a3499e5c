"""Tokenizers are lossless, equal to the library and deterministic; their files are checked."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as HFTokenizer
from tokenizers import normalizers

from seqloom.core import names
from seqloom.core.problem import DataError, UnknownName, UserError
from seqloom.data.tokenizers import TOKENIZERS, Tokenizer, train_tokenizer

TEXTS = [
    "The cat sat on the mat; the cat's hat wasn't there.\n",
    "Ça va? Ὀδυσσεύς, ΟΔΟΣ, İstanbul 𝒳😀\r\n\tend\n",
    "the <unk> of state @-@ run 1,000.5 it 's wo n't ... -LRB- e.g. this -RRB-\n",
]
every_kind = pytest.mark.parametrize("kind", list(TOKENIZERS))
either_case = pytest.mark.parametrize("lowercase", [False, True])
any_text = st.text(st.characters(codec="utf-8"), max_size=40) | st.lists(st.sampled_from(TEXTS)).map("".join)


def train_on_texts(kind: str, lowercase: bool = False, vocabulary: int = 300, min_count: int = 1) -> Tokenizer:
    return train_tokenizer(
        kind, TEXTS, vocabulary_size=vocabulary, min_count=min_count, lowercase=lowercase, sample=1_000_000
    )


TOKENIZER_OF = {
    (kind, lowercase): train_on_texts(kind, lowercase) for kind in TOKENIZERS for lowercase in (False, True)
}


def test_the_registry_has_the_names_of_the_spec() -> None:
    assert tuple(TOKENIZERS) == tuple(names.TOKENIZERS)
    assert all(kind == tokenizer.kind for kind, tokenizer in TOKENIZERS.items())


def test_an_unknown_kind_has_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'word'"):
        train_on_texts("words")


@either_case
@every_kind
@given(text=any_text)
def test_a_tokenizer_equals_the_library_on_its_own_file(kind: str, lowercase: bool, text: str) -> None:
    ours = TOKENIZER_OF[kind, lowercase]
    library = LIBRARY[kind, lowercase]
    ids = ours.encode(text)
    assert ids.dtype == np.int32
    assert ids.tolist() == library.encode(text).ids
    if kind != "word":
        assert ours.decode(ids) == library.decode(ids.tolist(), skip_special_tokens=False)


LIBRARY = {case: HFTokenizer.from_str(tokenizer.to_json()) for case, tokenizer in TOKENIZER_OF.items()}


@pytest.mark.parametrize("kind", ["byte", "bpe"])
@given(text=any_text)
def test_byte_tokenizers_are_lossless(kind: str, text: str) -> None:
    tokenizer = TOKENIZER_OF[kind, False]
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    lower = TOKENIZER_OF[kind, True]
    assert lower.decode(lower.encode(text)) == normalizers.Lowercase().normalize_str(text)
    if text.isascii():
        assert "".join(tokenizer.tokens(ids)) == text


@given(text=st.text(sorted(set("".join(TEXTS)))))
def test_known_characters_are_decoded_back(text: str) -> None:
    tokenizer = TOKENIZER_OF["character", False]
    ids = tokenizer.encode(text)
    assert tokenizer.unknown not in ids
    assert tokenizer.decode(ids) == text
    assert tokenizer.tokens(ids) == list(text)


@either_case
@every_kind
def test_batches_and_empty_texts_are_encoded(kind: str, lowercase: bool) -> None:
    tokenizer = TOKENIZER_OF[kind, lowercase]
    together = tokenizer.encode_batch([*TEXTS, ""])
    for ids, text in zip(together, [*TEXTS, ""], strict=True):
        assert ids.tolist() == tokenizer.encode(text).tolist()
    assert together[-1].shape == (0,)
    assert together[-1].dtype == np.int32
    assert tokenizer.encode_batch([]) == []
    assert tokenizer.decode([]) == ""
    assert tokenizer.tokens([]) == []


@either_case
@every_kind
def test_a_tokenizer_reads_back_from_its_file(kind: str, lowercase: bool) -> None:
    tokenizer = TOKENIZER_OF[kind, lowercase]
    loaded = Tokenizer.from_json(tokenizer.to_json())
    assert type(loaded) is type(tokenizer)
    assert loaded.kind == kind
    assert loaded.parameters == tokenizer.parameters
    assert loaded.to_json() == tokenizer.to_json()
    assert len(loaded) == len(tokenizer) == LIBRARY[kind, lowercase].get_vocab_size()
    assert loaded.unknown == tokenizer.unknown == (0 if kind in ("character", "word") else None)


def test_training_is_the_same_in_another_process() -> None:
    program = (
        "from seqloom.data.tokenizers import TOKENIZERS, train_tokenizer\n"
        "import hashlib\n"
        f"texts = {TEXTS!r}\n"
        "for kind in TOKENIZERS:\n"
        "    result = train_tokenizer(kind, texts, vocabulary_size=290, min_count=1, lowercase=False, sample=10**6)\n"
        "    print(hashlib.sha256(result.to_json().encode()).hexdigest())\n"
    )
    ids_by_kind = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(ids_by_kind) == 1
    assert len(ids_by_kind.pop().split()) == len(TOKENIZERS)


@every_kind
def test_training_reads_no_more_than_the_sample(kind: str) -> None:
    texts_read = 0

    def endless_texts() -> Iterator[str]:
        nonlocal texts_read
        for number in count(1):
            texts_read = number
            yield "abcd efgh "

    tokenizer = train_tokenizer(kind, endless_texts(), vocabulary_size=300, min_count=1, lowercase=False, sample=45)
    assert texts_read == (0 if kind == "byte" else 5)
    if kind == "character":
        sampled = train_tokenizer(kind, ["abc"], vocabulary_size=300, min_count=1, lowercase=False, sample=2)
        assert sampled.parameters.tokens == ("<unk>", "a", "b")
    assert len(tokenizer) <= 300


def test_characters_are_ordered_by_count_then_code_point() -> None:
    texts = ["zzz😀😀bbaa", "c"]
    everything = train_tokenizer("character", texts, vocabulary_size=99, min_count=1, lowercase=False, sample=99)
    assert everything.parameters.tokens == ("<unk>", "z", "a", "b", "😀", "c")
    frequent = train_tokenizer("character", texts, vocabulary_size=99, min_count=2, lowercase=False, sample=99)
    assert frequent.parameters.tokens == ("<unk>", "z", "a", "b", "😀")
    capped = train_tokenizer("character", texts, vocabulary_size=3, min_count=1, lowercase=False, sample=99)
    assert capped.parameters.tokens == ("<unk>", "z", "a")
    assert capped.decode(capped.encode("zap😀")) == "za��"


def test_one_long_text_and_many_short_texts_give_the_same_tokenizer() -> None:
    text = "ab" * 700_000 + "c"
    of_one_text = train_tokenizer("character", [text], vocabulary_size=9, min_count=1, lowercase=False, sample=10**7)
    of_many_texts = train_tokenizer(
        "character",
        (text[start : start + 1000] for start in range(0, len(text), 1000)),
        vocabulary_size=9,
        min_count=1,
        lowercase=False,
        sample=10**7,
    )
    assert of_one_text.parameters == of_many_texts.parameters
    assert of_one_text.parameters.tokens == ("<unk>", "a", "b", "c")


def test_words_are_ordered_and_capped() -> None:
    def words(size: int, min_count: int) -> tuple[str, ...]:
        texts = ["b a a\n", "b <unk> c a <unk> <unk> <unk>"]
        tokenizer = train_tokenizer(
            "word", texts, vocabulary_size=size, min_count=min_count, lowercase=False, sample=99
        )
        return tokenizer.parameters.tokens

    assert words(99, 1) == ("<unk>", "a", "b", "\n", "c")
    assert words(99, 2) == ("<unk>", "a", "b")
    assert words(2, 1) == ("<unk>", "a")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, world!", "Hello|,|world|!"),
        ('He said: "Don\'t go."', 'He|said|:|"|Don\'t|go|.|"'),
        ("'quoted words'", "'|quoted|words|'"),
        ("wo n't , it 's we 'LL", "wo|n't|,|it|'s|we|'LL"),
        ("state @-@ of 1 @,@ 000 <unk> </s>", "state|@-@|of|1|@,@|000|<unk>|</s>"),
        ("-LRB- a -rrb- `` b '' ... c -- d", "-LRB-|a|-rrb-|``|b|''|...|c|--|d"),
        ("well-known rock'n'roll l'été", "well-known|rock'n'roll|l'été"),
        ("$1,000.50 at 10:30, 5%; 3rd.", "$|1,000.50|at|10:30|,|5|%|;|3rd|."),
        ("the U.S. and e.g. end.Start", "the|U.S.|and|e.g.|end|.|Start"),
        ("good.<br /><br />bad", "good|.|<br />|<br />|bad"),
        ("one\n\n two\r\n", "one|\n|\n|two|\n"),
        ("a < b > c", "a|<|b|>|c"),
        ("नमस्ते café ❤", "नमस्ते|café|❤"),
    ],
)
def test_words_are_split_by_the_rules(text: str, words: str) -> None:
    tokenizer = train_tokenizer("word", [text], vocabulary_size=99, min_count=1, lowercase=False, sample=999)
    assert tokenizer.tokens(tokenizer.encode(text)) == words.split("|")


@pytest.mark.parametrize(
    "text",
    ["I don't know (yet), he said.\nNo!", "it's 5% of [all]: 1,000.5", "<unk> of\n\nthat"],
)
def test_words_are_decoded_with_ordinary_spacing(text: str) -> None:
    tokenizer = train_tokenizer("word", [text], vocabulary_size=99, min_count=1, lowercase=False, sample=999)
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_clitics_are_joined_when_decoded() -> None:
    tokenizer = train_tokenizer("word", ["it 's n't"], vocabulary_size=99, min_count=1, lowercase=False, sample=999)
    assert tokenizer.decode(tokenizer.encode("it 's n't it")) == "it'sn't it"


def test_bpe_respects_its_vocabulary_size() -> None:
    assert len(train_on_texts("bpe", vocabulary=270)) == 270
    assert len(train_on_texts("bpe", vocabulary=257)) == 257
    with pytest.raises(UserError, match="Use 257 or more"):
        train_on_texts("bpe", vocabulary=256)
    without_merges = train_tokenizer("bpe", ["abc"], vocabulary_size=300, min_count=1, lowercase=False, sample=99)
    assert len(without_merges) == 256
    assert Tokenizer.from_json(without_merges.to_json()).kind == "bpe"


def test_part_of_a_character_is_shown_as_bytes() -> None:
    byte = TOKENIZER_OF["byte", False]
    assert byte.tokens(byte.encode("aé")) == ["a", "\\xc3", "\\xa9"]
    assert byte.decode([0xC3]) == "�"


@every_kind
def test_a_lone_surrogate_is_refused(kind: str) -> None:
    with pytest.raises(UserError, match=r"character 2 of the text, U\+D800, is half of a surrogate pair\. Remove it"):
        TOKENIZER_OF[kind, False].encode("a\ud800")


def changed_file(kind: str, **parts: object) -> str:
    return json.dumps({**json.loads(TOKENIZER_OF[kind, False].to_json()), **parts})


def with_model(kind: str, **parts: object) -> str:
    return changed_file(kind, model={**json.loads(TOKENIZER_OF[kind, False].to_json())["model"], **parts})


BYTES = json.loads(TOKENIZER_OF["byte", False].to_json())["model"]["vocab"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("1" * 5000, "not JSON"),
        ("null", "not a tokenizer of a kind"),
        ("{}", "not a tokenizer of a kind"),
        ('{"model": 3}', "not a tokenizer of a kind"),
        (changed_file("word", normalizer={"type": "Prepend", "prepend": "x"}), "not a tokenizer of a kind"),
        (
            changed_file("word", pre_tokenizer={"type": "Split", "pattern": {"Regex": "(a+)+b"}}),
            "not a tokenizer of a kind",
        ),
        (changed_file("bpe", post_processor={"type": "ByteLevel"}), "not a tokenizer of a kind"),
        (changed_file("bpe", added_tokens=[{"id": 0, "content": "x"}]), "not a tokenizer of a kind"),
        (with_model("bpe", type="Unigram"), "not a tokenizer of a kind"),
        (with_model("bpe", dropout=0.5), "not a tokenizer of a kind"),
        (with_model("word", vocab=[]), "not numbered 0 to n-1"),
        (with_model("word", vocab={"<unk>": 0, "a": 2}), "not numbered 0 to n-1"),
        (with_model("word", vocab={"<unk>": 0, "a": True}), "not numbered 0 to n-1"),
        (with_model("word", vocab={"<unk>": 0, "a": 0}), "not numbered 0 to n-1"),
        (with_model("word", vocab={"<unk>": 0, "a": -1}), "not numbered 0 to n-1"),
        (with_model("word", vocab={"<unk>": 0, "\ud800": 1}), "not numbered 0 to n-1"),
        (with_model("word", vocab={"a": 0, "<unk>": 1}), "token 0 is not <unk>"),
        (with_model("character", vocab={}), "token 0 is not <unk>"),
        (with_model("character", vocab={"<unk>": 0, "ab": 1}), "a token is not one character"),
        (with_model("byte", vocab={"a": 0}), "not the 256 bytes in order"),
        (with_model("byte", merges=[["a", "b"]]), "not the 256 bytes in order"),
        (with_model("bpe", vocab={"a": 0}, merges=[]), "a byte is missing"),
        (with_model("bpe", vocab=BYTES | {"日": 256}, merges=[]), "a token is not made of bytes"),
        (with_model("bpe", vocab=BYTES, merges=[["a", "b"]]), "a merge is not of its tokens"),
        (with_model("bpe", merges=["a b"]), "not numbered 0 to n-1"),
    ],
)
def test_a_damaged_file_is_refused(text: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        Tokenizer.from_json(text, "runs/x/vocabulary/source.json")
    assert str(error.value).startswith("runs/x/vocabulary/source.json: ")
    assert message in str(error.value)


def test_a_file_has_a_maximum_size(monkeypatch: pytest.MonkeyPatch) -> None:
    text = TOKENIZER_OF["byte", False].to_json()
    monkeypatch.setattr("seqloom.data.tokenizers.registry.MAX_BYTES", len(text))
    assert Tokenizer.from_json(text).kind == "byte"
    with pytest.raises(DataError, match="MiB"):
        Tokenizer.from_json(text + " ")
