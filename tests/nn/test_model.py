"""Models as decoding, training and serving use them: start and step, loss, changing rows, files."""

import copy
from collections.abc import Callable

import pytest
import torch
from safetensors.torch import load, save
from torch import Tensor

from seqloom.core.problem import ArgumentError, CannotStep
from seqloom.nn.attention_decoder import AttentionDecoder, ConcatCombine, TanhCombine
from seqloom.nn.bridges import choose_bridge
from seqloom.nn.cells import GRU, LSTM
from seqloom.nn.decoder_context import AttentionAfter, AttentionBefore
from seqloom.nn.heads.crf import CRF
from seqloom.nn.heads.per_token import PerToken
from seqloom.nn.heads.pooled import PerSequence
from seqloom.nn.layer import Identity, Layer
from seqloom.nn.model import EncoderDecoder, Model
from seqloom.nn.multihead import SelfAttention
from seqloom.nn.positions import LearnedPositions, Sinusoidal
from seqloom.nn.record import record
from seqloom.nn.recurrent import Bidirectional, Recurrent
from seqloom.nn.stack import Stack
from seqloom.nn.state import State
from seqloom.nn.stems import TokenEmbedding, frame_embedding
from seqloom.nn.transformer import TransformerConfig, cross_decoder, encoder
from seqloom.nn.transformer import decoder as causal_decoder
from seqloom.nn.vision import ImageCNN, PatchEmbedding

SOURCE_WORDS, WORDS, SIZE = 7, 9, 8
parts = TransformerConfig(depth=2, size=SIZE, heads=2, hidden_size=12, dropout=0.0)


# Models that write ------------------------------------------------------------------------------------------------


def bahdanau(stem=None, words: int = WORDS) -> EncoderDecoder:
    """A bidirectional GRU encoder and a GRU decoder that attends before each step."""
    encoder_ = Bidirectional(Recurrent(GRU(SIZE, 5)), Recurrent(GRU(SIZE, 5)))
    body = Recurrent(GRU(SIZE + 10, SIZE))
    decoder_ = AttentionDecoder(
        body, AttentionBefore(SIZE, 10, "additive"), ConcatCombine(10, SIZE), choose_bridge(encoder_, body)
    )
    return EncoderDecoder(
        stem or TokenEmbedding(SOURCE_WORDS, SIZE),
        encoder_,
        TokenEmbedding(words, SIZE),
        decoder_,
        PerToken(10 + SIZE, words),
    )


def luong() -> EncoderDecoder:
    """Deep LSTMs with a copied state, input feeding and tied embeddings."""
    encoder_ = Stack([Recurrent(LSTM(SIZE, SIZE)), Recurrent(LSTM(SIZE, SIZE))])
    body = Stack([Recurrent(LSTM(2 * SIZE, SIZE)), Recurrent(LSTM(SIZE, SIZE))])
    context, combine = AttentionAfter(SIZE, SIZE, "bilinear"), TanhCombine(SIZE, SIZE)
    decoder_ = AttentionDecoder(body, context, combine, choose_bridge(encoder_, body), input_feeding=True)
    words = TokenEmbedding(WORDS, SIZE)
    return EncoderDecoder(
        TokenEmbedding(SOURCE_WORDS, SIZE), encoder_, words, decoder_, PerToken(SIZE, WORDS, tied=words.embedding)
    )


def transformer() -> EncoderDecoder:
    source = TokenEmbedding(SOURCE_WORDS, SIZE, scaled=True, positions=Sinusoidal(SIZE))
    words = TokenEmbedding(WORDS, SIZE, scaled=True, positions=LearnedPositions(SIZE, 12))
    return EncoderDecoder(
        source, encoder(parts), words, cross_decoder(parts), PerToken(SIZE, WORDS, tied=words.embedding)
    )


def recurrent_language_model() -> Model:
    return Model(TokenEmbedding(WORDS, SIZE), Recurrent(LSTM(SIZE, SIZE)), PerToken(SIZE, WORDS))


def transformer_language_model() -> Model:
    words = TokenEmbedding(WORDS, SIZE, positions=Sinusoidal(SIZE))
    return Model(words, causal_decoder(parts), PerToken(SIZE, WORDS, tied=words.embedding))


writers: dict[str, Callable[[], Model | EncoderDecoder]] = {
    "bahdanau": bahdanau,
    "luong": luong,
    "transformer": transformer,
    "recurrent language model": recurrent_language_model,
    "transformer language model": transformer_language_model,
}
every_writer = pytest.mark.parametrize("make", writers.values(), ids=writers)

SOURCE = torch.tensor([[1, 2, 3, 4, 5], [6, 5, 0, 0, 0], [3, 3, 3, 3, 0]])
SOURCE_LENGTHS = torch.tensor([5, 2, 4])
TOKENS = torch.tensor([[0, 3, 4, 5, 8, 1], [0, 7, 2, 2, 6, 5], [0, 1, 1, 4, 3, 2]])
TARGET = torch.tensor([[3, 4, 5, 8, 1, 0], [7, 2, 2, 6, 5, 0], [1, 1, 4, 3, 2, 0]])
LENGTHS = torch.tensor([4, 6, 1])


def ready(make: Callable[[], Model | EncoderDecoder]) -> Model | EncoderDecoder:
    """A model in eval mode and float64, with every weight perturbed."""
    model = make().double().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.3 * torch.randn_like(weight)
    return model


def begin(model: Model | EncoderDecoder, rows: list[int] | None = None) -> State:
    """The initial state of these rows; a single row has no padding."""
    rows = [0, 1, 2] if rows is None else rows
    steps = int(SOURCE_LENGTHS[rows].max())
    return model.start(SOURCE[rows, :steps], SOURCE_LENGTHS[rows])


def loss(model: Model | EncoderDecoder, lengths: Tensor | None):
    if isinstance(model, Model):
        return model.loss(TOKENS, TARGET, lengths)
    return model.loss(SOURCE, TOKENS, TARGET, SOURCE_LENGTHS, lengths)


def assert_close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-11)


def one_by_one(model: Model | EncoderDecoder, row: int, words: Tensor) -> Tensor:
    """Logits [time, vocabulary] of a single row, one token at a time."""
    state, scores = begin(model, [row]), []
    for word in words:
        step, state = model.step(word.reshape(1, 1), state)
        scores.append(step[0, 0])
    return torch.stack(scores)


@every_writer
def test_the_loss_equals_that_of_single_steps(make) -> None:
    model = ready(make)
    total = torch.zeros((), dtype=torch.float64)
    for row, length in enumerate(LENGTHS.tolist()):
        scores = one_by_one(model, row, TOKENS[row, :length])
        total -= scores.log_softmax(dim=1)[torch.arange(length), TARGET[row, :length]].sum()
    result = loss(model, LENGTHS)
    assert_close(result.total, total)
    assert result.count == LENGTHS.sum()


@every_writer
def test_the_loss_excludes_padding(make) -> None:
    model = ready(make)
    beyond = torch.arange(6) >= LENGTHS.unsqueeze(1)
    before = loss(model, LENGTHS)
    SOME_OTHER, TARGET_OTHER = TOKENS.masked_fill(beyond, -1), TARGET.masked_fill(beyond, 10**6)
    if isinstance(model, Model):
        after = model.loss(SOME_OTHER, TARGET_OTHER, LENGTHS)
    else:
        source = SOURCE.masked_fill(torch.arange(5) >= SOURCE_LENGTHS.unsqueeze(1), 10**6)
        after = model.loss(source, SOME_OTHER, TARGET_OTHER, SOURCE_LENGTHS, LENGTHS)
    assert torch.equal(after.total, before.total)


@every_writer
def test_prompts_of_unequal_length_equal_single_steps(make) -> None:
    model = ready(make)
    prompts = torch.tensor([2, 4, 0])
    first, state = model.step(TOKENS[:, :4], begin(model), prompts)
    assert state.position.tolist() == [2, 4, 0]
    following = torch.stack([TOKENS[row, n : n + 2] for row, n in enumerate(prompts.tolist())])
    second, state = model.step(following, state)
    for row, n in enumerate(prompts.tolist()):
        alone = one_by_one(model, row, TOKENS[row, : n + 2])
        assert_close(first[row, :n], alone[:n])
        assert first[row, n:].eq(0).all()
        assert_close(second[row], alone[n:])


@every_writer
@pytest.mark.parametrize("prompts", [None, [2, 4, 1]], ids=["even", "uneven"])
def test_next_token_logits_are_those_of_the_last_step(make, prompts: list[int] | None) -> None:
    model, scored = ready(make), []
    lengths = None if prompts is None else torch.tensor(prompts)
    every, _ = model.step(TOKENS[:, :4], begin(model), lengths)
    model.head.output.register_forward_pre_hook(lambda _, inputs: scored.append(inputs[0].shape[:-1].numel()))
    scores, state = model.next_token_logits(TOKENS[:, :4], begin(model), lengths)
    assert scored == [3]
    ends = [3, 3, 3] if prompts is None else [n - 1 for n in prompts]
    assert_close(scores, every[torch.arange(3), ends])
    scores, state = model.next_token_logits(TOKENS[:, 4:5], state)
    assert state.position.tolist() == [end + 2 for end in ends]


def test_the_maximum_length_is_that_of_the_stem_or_the_body() -> None:
    assert transformer().max_length == 12
    assert bahdanau().max_length is None
    assert recurrent_language_model().max_length is None
    assert Model(TokenEmbedding(WORDS, SIZE, positions=LearnedPositions(SIZE, 5)), recurrent(), head).max_length == 5
    assert Model(PatchEmbedding(3, SIZE, 4), encoder(parts), PerSequence(SIZE, 3)).max_length is None


@pytest.mark.parametrize("make", [bahdanau, luong, transformer], ids=["bahdanau", "luong", "transformer"])
def test_neither_a_step_nor_a_reorder_copies_the_memory(make) -> None:
    model = ready(make)
    with torch.no_grad():
        began = begin(model)
        memory = {name: (tensor, tensor.clone()) for name, tensor in began.items() if name in began.fixed}
        assert memory
        assert all("cross.layer" in name or "context" in name for name in memory)
        _, state = model.next_token_logits(TOKENS[:, :2], began)
        _, state = model.next_token_logits(TOKENS[:, 2:3], state.reorder([0, 2, 1]))
    assert state.fixed == set(memory)
    for name, (tensor, before) in memory.items():
        assert state[name].data_ptr() == tensor.data_ptr()
        assert torch.equal(state[name], before)


@every_writer
def test_rows_join_and_leave_between_steps(make) -> None:
    model = ready(make)
    alone = [one_by_one(model, row, TOKENS[row]) for row in range(3)]
    with torch.no_grad():  # as in decoding: a step may write in place
        scores, state = model.step(TOKENS[:2, :2], begin(model, [0, 1]))  # two rows
        assert_close(scores, torch.stack([alone[0][:2], alone[1][:2]]))
        beams = torch.tensor([1, 0, 1])  # three hypotheses of the two rows
        scores, state = model.step(TOKENS[beams, 2:3], state.select(beams))
        assert_close(scores[:, 0], torch.stack([alone[row][2] for row in beams]))
        state = State.cat([state, begin(model, [2])])  # a new row joins
        words = torch.cat([TOKENS[beams, 3:4], TOKENS[2:, :1]])
        scores, state = model.step(words, state)
        assert_close(scores[:, 0], torch.stack([alone[1][3], alone[0][3], alone[1][3], alone[2][0]]))
        state = state.remove(torch.tensor([0, 2]))  # two rows have ended
        scores, state = model.step(torch.stack([TOKENS[0, 4:5], TOKENS[2, 1:2]]), state)
        assert_close(scores[:, 0], torch.stack([alone[0][4], alone[2][1]]))
        assert state.position.tolist() == [5, 2]


@every_writer
def test_selected_states_are_independent(make) -> None:
    """`select` copies: steps that write in place don't change the other beam."""
    model = ready(make)
    with torch.no_grad():
        _, state = model.step(TOKENS[:, :3], begin(model))
        fork = state.select(torch.arange(3))
        model.step(TOKENS[:, 3:], fork)
        scores, _ = model.step(TOKENS[:, 3:], state)
    assert_close(scores[0], one_by_one(model, 0, TOKENS[0])[3:])


@every_writer
def test_forward_returns_the_input_of_the_head(make) -> None:
    model = ready(make)
    y, state = model(TOKENS, LENGTHS) if isinstance(model, Model) else model(SOURCE, TOKENS, SOURCE_LENGTHS, LENGTHS)
    scores, after = model.step(TOKENS, begin(model), LENGTHS)
    assert_close(model.head(y, LENGTHS), scores)
    assert set(state) == set(after)


# Training ---------------------------------------------------------------------------------------------------------

BEGIN = 0


def copies(rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of 1 to 4 tokens to be copied, with an end token; their lengths are those of the target."""
    lengths = torch.randint(1, 5, (rows,))
    source = torch.randint(2, 6, (rows, 4))
    padded = torch.where(torch.arange(5) < lengths.unsqueeze(1), torch.nn.functional.pad(source, (0, 1)), 1)
    return source, padded, lengths + 1


def small_transformer() -> EncoderDecoder:
    sizes = TransformerConfig(depth=1, size=32, heads=4, hidden_size=64, dropout=0.0, norm_order="pre")
    stems = [TokenEmbedding(6, 32, scaled=True, positions=Sinusoidal(32)) for _ in range(2)]
    return EncoderDecoder(stems[0], encoder(sizes), stems[1], cross_decoder(sizes), PerToken(32, 6))


def small_gru() -> EncoderDecoder:
    encoder_ = Bidirectional(Recurrent(GRU(16, 16)), Recurrent(GRU(16, 16)))
    body = Recurrent(GRU(16 + 32, 32))
    decoder_ = AttentionDecoder(
        body, AttentionBefore(32, 32, "additive"), ConcatCombine(32, 32), choose_bridge(encoder_, body)
    )
    return EncoderDecoder(TokenEmbedding(6, 16), encoder_, TokenEmbedding(6, 16), decoder_, PerToken(64, 6))


@pytest.mark.usefixtures("unchecked")  # hundreds of similar steps
@pytest.mark.parametrize(("make", "steps"), [(small_gru, 150), (small_transformer, 150)], ids=["gru", "transformer"])
def test_models_learn_to_copy(make, steps: int) -> None:
    model = make()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        source, target, lengths = copies(32)
        words = torch.cat([torch.full((32, 1), BEGIN), target[:, :-1]], dim=1)
        optimizer.zero_grad()
        model.loss(source, words, target, lengths - 1, lengths).mean.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    model.eval()
    source, target, lengths = copies(100)
    with torch.no_grad():  # greedy
        state, word, written = model.start(source, lengths - 1), torch.full((100, 1), BEGIN), []
        for _ in range(5):
            scores, state = model.step(word, state)
            word = scores.argmax(dim=2)
            written.append(word)
    right = (torch.cat(written, dim=1) == target) | (torch.arange(5) >= lengths.unsqueeze(1))
    assert right.all(dim=1).float().mean() >= 0.95


# Files and copies -------------------------------------------------------------------------------------------------


@every_writer
def test_models_save_and_load(make) -> None:
    model, other = ready(make), ready(make)
    assert loss(model, LENGTHS).total != loss(other, LENGTHS).total
    other.load_state_dict(load(save(model.state_dict())))
    assert torch.equal(loss(other, LENGTHS).total, loss(model, LENGTHS).total)


@every_writer
def test_a_deep_copy_shares_no_weights(make) -> None:
    model = ready(make)
    before = loss(model, LENGTHS).total
    twin = copy.deepcopy(model)
    assert torch.equal(loss(twin, LENGTHS).total, before)
    with torch.no_grad():
        for weight in twin.parameters():
            weight.zero_()
    assert torch.equal(loss(model, LENGTHS).total, before)
    assert_close(loss(twin, LENGTHS).mean, torch.tensor(WORDS).double().log())  # tied weights are copied together


def test_a_tied_embedding_is_one_parameter_with_both_gradients() -> None:
    model = ready(luong)
    assert "head.output.weight" not in model.state_dict()
    assert sum(weight.shape == (WORDS, SIZE) for weight in model.parameters()) == 1
    table = model.target_stem.embedding.weight
    y, _ = model(SOURCE, TOKENS, SOURCE_LENGTHS, LENGTHS)
    (gradient,) = torch.autograd.grad(loss(model, LENGTHS).total, table)
    read = TOKENS[torch.arange(6) < LENGTHS.unsqueeze(1)].unique()
    unread = torch.tensor([word for word in range(WORDS) if word not in read])
    assert len(unread)
    assert gradient[unread].abs().sum(dim=1).gt(0).all()  # a gradient from the output alone
    (to_output,) = torch.autograd.grad(model.head.loss(y.detach(), TARGET, LENGTHS).total, table)
    assert_close(gradient[unread], to_output[unread])
    assert not torch.isclose(gradient[read], to_output[read]).any()


def one_table() -> EncoderDecoder:
    """One embedding for the source, the target and the output; the source stem refers to that of the target."""
    words = TokenEmbedding(WORDS, SIZE, positions=LearnedPositions(SIZE, 12))
    source = TokenEmbedding(WORDS, SIZE, scaled=True, positions=Sinusoidal(SIZE), tied=words)
    head = PerToken(SIZE, WORDS, tied=source.embedding)
    return EncoderDecoder(source, encoder(parts), words, cross_decoder(parts), head)


@pytest.mark.parametrize("change", ["to", "copy", "assign", "meta", "file"])
def test_an_embedding_shared_by_both_stems_stays_shared(change: str) -> None:
    model = one_table()
    assert [name for name, weight in model.named_parameters() if weight.shape == (WORDS, SIZE)] == [
        "target_stem.embedding.weight"
    ]
    assert not any(name.startswith("source_stem.embedding") for name in model.state_dict())
    if change == "to":
        model = model.to(torch.float64)
    elif change == "copy":
        model = copy.deepcopy(original := model)
        assert model.source_stem.embedding is not original.source_stem.embedding
    elif change == "assign":
        model.load_state_dict({name: torch.randn_like(t) for name, t in model.state_dict().items()}, assign=True)
    elif change == "meta":
        with torch.device("meta"):
            model = one_table()
        model = model.to_empty(device="cpu")
        model.load_state_dict(one_table().state_dict())
    else:
        model.load_state_dict(load(save(one_table().state_dict())))
    table = model.target_stem.embedding.weight
    assert model.source_stem.embedding.weight is table
    assert model.head.output.weight is table
    model.loss(SOURCE, TOKENS, TARGET, SOURCE_LENGTHS, LENGTHS).total.backward()
    x, _ = model.source_stem(SOURCE)
    expected = table[SOURCE] * SIZE**0.5
    torch.testing.assert_close(x, model.source_stem.layers["positions"](expected)[0])


# Sources and targets of other kinds -------------------------------------------------------------------------------


@pytest.mark.parametrize("stem", [ImageCNN(3, SIZE, widths=(4,)), PatchEmbedding(3, SIZE, 4)], ids=["grid", "patches"])
def test_an_image_can_be_the_source(stem) -> None:
    model = ready(lambda: bahdanau(stem))
    images_ = torch.rand(3, 3, 8, 12, dtype=torch.float64)
    regions = torch.Size(stem.regions(8, 12)).numel()
    with record("attention") as seen:
        whole = model.loss(images_, TOKENS, TARGET, None, LENGTHS)
    weights = seen["attention"]["decoder.context.memory"]["weights"]
    assert weights.shape == (3, 1, 6, regions)
    assert_close(weights.sum(dim=3), torch.ones(3, 1, 6, dtype=torch.float64))
    with pytest.raises(ArgumentError, match="lengths is given; expected None"):
        model.loss(images_, TOKENS, TARGET, torch.tensor([1, 2, 1]), LENGTHS)
    state = model.start(images_[1:2])
    scores, _ = model.step(TOKENS[1:2], state)
    assert_close(scores, model.step(TOKENS, model.start(images_))[0][1:2])
    whole.total.backward()
    assert all(weight.grad is not None for weight in model.parameters())


def test_frames_can_be_the_source_without_an_encoder() -> None:
    body = Recurrent(GRU(SIZE, SIZE))
    no_encoder = Identity(SIZE)
    attention_decoder = AttentionDecoder(
        body, AttentionAfter(SIZE, SIZE, "dot"), TanhCombine(SIZE, SIZE), choose_bridge(no_encoder, body)
    )
    model = ready(
        lambda: EncoderDecoder(
            frame_embedding(3, SIZE), no_encoder, TokenEmbedding(WORDS, SIZE), attention_decoder, PerToken(SIZE, WORDS)
        )
    )
    series = torch.randn(3, 5, 3, dtype=torch.float64)
    together, _ = model.step(TOKENS, model.start(series, SOURCE_LENGTHS))
    alone, _ = model.step(TOKENS[1:2], model.start(series[1:2, :2]))
    assert_close(alone, together[1:2])


def test_models_predict_classes_and_tags_of_tokens_and_classes_of_images() -> None:
    classifier = Model(TokenEmbedding(WORDS, SIZE), encoder(parts), PerSequence(SIZE, 3)).eval()
    together = classifier.predict(TOKENS, LENGTHS)
    assert together.tolist() == [
        classifier.predict(TOKENS[row : row + 1, :n]).item() for row, n in enumerate(LENGTHS.tolist())
    ]
    assert classifier.loss(TOKENS, torch.tensor([0, 2, 1]), LENGTHS).count == 3

    directions = Bidirectional(Recurrent(GRU(SIZE, 3)), Recurrent(GRU(SIZE, 3)))
    tagger = Model(TokenEmbedding(WORDS, SIZE), directions, CRF(6, 4)).eval()
    assert tagger.predict(TOKENS, LENGTHS).shape == (3, 6)

    image_classifier = Model(ImageCNN(3, SIZE, widths=(4,)), encoder(parts), PerSequence(SIZE, 3)).eval()
    assert image_classifier.predict(torch.rand(2, 3, 6, 6)).shape == (2,)


def test_a_carried_state_equals_one_long_text() -> None:
    model = ready(recurrent_language_model)
    whole, _ = model(TOKENS)
    first, state = model(TOKENS[:, :2])
    second, _ = model(TOKENS[:, 2:], state=state.detach())
    assert_close(torch.cat([first, second], dim=1), whole)


# Invalid input ----------------------------------------------------------------------------------------------------


def recurrent(width: int = SIZE, size: int = SIZE) -> Layer:
    return Recurrent(GRU(width, size))


def attending(width: int = SIZE) -> AttentionDecoder:
    body = recurrent(width)
    return AttentionDecoder(
        body, AttentionAfter(SIZE, SIZE, "dot"), TanhCombine(SIZE, SIZE), choose_bridge(recurrent(), body)
    )


words = TokenEmbedding(WORDS, SIZE)
head = PerToken(SIZE, WORDS)
both_directions = Bidirectional(recurrent(SIZE, 4), recurrent(SIZE, 4))

misfits = {
    "Model: Recurrent has input_size 5; expected 8, the output_size of its stem.": lambda: Model(
        words, recurrent(5), head
    ),
    "Model: PerToken has input_size 8; expected 6, the output_size of its body.": lambda: Model(
        words, recurrent(SIZE, 6), head
    ),
    "EncoderDecoder: Recurrent has input_size 5; expected 8, the output_size of its stem.": lambda: EncoderDecoder(
        words, recurrent(5), words, attending(), head
    ),
    "EncoderDecoder: AttentionDecoder has input_size 5; expected 8, the output_size of its stem.": lambda: (
        EncoderDecoder(words, recurrent(), words, attending(5), head)
    ),
    "EncoderDecoder: PerToken has input_size 5; expected 8, the output_size of its decoder.": lambda: EncoderDecoder(
        words, recurrent(), words, attending(), PerToken(5, WORDS)
    ),
    "EncoderDecoder: decoder sees later steps; expected a causal layer.": lambda: EncoderDecoder(
        words, recurrent(), words, both_directions, head
    ),
    "EncoderDecoder: decoder has no part that reads the source; expected one that does, such as AttentionDecoder "
    "(with this as its body) or cross_decoder.": lambda: EncoderDecoder(
        words, recurrent(), words, Stack([recurrent(), recurrent()]), head
    ),
    "Model: stem takes images; expected tokens, for a generative model.": lambda: Model(
        ImageCNN(3, SIZE), recurrent(), head
    ).start(torch.rand(1, 3, 8, 8)),
    "Model: head has one prediction per row; expected one per step, for a generative model.": lambda: Model(
        words, recurrent(), PerSequence(SIZE, 3)
    ).start(TOKENS),
    "AttentionDecoder: memory has 6 features per step (its last dimension); expected 8.": lambda: EncoderDecoder(
        words, recurrent(SIZE, 6), words, attending(), head
    ).start(SOURCE),
    "CrossAttention: memory has 6 features per step (its last dimension); expected 8.": lambda: EncoderDecoder(
        words, recurrent(SIZE, 6), words, cross_decoder(parts), head
    ).start(SOURCE),
    "TokenEmbedding: tokens has the value 12; expected 0 to 8 (the vocabulary).": lambda: bahdanau().loss(
        SOURCE, TOKENS + 4, TARGET
    ),
    "TokenEmbedding: tokens has type torch.float32; expected whole numbers, torch.int64 or torch.int32.": lambda: (
        bahdanau().start(torch.rand(2, 3))
    ),
    "TokenEmbedding: lengths has the value 6; expected at most 5, the number of steps.": lambda: bahdanau().start(
        SOURCE, SOURCE_LENGTHS + 1
    ),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("complaint", "make"), misfits.items(), ids=range(len(misfits)))
def test_parts_that_do_not_fit_are_an_error(complaint: str, make) -> None:
    with pytest.raises(ArgumentError) as caught:
        make()
    assert str(caught.value) == complaint


def test_a_model_that_is_not_causal_can_not_generate() -> None:
    for body in (encoder(parts), both_directions):
        with pytest.raises(
            CannotStep, match=r"^Model: it can't generate one token after another, .* Build it with a causal body\.$"
        ):
            Model(words, body, head).start(TOKENS)


def test_the_state_of_another_model_is_an_error() -> None:
    model, other = ready(bahdanau), ready(luong)
    with pytest.raises(
        ArgumentError, match=r"^AttentionDecoder: state has the tensors .* is it the state of another layer\?"
    ):
        model.step(TOKENS, begin(other))


def test_lengths_with_images_are_an_error() -> None:
    model = Model(PatchEmbedding(3, 4, patch=2), Recurrent(GRU(4, 5)), PerSequence(5, 2, pool="mean"))
    images = torch.randn(2, 3, 4, 4)
    with pytest.raises(ArgumentError, match="lengths is given; expected None, since an image has no padding"):
        model.loss(images, torch.tensor([0, 1]), torch.tensor([4, 2]))


@pytest.mark.usefixtures("unchecked")
def test_a_state_of_another_type_is_an_error() -> None:
    model = Model(TokenEmbedding(5, 4), Recurrent(GRU(4, 4)), PerToken(4, 5))
    with pytest.raises(ArgumentError, match="state is a dict; expected a State"):
        model.step(torch.tensor([[1]]), {})  # type: ignore[arg-type]


def test_recorded_names_are_the_modules_of_the_model() -> None:
    body = Stack([Recurrent(GRU(4, 4)), SelfAttention(4, heads=1)])
    model = Model(TokenEmbedding(5, 4), body, PerSequence(4, 2, pool="attention"))
    with record("gates", "attention") as seen:
        model.predict(torch.tensor([[1, 2]]))
    assert list(seen["gates"]) == ["body.0"]
    assert list(seen["attention"]) == ["body.1", "head.pool"]
