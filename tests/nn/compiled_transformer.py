"""A compiled Transformer equals the plain one: python -m tests.nn.compiled_transformer blocks aot_eager"""

import sys
from dataclasses import replace

import torch
from torch.testing import assert_close

from seqloom.nn.layer import Layer
from seqloom.nn.transformer import LLAMA, TransformerConfig, decoder, encoder

PLAIN = TransformerConfig(depth=1, size=8, heads=2, hidden_size=12, dropout=0.0)
MODERN = replace(LLAMA, depth=1, size=8, heads=4, hidden_size=12, dropout=0.0)


def compile_layer(layer: Layer, backend: str) -> Layer:
    torch.compiler.reset()
    return torch.compile(layer, fullgraph=True, backend=backend)


def blocks(backend: str) -> None:
    """Outputs, state and gradients of one call, with lengths."""
    for layer in (encoder(MODERN).eval(), decoder(PLAIN).eval()):
        x, lengths = torch.randn(2, 5, 8, requires_grad=True), torch.tensor([5, 3])
        results = []
        for module in (layer, compile_layer(layer, backend)):
            y, state = module(x, lengths)
            results.append([y, dict(state), state.position, *torch.autograd.grad(y.square().sum(), x)])
        assert_close(*results)


@torch.no_grad()
def steps(backend: str) -> None:
    """Stepwise, the cache and max_position grow; after a few steps nothing is compiled again."""
    for config in (PLAIN, MODERN):
        layer, x = decoder(config).eval(), torch.randn(2, 24, 8)
        step = compile_layer(layer, backend)
        outputs, state = [], None
        for t in range(24):
            with torch.compiler.set_stance("fail_on_recompile" if t > 8 else "default"):
                y, state = step(x[:, t : t + 1], state=state)
            outputs.append(y)
        assert_close(torch.cat(outputs, dim=1), layer(x)[0])


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    {"blocks": blocks, "steps": steps}[sys.argv[1]](sys.argv[2])
