"""How likely a model thinks texts are: several read together, those of nearly equal length side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from seqloom.data.batches import batches_by_length
from seqloom.nn.model import Model
from seqloom.tasks.chunking import Pieces
from seqloom.tasks.padding import padded

AT_ONCE = 1024  # tokens whose scores are held together, each over the whole vocabulary


@dataclass
class Scored:
    """What a model made of one text."""

    nats: float = 0.0  # Σ −log p(token | tokens before)
    given: list[int] = field(default_factory=list)  # the tokens that nothing stands before, which are not in the sum
    following: Float[Tensor, " vocabulary"] = field(default_factory=lambda: torch.empty(0))  # scores of what comes next


def scored(model: Model, texts: Sequence[Sequence[int]], most: int | None, device: torch.device) -> list[Scored]:
    """Each text, given as its tokens; where a model reads no more than `most`, a longer text is read in pieces.

    >>> from seqloom.nn import GRU, PerToken, Recurrent, TokenEmbedding
    >>> model = Model(TokenEmbedding(10, 4), Recurrent(GRU(4, 8)), PerToken(8, 10)).eval()
    >>> with torch.inference_mode():
    ...     one, other = scored(model, [[1, 2, 3], [4]], None, torch.device("cpu"))
    >>> one.nats > 0, one.given, other.nats
    (True, [1], 0.0)
    """
    told = [Scored() for _ in texts]
    pieces = Pieces.of(np.array([len(text) for text in texts], dtype=np.int64), most)
    for some in batches_by_length(pieces.lengths, AT_ONCE, seed=0, epoch=0):
        places = [(int(pieces.rows[i]), int(pieces.starts[i]), int(pieces.lengths[i])) for i in some]
        read = [np.array(texts[row][start : start + length]) for row, start, length in places]
        nats, following = together(model, *padded(read), device)
        for (row, start, length), each, scores in zip(places, nats.tolist(), following, strict=True):
            told[row].nats += each
            told[row].given.append(texts[row][start])
            if start + length == len(texts[row]):
                told[row].following = scores
    return told


def together(
    model: Model, tokens: Int[Tensor, "batch time"], lengths: Int[Tensor, " batch"], device: torch.device
) -> tuple[Float[Tensor, " batch"], Float[Tensor, "batch vocabulary"]]:
    """Σ −log p of each row's tokens but the first, and the scores of what follows its last.

    Rows of a batch fit within AT_ONCE; one that does not is alone, and is read on from stretch to stretch.
    """
    rows, time = tokens.shape
    nats, state, logits, start = torch.zeros(rows, dtype=torch.float64), model.start(tokens), torch.empty(0), 0
    for start in range(0, time, AT_ONCE):
        stretch, target = tokens[:, start : start + AT_ONCE], tokens[:, start + 1 : start + 1 + AT_ONCE]
        logits, state = model.step(stretch.to(device), state, lengths if rows > 1 else None)
        predicted = logits[:, : target.shape[1]].float().flatten(0, 1)
        each = F.cross_entropy(predicted, target.to(device).flatten(), reduction="none").view(target.shape).cpu()
        real = torch.arange(start + 1, start + 1 + target.shape[1]) < lengths.unsqueeze(1)
        nats += torch.where(real, each, 0).double().sum(dim=1)
    return nats, logits[torch.arange(rows), lengths - 1 - start].float()
