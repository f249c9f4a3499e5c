"""The decoders of the papers, one row and one step at a time. m_s is the source, s_t the output of the body."""

import numpy as np
import torch
from torch import Tensor, nn

from tests.nn.references import Array, weight
from tests.nn.references.recurrent import CELLS

Source = tuple[Array, dict[str, Array] | None]  # the memory without padding, and the final state of the encoder


def of(source):
    """A reference for decoders with the memory and state of source(decoder, row)."""

    def reference(decoder: nn.Module, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        rows, time = x.shape[:2]
        y = torch.zeros(rows, time, decoder.output_size, dtype=torch.float64)
        ends = [time] * rows if lengths is None else lengths.tolist()
        for row, end in enumerate(ends):
            if end:
                memory, final = source(decoder, row)
                equation = PAPERS[type(decoder.context).__name__]
                outputs = equation(decoder, x[row, :end].detach().numpy(), memory, Body(decoder, memory, final))
                y[row, :end] = torch.from_numpy(np.stack(outputs))
        return y

    return reference


# The papers ------------------------------------------------------------------------------------------------------


def sutskever(decoder: nn.Module, x: Array, memory: Array, body: "Body") -> list[Array]:
    """s_0 = the final state of the encoder;  s_t = f(s_{t−1}, x_t)"""
    outputs = []
    for t in range(len(x)):
        s = body.step(x[t], *fed_output(decoder, outputs))
        outputs.append(combine(decoder, np.zeros(0), s))
    return outputs


def cho(decoder: nn.Module, x: Array, memory: Array, body: "Body") -> list[Array]:
    """c = pool(m);  s_t = f(s_{t−1}, [x_t; c])"""
    c = pool(decoder.context.pool, memory)
    outputs = []
    for t in range(len(x)):
        s = body.step(x[t], when_fed(decoder, t, c), *fed_output(decoder, outputs))
        outputs.append(combine(decoder, c, s))
    return outputs


def bahdanau(decoder: nn.Module, x: Array, memory: Array, body: "Body") -> list[Array]:
    """c_t = Σ_j α_tj m_j,  α_tj ∝ exp(e(s_{t−1}, m_j));  s_t = f(s_{t−1}, [x_t; c_t])"""
    outputs = []
    for t in range(len(x)):
        c = attend(decoder.context.attention.score, body.output, memory)
        s = body.step(x[t], when_fed(decoder, t, c), *fed_output(decoder, outputs))
        outputs.append(combine(decoder, c, s))
    return outputs


def luong(decoder: nn.Module, x: Array, memory: Array, body: "Body") -> list[Array]:
    """s_t = f(s_{t−1}, x_t);  c_t = Σ_j α_tj m_j,  α_tj ∝ exp(e(s_t, m_j))"""
    outputs = []
    for t in range(len(x)):
        s = body.step(x[t], *fed_output(decoder, outputs))
        c = attend(decoder.context.attention.score, s, memory)
        outputs.append(combine(decoder, c, s))
    return outputs


PAPERS = {"NoContext": sutskever, "PooledContext": cho, "AttentionBefore": bahdanau, "AttentionAfter": luong}


# Shared equations ------------------------------------------------------------------------------------------------


def when_fed(decoder: nn.Module, t: int, c: Array) -> Array:
    """The context is an input of the body at every step, or at the first alone."""
    return c if decoder.context_input == "every" or t == 0 else np.zeros_like(c)


def fed_output(decoder: nn.Module, outputs: list[Array]) -> list[Array]:
    """Input feeding: y_{t−1}, or zeros at the first step."""
    if not decoder.input_feeding:
        return []
    return [outputs[-1] if outputs else np.zeros(decoder.output_size)]


def combine(decoder: nn.Module, c: Array, s: Array) -> Array:
    """[c; s], or tanh(W_c [c; s])"""
    concatenated = np.concatenate([c, s])
    return (
        concatenated
        if type(decoder.meeting).__name__ == "ConcatCombine"
        else np.tanh(weight(decoder.meeting.linear, "weight") @ concatenated)
    )


def pool(module: nn.Module, memory: Array) -> Array:
    if not len(memory):
        return np.zeros(memory.shape[1])
    return {"LastPool": memory[-1], "MeanPool": memory.mean(axis=0), "MaxPool": memory.max(axis=0)}[
        type(module).__name__
    ]


class Body:
    """Stacked cells: the input of each is the h of the cell below."""

    def __init__(self, decoder: nn.Module, memory: Array, final: dict[str, Array] | None) -> None:
        layers = {"": decoder.body} if type(decoder.body).__name__ == "Recurrent" else dict(decoder.body.layers.items())
        self.cells = {name: layer.cell for name, layer in layers.items() if type(layer).__name__ == "Recurrent"}
        self.states: dict[str, dict[str, Array]] = {}
        for name, cell in self.cells.items():
            begin = {"hidden", "cell"} if type(cell).__name__.startswith("LSTM") else {"hidden"}
            self.states[name] = {
                part: self.first(decoder, f"{name}.{part}".lstrip("."), memory, final) for part in begin
            }

    def first(self, decoder: nn.Module, name: str, memory: Array, final: dict[str, Array] | None) -> Array:
        """s_0: the encoder's final state or the mean of m as h, each as it is or mapped, tanh(W … + b); or zeros."""
        bridge = decoder.bridge
        if type(bridge).__name__ == "LastMapBridge":
            linear = bridge.maps[name.replace(".", "/")]
            return np.tanh(weight(linear, "weight") @ final[name] + weight(linear, "bias"))
        if type(bridge).__name__ == "MeanBridge" and name.endswith("hidden"):
            return pool(bridge.pool, memory)
        if type(bridge).__name__ == "LastBridge":
            return final[name]
        if type(bridge).__name__ == "LearnedBridge":
            linear = bridge.maps[name.replace(".", "/")]
            return np.tanh(weight(linear, "weight") @ pool(bridge.pool, memory) + weight(linear, "bias"))
        return np.zeros(decoder.body.output_size)

    @property
    def output(self) -> Array:
        return list(self.states.values())[-1]["hidden"]

    def step(self, *inputs: Array) -> Array:
        x = np.concatenate(inputs)
        for name, cell in self.cells.items():
            self.states[name] = CELLS[type(cell).__name__](cell, x, self.states[name])
            x = self.states[name]["hidden"]
        return x


def attend(score: nn.Module, query: Array, memory: Array) -> Array:
    """Σ_j α_j m_j, or zeros for an empty source."""
    if not len(memory):
        return np.zeros(memory.shape[1])
    e = np.array([SCORES[type(score).__name__](score, query, key) for key in memory])
    α = np.exp(e - e.max()) / np.exp(e - e.max()).sum()
    return sum(α[j] * memory[j] for j in range(len(memory)))


def additive(score: nn.Module, q: Array, k: Array) -> float:
    W_q, W_k, v = (weight(score, name)[0].T for name in ("query_weight", "key_weight", "vector"))
    return (v @ np.tanh(W_q @ q + W_k @ k)).item()


def low_rank(score: nn.Module, q: Array, k: Array) -> float:
    U, V = (weight(score, name)[0].T for name in ("query_weight", "key_weight"))
    return (U @ q) @ (V @ k)


SCORES = {
    "Dot": lambda score, q, k: q @ k,
    "ScaledDot": lambda score, q, k: q @ k / np.sqrt(len(k)),
    "Cosine": lambda score, q, k: q @ k / np.sqrt((q @ q) * (k @ k)) / score.temperature,
    "Bilinear": lambda score, q, k: q @ weight(score, "weight")[0] @ k,
    "LowRank": low_rank,
    "Additive": additive,
    "Gaussian": lambda score, q, k: -((q - k) @ (q - k)) / (2 * score.width**2),
}
