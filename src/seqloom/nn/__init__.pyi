# ruff: isort: skip_file
# fmt: off
from seqloom.nn.activations import ACTIVATIONS as ACTIVATIONS, activation as activation
from seqloom.nn.attention import Attention as Attention
from seqloom.nn.attention_decoder import (
    AttentionDecoder as AttentionDecoder, Combine as Combine, ConcatCombine as ConcatCombine,
    TanhCombine as TanhCombine,
)
from seqloom.nn.bridges import (
    BRIDGES as BRIDGES, Bridge as Bridge, LastBridge as LastBridge, LastMapBridge as LastMapBridge,
    LearnedBridge as LearnedBridge, MeanBridge as MeanBridge, NoBridge as NoBridge, choose_bridge as choose_bridge,
)
from seqloom.nn.cells import CELLS as CELLS
from seqloom.nn.cells.cell import Cell as Cell
from seqloom.nn.cells.gru import (
    GRU as GRU, GRUAfter as GRUAfter, as_replacement as as_replacement, flip_update as flip_update,
)
from seqloom.nn.cells.lstm import (
    LSTM as LSTM, LSTMCoupled as LSTMCoupled, LSTMLayerNorm as LSTMLayerNorm, LSTMNoTanh as LSTMNoTanh,
    LSTMPeephole as LSTMPeephole,
)
from seqloom.nn.cells.rnn import LinearRNN as LinearRNN, RNN as RNN, ReluRNN as ReluRNN, SigmoidRNN as SigmoidRNN
from seqloom.nn.conversion import (
    cross_attention_from_torch as cross_attention_from_torch, decoder_from_torch as decoder_from_torch,
    decoder_layer_from_torch as decoder_layer_from_torch, encoder_from_torch as encoder_from_torch,
    encoder_layer_from_torch as encoder_layer_from_torch, from_torch as from_torch,
    self_attention_from_torch as self_attention_from_torch, to_torch as to_torch,
)
from seqloom.nn.convolution import (
    CausalConvolution as CausalConvolution, CenteredConvolution as CenteredConvolution,
    GatedLinearConvolution as GatedLinearConvolution, GatedLinearUnit as GatedLinearUnit,
    GatedTanhConvolution as GatedTanhConvolution, GatedTanhUnit as GatedTanhUnit,
)
from seqloom.nn.decoder_context import (
    AttentionAfter as AttentionAfter, AttentionBefore as AttentionBefore, Context as Context, NoContext as NoContext,
    PooledContext as PooledContext,
)
from seqloom.nn.deep_recurrent import recurrent_stack as recurrent_stack
from seqloom.nn.dense import (
    DenseOverBoth as DenseOverBoth, DenseOverFeatures as DenseOverFeatures, DenseOverTokens as DenseOverTokens,
)
from seqloom.nn.dropout import Dropout as Dropout, VariationalDropout as VariationalDropout
from seqloom.nn.feed_forward import FeedForward as FeedForward, GatedFeedForward as GatedFeedForward
from seqloom.nn.heads.crf import CRF as CRF, Chain as Chain
from seqloom.nn.heads.head import ClassHead as ClassHead, Head as Head, Loss as Loss, PADDING as PADDING
from seqloom.nn.heads.per_token import LabelsPerToken as LabelsPerToken, PerToken as PerToken
from seqloom.nn.heads.pooled import LabelsPerSequence as LabelsPerSequence, PerSequence as PerSequence, Pooled as Pooled
from seqloom.nn.heads.regression import GaussianLikelihood as GaussianLikelihood, SquaredError as SquaredError
from seqloom.nn.heads.tied import TiedLinear as TiedLinear
from seqloom.nn.initialization import initialize as initialize
from seqloom.nn.layer import Identity as Identity, Layer as Layer, Pointwise as Pointwise, Traits as Traits
from seqloom.nn.mixer import MixerBlock as MixerBlock, TokenMixing as TokenMixing
from seqloom.nn.model import EncoderDecoder as EncoderDecoder, Model as Model
from seqloom.nn.multihead import (
    CrossAttention as CrossAttention, PlainSelfAttention as PlainSelfAttention, SelfAttention as SelfAttention,
)
from seqloom.nn.normalization import (
    BatchNorm as BatchNorm, GroupNorm as GroupNorm, InstanceNorm as InstanceNorm, LayerNorm as LayerNorm,
    NORMS as NORMS, PlainLayerNorm as PlainLayerNorm, RMSNorm as RMSNorm,
)
from seqloom.nn.pooling import (
    AttentionPool as AttentionPool, LastPool as LastPool, LastStepPool as LastStepPool, MaxPool as MaxPool,
    MeanPool as MeanPool, POOLS as POOLS, Pool as Pool,
)
from seqloom.nn.positions import (
    LearnedPositions as LearnedPositions, POSITIONS as POSITIONS, Rotary as Rotary, Sinusoidal as Sinusoidal,
)
from seqloom.nn.record import offer as offer
from seqloom.nn.recurrent import Bidirectional as Bidirectional, Recurrent as Recurrent
from seqloom.nn.residual import PostNorm as PostNorm, PreNorm as PreNorm, Residual as Residual
from seqloom.nn.scores import (
    Additive as Additive, Bilinear as Bilinear, Cosine as Cosine, Dot as Dot, Gaussian as Gaussian, LowRank as LowRank,
    SCORES as SCORES, ScaledDot as ScaledDot, Score as Score,
)
from seqloom.nn.stack import DenseStack as DenseStack, Stack as Stack
from seqloom.nn.state import State as State
from seqloom.nn.stems import TokenEmbedding as TokenEmbedding
from seqloom.nn.transformer import TransformerConfig as TransformerConfig
from seqloom.nn.vision import ImageCNN as ImageCNN, PatchEmbedding as PatchEmbedding
from seqloom.nn.window import FixedWindow as FixedWindow, FixedWindowDirect as FixedWindowDirect, Window as Window
from seqloom.nn.word_embedding import (
    CharacterCNN as CharacterCNN, CharacterEncoder as CharacterEncoder, CharacterLSTM as CharacterLSTM,
    WordEmbedding as WordEmbedding,
)
