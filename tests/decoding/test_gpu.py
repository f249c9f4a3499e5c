"""On a CUDA device the same is written as on the CPU, which the other tests hold to brute force."""

from copy import deepcopy

import pytest
import torch

from seqloom.core.config.decode import Decode
from seqloom.decoding.hypothesis import SearchTree
from seqloom.decoding.stream import stream
from tests.decoding.models import every_encoder_decoder, every_model, ready, transformer_language_model
from tests.decoding.searching import assert_same, collect, every_kind, search
from tests.decoding.test_stream import PROMPTS, bold
from tests.decoding.test_stream import every_model as every_language_model

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("unchecked")]


@every_kind
@every_model
def test_the_same_is_written(make, options) -> None:
    here = ready(make)
    there = deepcopy(here).cuda()
    assert_same(search(there, **options), search(here, **options))


@every_kind
def test_the_same_is_written_within_constraints_and_past_a_window(options) -> None:
    here = ready(transformer_language_model)
    there = deepcopy(here).cuda()
    bounds = {"prefixes": [[2, 2, 0], [], [1], [3, 0]], "no_repeat_ngram": 2, "banned": [0], "min_length": 3}
    assert_same(search(there, **bounds, **options), search(here, **bounds, **options))
    assert_same(search(there, context=4, max_length=12, **options), search(here, context=4, max_length=12, **options))


@every_kind
@every_encoder_decoder
def test_the_same_is_looked_at_and_kept(make, options) -> None:
    here = ready(make)
    trees: dict[str, list[SearchTree]] = {"cuda": [], "cpu": []}
    texts = {
        device: search(deepcopy(here).to(device), attention=True, trees=trees[device], **options) for device in trees
    }
    for row, others in zip(texts["cuda"], texts["cpu"], strict=True):
        for one, other in zip(row, others, strict=True):
            assert one.attention.keys() == other.attention.keys()
            for place, teacher_forced_attention in one.attention.items():
                torch.testing.assert_close(teacher_forced_attention.cpu(), other.attention[place])
    kept = {
        device: [[(each.token, each.parent, each.status) for each in tree.candidates] for tree in grown]
        for device, grown in trees.items()
    }
    assert kept["cuda"] == kept["cpu"]


@every_language_model
def test_a_text_as_it_comes_is_the_same(make) -> None:
    """The Transformer that knows eight positions begins again on the way."""
    here, options = bold(make), Decode(temperature=1.0, top_k=8, max_length=14)
    there = deepcopy(here).cuda()
    texts = [collect(stream(model, PROMPTS, options=options, seed=2), len(PROMPTS)) for model in (there, here)]
    assert texts[0] == texts[1]
