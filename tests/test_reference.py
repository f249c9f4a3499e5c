"""The page of all names says what the package says."""

import re

import seqloom.nn
from docs.reference import PAGE, escape, reference


def test_the_page_of_all_names_is_up_to_date() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == reference(), "a public name or its docstring has changed: run `python docs/reference.py`"


def test_every_public_name_is_on_the_page_once() -> None:
    listed = re.findall(r"^- `(\w+)`: \S", reference(), flags=re.MULTILINE)
    assert sorted(listed) == sorted(seqloom.nn.__all__)


def test_marks_are_only_marks() -> None:
    text = escape("p(k | y_t) of `y_t` [A; G] (https://arxiv.org/abs/1_2)")
    assert text == r"p(k \| y\_t) of `y_t` \[A; G\] (<https://arxiv.org/abs/1_2>)"
