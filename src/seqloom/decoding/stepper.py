"""The model side of a search: read prompts and newest tokens, keep the state, record attention."""

from collections.abc import Iterable, Sequence
from itertools import chain

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from seqloom.decoding.beam import PartialHypothesis
from seqloom.nn.model import GenerativeModel
from seqloom.nn.record import keep_rows, record
from seqloom.nn.recorded_step import StepRows
from seqloom.nn.recording import Recording, attends_to_memory
from seqloom.nn.state import State

Logits = Float[Tensor, "rows vocabulary"]
AttentionWeights = dict[str, Tensor]  # by layer, [rows, heads, source]


class Stepper:
    """A model, and its state after the tokens of all live hypotheses.

    window: the most tokens that the model reads in one sequence; None for any number. A hypothesis that has filled it
        continues from a fresh state with the last half of its tokens, so that it may be longer than what the model can
        read. (For language models only: their state depends on the tokens alone.)
    attention: the weights over the memory, call by call; None if not recorded
    recorded: `State.recorded` after each call
    """

    def __init__(
        self,
        model: GenerativeModel,
        prompts: Sequence[Sequence[int]],
        window: int | None = None,
        *,
        attention: bool = False,
    ) -> None:
        self.model, self.window = model, window
        self.prompts = [list(prompt) if window is None else list(prompt)[-window:] for prompt in prompts]
        self.device = next(model.parameters()).device
        self.attention: list[AttentionWeights] | None = [] if attention else None
        self.recorded: list[StepRows | None] = []
        self.state = State()

    def start(
        self,
        source: Shaped[Tensor, "batch *rest"] | None,
        lengths: Int[Tensor, " batch"] | None,
        hypotheses: Sequence[PartialHypothesis],
    ) -> Logits:
        """The scores of the first token of each hypothesis, of which each source has the same number."""
        tokens, token_lengths = pad_tokens(self.prompts, self.device)
        state = self.model.start(tokens if source is None else source, lengths)
        logits, self.state = self.read(tokens, state, token_lengths)
        for hypothesis in hypotheses:
            hypothesis.tokens_read = len(self.prompts[hypothesis.source])
        if len(hypotheses) == len(self.prompts):
            self.recorded.append(self.state.recorded)
            return logits
        rows = torch.tensor([hypothesis.source for hypothesis in hypotheses])
        self.attention = self.attention and [{name: weights[rows] for name, weights in self.attention[0].items()}]
        rows = rows.to(self.device)
        self.state = self.state.select(rows)
        self.recorded.append(self.state.recorded)
        return logits[rows]

    def advance(
        self, live: Sequence[PartialHypothesis], continuing: Sequence[PartialHypothesis]
    ) -> tuple[list[PartialHypothesis], Logits]:
        """The hypotheses that continue, in the order of the new state, and the scores of their next token.

        A hypothesis whose window is full restarts separately from the others, so that this depends on it alone.
        """
        rows = [hypothesis.row for hypothesis in continuing]
        if [hypothesis.source for hypothesis in live] == [hypothesis.source for hypothesis in continuing]:
            state = self.state.reorder(rows)  # copies only rows that change
        else:
            state = self.state.select(torch.tensor(rows, device=self.device))
        full = [self.window is not None and hypothesis.tokens_read >= self.window for hypothesis in continuing]
        if not any(full):
            logits, self.state = self.read_newest(continuing, state)
            self.recorded.append(self.state.recorded)
            return list(continuing), logits
        restarting = [hypothesis for hypothesis, is_full in zip(continuing, full, strict=True) if is_full]
        others = [hypothesis for hypothesis, is_full in zip(continuing, full, strict=True) if not is_full]
        logits, self.state = self.restart(restarting)
        if others:
            other_rows = torch.tensor([row for row, is_full in enumerate(full) if not is_full], device=self.device)
            other_logits, state = self.read_newest(others, state.select(other_rows))
            logits, self.state = torch.cat([other_logits, logits]), State.cat([state, self.state])
        self.recorded.append(self.state.recorded)
        return others + restarting, logits

    def read_newest(self, hypotheses: Sequence[PartialHypothesis], state: State) -> tuple[Logits, State]:
        """Read the last token of each hypothesis."""
        # On a GPU the state has only a bound on its positions.
        state = state.with_position(state.position, max(hypothesis.tokens_read for hypothesis in hypotheses))
        for hypothesis in hypotheses:
            hypothesis.tokens_read += 1
        tokens = torch.tensor([[hypothesis.token] for hypothesis in hypotheses], device=self.device)
        return self.read(tokens, state, None)

    def restart(self, hypotheses: Sequence[PartialHypothesis]) -> tuple[Logits, State]:
        """Read the last tokens of each hypothesis, half a window, from a fresh state."""
        half = max(1, (self.window or 0) // 2)
        rows = [[*self.prompts[hypothesis.source], *hypothesis.tokens()][-half:] for hypothesis in hypotheses]
        for hypothesis, row in zip(hypotheses, rows, strict=True):
            hypothesis.tokens_read = len(row)
        tokens, lengths = pad_tokens(rows, self.device)
        return self.read(tokens, self.model.start(tokens), lengths)

    def read(
        self, tokens: Int[Tensor, "rows time"], state: State, lengths: Int[Tensor, " rows"] | None
    ) -> tuple[Logits, State]:
        """The scores of the next token, in float32 at least; the caller may overwrite them."""
        if self.attention is None:
            logits, new_state = self.model.next_token_logits(tokens, state, lengths)
        else:
            with record("attention") as recording:
                logits, new_state = self.model.next_token_logits(tokens, state, lengths)
            self.attention.append(last_step_attention(recording, lengths))
        return logits.to(torch.promote_types(logits.dtype, torch.float32)), new_state

    def keep_recorded(self, hypotheses: Iterable[PartialHypothesis]) -> None:
        """Let open recordings keep only these hypotheses, each up to the step that scored its last token."""
        steps = [(self.recorded[max(0, hypothesis.steps - 1)], hypothesis.row) for hypothesis in hypotheses]
        all_rows = chain.from_iterable(rows for rows in self.recorded if rows is not None)
        keep_rows([rows[row] for rows, row in steps if rows is not None], all_rows)

    def path_attention(
        self, path: Sequence[PartialHypothesis], length: int | None
    ) -> dict[str, Float[Tensor, "heads steps source"]] | None:
        """The weights of the steps of one hypothesis, over the valid steps of its source; None if not recorded.

        Each step knows the row in which it was scored, so reordering beams moves no weights.
        """
        if self.attention is None or not path:
            return None if self.attention is None else {}
        return {
            name: torch.stack([self.attention[step.steps - 1][name][step.row] for step in path], dim=1)[:, :, :length]
            for name in self.attention[0]
        }


def last_step_attention(recording: Recording, lengths: Int[Tensor, " rows"] | None) -> AttentionWeights:
    """The recorded weights over the memory at each row's last valid token, on the CPU, which has more memory."""
    attention = {}
    for name, values in recording["attention"].items():
        if attends_to_memory(name):
            weights = values["weights"]
            last = -1 if lengths is None else lengths.to(weights.device) - 1
            attention[name] = weights[torch.arange(weights.shape[0], device=weights.device), :, last].cpu()
    return attention


def pad_tokens(
    rows: Sequence[Sequence[int]], device: torch.device
) -> tuple[Int[Tensor, "rows time"], Int[Tensor, " rows"] | None]:
    """The rows as one tensor, and their lengths on the CPU; None if all are equal.

    >>> pad_tokens([[1, 2], [3]], torch.device("cpu"))
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    lengths = torch.tensor([len(row) for row in rows])
    tokens = pad_sequence([torch.tensor(row) for row in rows], batch_first=True).to(device)
    return tokens, None if bool((lengths == tokens.shape[1]).all()) else lengths
