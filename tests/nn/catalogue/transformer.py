"""The Transformer: every kind of block, post- and pre-norm, and the modern parts."""

from dataclasses import replace

from seqloom.nn.transformer import LLAMA, TransformerConfig, cross_decoder, decoder, encoder
from tests.nn.catalogue.attention import MEMORY, begin, row
from tests.nn.catalogue.case import Case
from tests.nn.references.attention import attention, no_memory

small = TransformerConfig(depth=1, size=6, heads=2, hidden_size=8, dropout=0.0)
deep = replace(small, depth=2)
pre = replace(small, norm_order="pre", activation="gelu")
modern = replace(LLAMA, depth=1, size=8, heads=4, hidden_size=6, dropout=0.0)

alone = {
    "encoder, post-norm": lambda: encoder(deep),
    "encoder, pre-norm": lambda: encoder(pre),
    "encoder, modern": lambda: encoder(modern),
    "decoder, post-norm": lambda: decoder(small),
    "decoder, pre-norm": lambda: decoder(pre),
    "decoder, modern": lambda: decoder(replace(modern, depth=2)),
}

looking = {
    "cross decoder, post-norm": lambda: cross_decoder(small, memory_size=MEMORY),
    "cross decoder, pre-norm": lambda: cross_decoder(pre, memory_size=MEMORY),
    "cross decoder, modern": lambda: cross_decoder(replace(modern, window=3), memory_size=MEMORY),
}

cases = [Case(name, make, attention(no_memory)) for name, make in alone.items()]
cases += [Case(name, make, attention(row), begin) for name, make in looking.items()]
cases += [Case("decoder, dropout", lambda: decoder(replace(small, dropout=0.2)), attention(no_memory), noisy=True)]
