"""The page of all public names is up to date."""

import re

import seqloom.nn
from docs.reference import PAGE, escape, reference


def test_the_page_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == reference(), "a public name or its docstring has changed: run `python docs/reference.py`"


def test_every_public_name_is_on_the_page_once() -> None:
    listed = re.findall(r"^- `(\w+)`: \S", reference(), flags=re.MULTILINE)
    assert sorted(listed) == sorted(seqloom.nn.__all__)


def test_markup_is_escaped() -> None:
    text = escape("p(k | y_t) of `y_t` [A; G] (https://arxiv.org/abs/1_2)")
    assert text == r"p(k \| y\_t) of `y_t` \[A; G\] (<https://arxiv.org/abs/1_2>)"
