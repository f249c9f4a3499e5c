"""The score of a text does not depend on the other texts of the batch."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from seqloom.nn import GRU, PerToken, Recurrent, TokenEmbedding
from seqloom.nn.model import Model
from seqloom.tasks.language import scoring
from seqloom.tasks.language.scoring import score_texts

pytestmark = pytest.mark.usefixtures("unchecked")
CPU = torch.device("cpu")
TEXTS = st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=20), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def model() -> Model:
    torch.manual_seed(1)
    return Model(TokenEmbedding(7, 4), Recurrent(GRU(4, 5)), PerToken(5, 7)).double().eval()


def alone(model: Model, tokens: list[int]) -> tuple[float, Tensor]:
    """−log p of all tokens but the first, and the logits of the next token, in one forward pass."""
    y, _ = model(torch.tensor([tokens]))
    logits = model.head(y)[0]
    return float(F.cross_entropy(logits[:-1], torch.tensor(tokens[1:], dtype=torch.int64), reduction="sum")), logits[
        -1
    ].float()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(TEXTS, st.sampled_from([1, 5, 16, 1024]), st.sampled_from([None, 1, 4]))
def test_the_score_of_a_text_does_not_depend_on_the_batch(
    model: Model, texts: list[list[int]], chunk_size: int, max_length: int | None
) -> None:
    with pytest.MonkeyPatch.context() as patch, torch.inference_mode():
        patch.setattr(scoring, "CHUNK", chunk_size)
        scores = score_texts(model, texts, max_length, CPU)
        for text, score in zip(texts, scores, strict=True):
            size = max_length or len(text)
            chunks = [text[i : i + size] for i in range(0, len(text), size)]
            expected = [alone(model, chunk) for chunk in chunks]
            assert score.nats == pytest.approx(sum(nats for nats, _ in expected), abs=1e-6)
            assert sorted(score.first_tokens) == sorted(chunk[0] for chunk in chunks)
            torch.testing.assert_close(score.next_logits, expected[-1][1], rtol=0, atol=1e-6)
