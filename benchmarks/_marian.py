"""`transformers`' Marian and the same Transformer built from seqloom's layers, with equal random weights."""

from types import ModuleType

import torch
from torch import Tensor, nn

from seqloom.nn import PerToken, Sinusoidal, TokenEmbedding
from seqloom.nn.model import EncoderDecoder
from seqloom.nn.transformer import BASE, cross_decoder, encoder

END, POSITIONS = 0, 1100  # the token that begins and ends a text; the maximum number of positions of Marian


def marian(transformers: ModuleType, vocabulary: int, seed: int = 1) -> nn.Module:
    """Marian's model, the Transformer of 2017 (6 + 6 blocks, 512 wide), with random weights and our positions."""
    torch.manual_seed(seed)
    config = transformers.MarianConfig(
        vocab_size=vocabulary,
        d_model=BASE.size,
        encoder_layers=BASE.depth,
        decoder_layers=BASE.depth,
        encoder_attention_heads=BASE.heads,
        decoder_attention_heads=BASE.heads,
        encoder_ffn_dim=BASE.hidden_size,
        decoder_ffn_dim=BASE.hidden_size,
        max_position_embeddings=POSITIONS,
        activation_function="relu",
        scale_embedding=True,
        bos_token_id=END,
        eos_token_id=END,
        pad_token_id=vocabulary - 1,
        decoder_start_token_id=END,
        forced_eos_token_id=None,
    )
    model = transformers.MarianMTModel(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.05 * torch.randn_like(weight)  # texts vary, no norm weight is 1 and no bias is 0
        table, _ = Sinusoidal(BASE.size)(torch.zeros(1, POSITIONS, BASE.size))
        for side in (model.model.encoder, model.model.decoder):
            side.embed_positions.weight.copy_(table[0])
    return model


def ours(theirs: nn.Module) -> EncoderDecoder:
    """seqloom's Transformer with all weights of Marian's."""
    vocabulary = theirs.config.vocab_size

    def stem() -> TokenEmbedding:
        return TokenEmbedding(vocabulary, BASE.size, scaled=True, positions=Sinusoidal(BASE.size))

    target = stem()
    head = PerToken(BASE.size, vocabulary, tied=target.embedding)
    model = EncoderDecoder(stem(), encoder(), target, cross_decoder(), head).eval()
    weights = {
        "source_stem.embedding.weight": theirs.model.shared.weight,
        "target_stem.embedding.weight": theirs.model.shared.weight,
        "head.output.bias": theirs.final_logits_bias[0],
    }
    for side, blocks in (("encoder", theirs.model.encoder.layers), ("decoder", theirs.model.decoder.layers)):
        for k, block in enumerate(blocks):
            weights |= block_weights(f"{side}.layers.{k}.layers", block)
    own = dict(model.named_parameters())
    assert set(own) == set(weights), set(own) ^ set(weights)
    with torch.no_grad():
        for name, weight in own.items():
            weight.copy_(weights[name])
    return model


def block_weights(name: str, block: nn.Module) -> dict[str, Tensor]:
    """The weights of one block, with seqloom's names."""
    attention = attention_weights(f"{name}.attention.layers", block.self_attn, block.self_attn_layer_norm)
    if hasattr(block, "encoder_attn"):
        attention |= attention_weights(f"{name}.cross.layers", block.encoder_attn, block.encoder_attn_layer_norm)
    return {
        **attention,
        **named(f"{name}.feed_forward.layers.layer.widen", block.fc1),
        **named(f"{name}.feed_forward.layers.layer.narrow", block.fc2),
        **named(f"{name}.feed_forward.layers.norm", block.final_layer_norm),
    }


def attention_weights(name: str, attention: nn.Module, norm: nn.Module) -> dict[str, Tensor]:
    """The weights of attention and the norm after it."""
    maps = {"query": attention.q_proj, "key": attention.k_proj, "value": attention.v_proj, "output": attention.out_proj}
    weights = named(f"{name}.norm", norm)
    for kind, module in maps.items():
        weights |= named(f"{name}.layer.{kind}", module)
    return weights


def named(name: str, module: nn.Module) -> dict[str, Tensor]:
    """The weights of a module, with another prefix."""
    return {f"{name}.{kind}": weight for kind, weight in module.named_parameters()}
