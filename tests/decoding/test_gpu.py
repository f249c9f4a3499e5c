"""Results on a CUDA device equal those of the CPU, which the other tests compare with brute force."""

from copy import deepcopy

import pytest
import torch

from seqloom.core.config.decode import Decode
from seqloom.decoding.hypothesis import SearchTree
from seqloom.decoding.stream import stream
from tests.decoding.models import every_encoder_decoder, every_model, ready, transformer_language_model
from tests.decoding.searching import assert_same, collect, every_kind, search
from tests.decoding.test_stream import PROMPTS
from tests.decoding.test_stream import every_model as every_language_model
from tests.decoding.test_stream import ready as ready_to_stream

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("unchecked")]


@every_kind
@every_model
def test_the_result_equals_that_of_the_cpu(make, options) -> None:
    cpu_model = ready(make)
    cuda_model = deepcopy(cpu_model).cuda()
    assert_same(search(cuda_model, **options), search(cpu_model, **options))


@every_kind
def test_constraints_and_windows_equal_those_of_the_cpu(options) -> None:
    cpu_model = ready(transformer_language_model)
    cuda_model = deepcopy(cpu_model).cuda()
    bounds = {"prefixes": [[2, 2, 0], [], [1], [3, 0]], "no_repeat_ngram": 2, "banned": [0], "min_length": 3}
    assert_same(search(cuda_model, **bounds, **options), search(cpu_model, **bounds, **options))
    assert_same(
        search(cuda_model, context=4, max_length=12, **options), search(cpu_model, context=4, max_length=12, **options)
    )


@every_kind
@every_encoder_decoder
def test_attention_and_the_search_tree_equal_those_of_the_cpu(make, options) -> None:
    cpu_model = ready(make)
    trees: dict[str, list[SearchTree]] = {"cuda": [], "cpu": []}
    texts = {
        device: search(deepcopy(cpu_model).to(device), attention=True, trees=trees[device], **options)
        for device in trees
    }
    for row, others in zip(texts["cuda"], texts["cpu"], strict=True):
        for actual, expected in zip(row, others, strict=True):
            assert actual.attention.keys() == expected.attention.keys()
            for name, weights in actual.attention.items():
                torch.testing.assert_close(weights.cpu(), expected.attention[name])
    kept = {
        device: [
            [(candidate.token, candidate.parent, candidate.status) for candidate in tree.candidates] for tree in rows
        ]
        for device, rows in trees.items()
    }
    assert kept["cuda"] == kept["cpu"]


@every_language_model
def test_streaming_equals_that_of_the_cpu(make) -> None:
    """The window of the Transformer of eight positions slides during generation."""
    cpu_model, options = ready_to_stream(make), Decode(temperature=1.0, top_k=8, max_length=14)
    cuda_model = deepcopy(cpu_model).cuda()
    texts = [
        collect(stream(model, PROMPTS, options=options, seed=2), len(PROMPTS)) for model in (cuda_model, cpu_model)
    ]
    assert texts[0] == texts[1]
