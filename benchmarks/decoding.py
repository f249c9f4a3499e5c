"""Decoding speed against `transformers`, the same random Transformer in both; then of recurrent decoders.

    python benchmarks/decoding.py [--threads 2] [--rounds 3]

6 + 6 blocks of width 512, 32 sources of 24 tokens, 64 tokens each without an early end, float32, CPU, one process.
Before timing, both must give the same scores to 1e-4 and the same greedy tokens, except where the two best scores
differ by less than 1e-4. They alternate, so that both meet the same load of the machine, and medians are shown.
The floor is the larger of two times: the matrix products at the rate of a large product, and the reads of weights and
caches at the bandwidth of a long read. Weights are packed once per table row, as in an evaluation. On a busy machine
set OMP_WAIT_POLICY=PASSIVE: threads that spin while they wait slow down both sides.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from itertools import pairwise
from types import ModuleType
from unittest.mock import patch

import torch
from _floors import Machine, Work, cache_numbers, floor
from _marian import END, marian, ours
from torch import Tensor, nn

from seqloom.core.config.decode import Decode
from seqloom.decoding.decode import decode
from seqloom.kernels.linear import PackedWeights
from seqloom.nn import (
    GRU,
    LSTM,
    AttentionAfter,
    AttentionBefore,
    AttentionDecoder,
    Bidirectional,
    ConcatCombine,
    LearnedBridge,
    PerToken,
    Recurrent,
    Sinusoidal,
    TanhCombine,
    TokenEmbedding,
)
from seqloom.nn.model import EncoderDecoder
from seqloom.nn.transformer import BASE, cross_decoder, encoder

TOLERANCE = 1e-4
SIZE = BASE.size


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=3, help="turns of each, after one to warm up")
    arguments.add_argument("--lengths", type=int, nargs="*", default=[64, 256, 1024])
    arguments.add_argument("--vocabularies", type=int, nargs="*", default=[32_000, 58_101])
    options = arguments.parse_args()
    torch.set_num_threads(options.threads)
    machine = Machine()
    print(f"torch {torch.__version__}, CPU, float32, {options.threads} threads")
    try:
        import transformers
    except ImportError:
        print("transformers is not installed: pip install 'seqloom[hub]' to see it beside")
    else:
        compare_with_transformers(transformers, options.vocabularies, options.rounds, machine)
    time_recurrent_decoders(options.vocabularies, options.rounds, machine)
    time_steps_by_length(options.lengths, options.rounds, machine)
    rate, bandwidth = machine.rate / 1e9, machine.bandwidth / 1e9
    print(f"\nat its best a large product ran at {rate:,.0f} GFLOP/s, and a long read at {bandwidth:,.0f} GB/s")


def compare_with_transformers(transformers: ModuleType, vocabularies: list[int], rounds: int, machine: Machine) -> None:
    """Compare the same Transformer in `transformers` and seqloom."""
    transformers.utils.logging.set_verbosity_error()
    print(f"\ntransformers {transformers.__version__}; tokens a second")
    print(f"{'Transformer':<44}{'floor':>9}{'transformers':>14}{'seqloom':>9}{'ratio':>7}")
    for vocabulary in vocabularies:
        theirs = marian(transformers, vocabulary)
        model, source = ours(theirs), sources(vocabulary)
        assert_same_scores(theirs, model, source)
        for beam in (1, 4):
            work = Work(beam=beam)
            calls = (their_turn(theirs, source, work), our_turn(model, source, work))
            with PackedWeights():
                actual, expected = calls[1](), calls[0]()
                note = (compare if beam == 1 else compare_beams)(model, source, actual, expected)
                slow, fast = (work.tokens / median_seconds for median_seconds in in_turns(calls, rounds, machine))
            best = work.tokens / floor(model, work, machine)
            name = f"{vocabulary:,} tokens, {'greedy' if beam == 1 else f'beam {beam}'}"
            print(f"{name:<44}{best:>9,.0f}{slow:>14,.0f}{fast:>9,.0f}{fast / slow:>7.2f}   {note}", flush=True)


def time_recurrent_decoders(vocabularies: list[int], rounds: int, machine: Machine) -> None:
    """Time recurrent decoders."""
    print(f"\n{'recurrent decoders, 512 wide':<44}{'floor':>9}{'seqloom':>9}   tokens a second")
    for vocabulary in vocabularies:
        source = sources(vocabulary)
        for name, model in (("GRU, additive", gru(vocabulary)), ("LSTM, dot, input feeding", lstm(vocabulary))):
            for beam in (1, 4):
                work = Work(beam=beam)
                with PackedWeights():
                    (median_seconds,) = in_turns((our_turn(model, source, work),), rounds, machine)
                label = f"{name}, {vocabulary:,}, {'greedy' if beam == 1 else f'beam {beam}'}"
                best = work.tokens / floor(model, work, machine)
                print(f"{label:<44}{best:>9,.0f}{work.tokens / median_seconds:>9,.0f}", flush=True)


def time_steps_by_length(lengths: list[int], rounds: int, machine: Machine) -> None:
    """Milliseconds of one step, including the search, after several lengths."""
    vocabulary, rows = 8_000, 8
    print(
        f"\n{'ms a step after so many tokens, ' + f'{rows} rows':<46}{''.join(f'{length:>9,}' for length in lengths)}"
    )
    transformer = EncoderDecoder(
        stem(vocabulary), encoder(), stem(vocabulary), cross_decoder(), PerToken(SIZE, vocabulary)
    ).eval()
    models = {
        "GRU, additive": gru(vocabulary),
        "LSTM, dot, input feeding": lstm(vocabulary),
        "Transformer": transformer,
    }
    for name, model in models.items():
        passes = [step_times(model, sources(vocabulary)[:rows], max(lengths)) for _ in range(rounds)]
        figures = [statistics.median(t for pass_ in passes for t in pass_[n - 32 : n]) * 1e3 for n in lengths]
        print(f"{name:<46}{''.join(f'{figure:>9.2f}' for figure in figures)}", flush=True)
    reads = [4 * rows * length * cache_numbers(transformer) / machine.bandwidth * 1e3 for length in lengths]
    print(f"{'   of which the read of its cache, at least':<46}{''.join(f'{read:>9.2f}' for read in reads)}")


# Models ------------------------------------------------------------------------------------------------------------


def stem(vocabulary: int) -> TokenEmbedding:
    return TokenEmbedding(vocabulary, SIZE, scaled=True, positions=Sinusoidal(SIZE))


def gru(vocabulary: int) -> EncoderDecoder:
    """Bahdanau et al. 2014."""
    body = Recurrent(GRU(2 * SIZE, SIZE))
    context = AttentionBefore(SIZE, SIZE, "additive")
    decoder = AttentionDecoder(body, context, ConcatCombine(SIZE, SIZE), LearnedBridge(SIZE, body))
    both = Bidirectional(Recurrent(GRU(SIZE, SIZE // 2)), Recurrent(GRU(SIZE, SIZE // 2)))
    head = PerToken(2 * SIZE, vocabulary)
    return EncoderDecoder(
        TokenEmbedding(vocabulary, SIZE), both, TokenEmbedding(vocabulary, SIZE), decoder, head
    ).eval()


def lstm(vocabulary: int) -> EncoderDecoder:
    """Luong et al. 2015."""
    body = Recurrent(LSTM(2 * SIZE, SIZE))
    combine, context = TanhCombine(SIZE, SIZE), AttentionAfter(SIZE, SIZE, "dot")
    decoder = AttentionDecoder(body, context, combine, LearnedBridge(SIZE, body), input_feeding=True)
    both = Bidirectional(Recurrent(LSTM(SIZE, SIZE // 2)), Recurrent(LSTM(SIZE, SIZE // 2)))
    head = PerToken(SIZE, vocabulary)
    return EncoderDecoder(
        TokenEmbedding(vocabulary, SIZE), both, TokenEmbedding(vocabulary, SIZE), decoder, head
    ).eval()


def sources(vocabulary: int) -> Tensor:
    """Random sentences without the end token and Marian's padding token."""
    work = Work()
    return torch.randint(
        1, vocabulary - 1, (work.sources, work.source_steps), generator=torch.Generator().manual_seed(1)
    )


# Agreement ---------------------------------------------------------------------------------------------------------


@torch.no_grad()
def assert_same_scores(theirs: nn.Module, model: EncoderDecoder, source: Tensor) -> None:
    target = torch.cat([torch.full((len(source), 1), END), source[:, :8]], dim=1)
    expected = theirs(input_ids=source, decoder_input_ids=target).logits
    logits, _ = model.step(target, model.start(source))
    torch.testing.assert_close(logits, expected, rtol=0, atol=TOLERANCE)


@torch.no_grad()
def compare(model: EncoderDecoder, source: Tensor, actual: list[list[int]], expected: list[list[int]]) -> str:
    """The first differing tokens of each row must have equal scores, to 1e-4."""
    differences = []
    for row, (first, second) in enumerate(zip(actual, expected, strict=True)):
        if first == second:
            continue
        step = next(k for k, (a, b) in enumerate(zip(first, second, strict=True)) if a != b)
        logits, _ = model.next_token_logits(torch.tensor([[END, *first[:step]]]), model.start(source[row : row + 1]))
        gap = float((logits[0, first[step]] - logits[0, second[step]]).abs())
        assert gap < TOLERANCE, f"row {row}, step {step}: {first[step]} and {second[step]} are {gap} apart"
        differences.append(f"row {row} at step {step}, {gap:.1e} apart")
    return "the same tokens" if not differences else f"the same tokens but for {'; '.join(differences)}"


@torch.no_grad()
def compare_beams(model: EncoderDecoder, source: Tensor, actual: list[list[int]], expected: list[list[int]]) -> str:
    """Texts that differ must have equal scores, to 1e-4 per token."""
    differ = [row for row, (first, second) in enumerate(zip(actual, expected, strict=True)) if first != second]
    for row in differ:
        texts = torch.tensor([actual[row], expected[row]])
        inputs = torch.cat([torch.full((2, 1), END), texts[:, :-1]], dim=1)
        logits, _ = model.step(inputs, model.start(source[row : row + 1].expand(2, -1)))
        first, second = logits.log_softmax(dim=2).gather(2, texts[:, :, None]).mean(dim=(1, 2)).tolist()
        assert abs(first - second) < TOLERANCE, f"row {row}: the two texts are {first - second} apart a token"
    return f"{len(actual) - len(differ)} of {len(actual)} texts the same"


# Turns -------------------------------------------------------------------------------------------------------------


def their_turn(theirs: nn.Module, source: Tensor, work: Work) -> Callable[[], list[list[int]]]:
    def turn() -> list[list[int]]:
        generated = theirs.generate(
            source, num_beams=work.beam, min_new_tokens=work.steps, max_new_tokens=work.steps, do_sample=False
        )
        return generated[:, 1:].tolist()

    return turn


def our_turn(model: EncoderDecoder, source: Tensor, work: Work) -> Callable[[], list[list[int]]]:
    options = Decode(temperature=0, beam_size=work.beam, max_length=work.steps)

    def turn() -> list[list[int]]:
        batches = decode(model, source, prompts=[[END]] * len(source), end=END, banned=[END], options=options)
        return [hypotheses[0].tokens for hypotheses in batches]

    return turn


def in_turns(calls: tuple[Callable[[], object], ...], rounds: int, machine: Machine) -> list[float]:
    """Median seconds of each call, measured alternately; the rates of the machine are measured in each turn too."""
    times_by_call: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    for _ in range(rounds):
        for times, call in zip(times_by_call, calls, strict=True):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        machine.look()
    return [statistics.median(times) for times in times_by_call]


def step_times(model: EncoderDecoder, source: Tensor, steps: int) -> list[float]:
    """Seconds from one step to the next of a greedy search."""
    ticks: list[float] = []
    next_token_logits = model.next_token_logits

    def recording(tokens: Tensor, state: object, lengths: Tensor | None = None) -> object:
        ticks.append(time.perf_counter())
        return next_token_logits(tokens, state, lengths)

    with patch.object(model, "next_token_logits", recording):
        our_turn(model, source, Work(steps=steps + 1))()
    return [after - before for before, after in pairwise(ticks)]


if __name__ == "__main__":
    main()
