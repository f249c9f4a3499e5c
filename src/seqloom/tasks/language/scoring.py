"""The likelihood of texts under a language model, computed in batches of similar length."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from seqloom.data.batches import batches_by_length
from seqloom.kernels.masks import sequence_mask
from seqloom.nn.model import Model
from seqloom.tasks.chunking import Chunks
from seqloom.tasks.task import pad_rows

CHUNK = 1024  # tokens whose logits are held together, each over the whole vocabulary


@dataclass
class TextScore:
    """The likelihood of a text.

    nats: Σ −log p(token | tokens before)
    first_tokens: the tokens without any before them, which are not in the sum
    next_logits: of the token that follows the text
    """

    nats: float = 0.0
    first_tokens: list[int] = field(default_factory=list)
    next_logits: Float[Tensor, " vocabulary"] = field(default_factory=lambda: torch.empty(0))


def score_texts(
    model: Model, texts: Sequence[Sequence[int]], max_length: int | None, device: torch.device
) -> list[TextScore]:
    """Score each text, given as its tokens; a text longer than `max_length` is read in chunks.

    >>> from seqloom.nn import GRU, PerToken, Recurrent, TokenEmbedding
    >>> model = Model(TokenEmbedding(10, 4), Recurrent(GRU(4, 8)), PerToken(8, 10)).eval()
    >>> with torch.inference_mode():
    ...     first, second = score_texts(model, [[1, 2, 3], [4]], None, torch.device("cpu"))
    >>> first.nats > 0, first.first_tokens, second.nats
    (True, [1], 0.0)
    """
    scores = [TextScore() for _ in texts]
    chunks = Chunks.cut(np.array([len(text) for text in texts], dtype=np.int64), max_length)
    for batch in batches_by_length(chunks.lengths, CHUNK, seed=0, epoch=0):
        ranges = [(int(chunks.rows[i]), int(chunks.starts[i]), int(chunks.lengths[i])) for i in batch]
        tokens = [np.array(texts[row][start : start + length]) for row, start, length in ranges]
        sums, next_logits = score_batch(model, *pad_rows(tokens), device)
        for (row, start, length), nats, logits in zip(ranges, sums.tolist(), next_logits, strict=True):
            scores[row].nats += nats
            scores[row].first_tokens.append(texts[row][start])
            if start + length == len(texts[row]):
                scores[row].next_logits = logits
    return scores


def score_batch(
    model: Model, tokens: Int[Tensor, "batch time"], lengths: Int[Tensor, " batch"], device: torch.device
) -> tuple[Float[Tensor, " batch"], Float[Tensor, "batch vocabulary"]]:
    """Σ −log p of each row's tokens but the first, and the logits of the token that follows the row.

    A batch has at most CHUNK tokens; a longer row is alone, and is read chunk by chunk with its state carried.
    """
    rows, time = tokens.shape
    nats, state, logits, start = torch.zeros(rows, dtype=torch.float64), model.start(tokens), torch.empty(0), 0
    for start in range(0, time, CHUNK):
        source, target = tokens[:, start : start + CHUNK], tokens[:, start + 1 : start + 1 + CHUNK]
        logits, state = model.step(source.to(device), state, lengths if rows > 1 else None)
        predicted = logits[:, : target.shape[1]].float().flatten(0, 1)
        losses = F.cross_entropy(predicted, target.to(device).flatten(), reduction="none").view(target.shape).cpu()
        mask = sequence_mask(lengths - start - 1, target.shape[1])
        nats += torch.where(mask, losses, 0).double().sum(dim=1)
    return nats, logits[torch.arange(rows), lengths - 1 - start].float()
