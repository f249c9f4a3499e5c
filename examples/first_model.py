"""A first model: trains a character LSTM on the source of Python's standard library in under a minute.

    python examples/first_model.py [--seconds 40] [--out runs/first-model]

The layers are from seqloom; the training loop is plain PyTorch.
"""

import argparse
import math
import sysconfig
import time
from pathlib import Path

import matplotlib
import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text
from safetensors.torch import save_file

from seqloom.nn import LSTM, Dropout, Model, PerToken, Recurrent, Stack, TokenEmbedding, VariationalDropout

matplotlib.use("Agg")
from matplotlib import pyplot as plt

STREAMS, BPTT = 32, 64  # parallel streams of text; steps per batch, after which the gradient is cut
EMBEDDING, HIDDEN = 64, 256
console = Console(highlight=False, soft_wrap=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=seconds, default=40.0, help="training time (default: %(default)s)")
    arguments.add_argument(
        "--out", type=Path, default=Path("runs/first-model"), help="folder for the results (default: %(default)s)"
    )
    options = arguments.parse_args()
    torch.manual_seed(1)
    options.out.mkdir(parents=True, exist_ok=True)

    text, files = standard_library(characters=2_000_000)
    vocabulary = sorted(set(text))
    token_ids = {character: i for i, character in enumerate(vocabulary)}
    tokens = torch.tensor([token_ids[character] for character in text])
    cut = int(0.95 * len(tokens))
    train, valid = to_streams(tokens[:cut]), to_streams(tokens[cut:])

    model = Model(
        TokenEmbedding(len(vocabulary), EMBEDDING),
        Stack([VariationalDropout(EMBEDDING, 0.1), Recurrent(LSTM(EMBEDDING, HIDDEN)), Dropout(HIDDEN, 0.1)]),
        PerToken(HIDDEN, len(vocabulary)),
    )
    parameters = sum(weight.numel() for weight in model.parameters())
    console.print(f"corpus   {files} files of Python's standard library, {len(text):,} characters")
    console.print(f"model    {type(model.body.layers['1'].cell).__name__} over characters, {parameters:,} parameters")

    losses = fit(model, train, options.seconds)
    loss, uniform_loss = evaluate(model, valid), math.log(len(vocabulary))
    console.print(f"score    {loss:.3f} nats per character on validation text; uniform guessing has {uniform_loss:.3f}")
    console.print()
    sample = generate(model, vocabulary, token_ids, prompt="def ", length=320)
    console.print(Text(sample, style="bold"))  # as Text: rich would parse [brackets] in a string as markup
    console.print()

    save_file(model.state_dict(), options.out / "model.safetensors")
    draw(losses, loss, uniform_loss, options.out / "loss.svg")
    console.print(f"wrote    {options.out}   (model.safetensors, loss.svg)")
    console.print("next     change LSTM to GRU in examples/first_model.py, or add a layer to its Stack")


def seconds(text: str) -> float:
    """A positive number, for argparse."""
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a training time; give a positive number of seconds")
    return value


def standard_library(characters: int) -> tuple[str, int]:
    """The first characters of the standard library's source, in the order of file names, and the number of files."""
    sources, size = [], 0
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        source = path.read_text(encoding="utf-8", errors="ignore").encode("ascii", "ignore").decode()
        sources.append(source)
        size += len(source)
        if size >= characters:
            break
    return "".join(sources)[:characters], len(sources)


def to_streams(tokens: torch.Tensor) -> torch.Tensor:
    """A long text cut into parallel streams of equal length, [streams, time]; the state is carried along each."""
    time = len(tokens) // STREAMS
    return tokens[: STREAMS * time].reshape(STREAMS, time)


def fit(model: Model, train: torch.Tensor, seconds: float) -> list[float]:
    """Truncated BPTT: the state is carried from batch to batch, the gradient is not."""
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    model.train()
    losses: list[float] = []
    state, position, started = model.start(train), 0, time.monotonic()
    with Progress(
        TextColumn("train   "),
        BarColumn(40),
        TextColumn("{task.percentage:3.0f}%  {task.fields[message]}"),
        console=console,
    ) as progress:
        bar = progress.add_task("", total=seconds, message="")
        while (elapsed := time.monotonic() - started) < seconds:
            for group in optimizer.param_groups:
                group["lr"] = 4e-3 * min(1.0, 0.05 + 2 * (1 - elapsed / seconds))  # decays in the second half
            if position + BPTT + 1 > train.shape[1]:
                state, position = model.start(train), 0
            y, state = model(train[:, position : position + BPTT], state=state.detach())
            loss = model.head.loss(y, train[:, position + 1 : position + BPTT + 1]).mean
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            position += BPTT
            losses.append(loss.item())
            elapsed = time.monotonic() - started
            rate = len(losses) * STREAMS * BPTT / elapsed
            recent = sum(losses[-20:]) / len(losses[-20:])
            message = f"loss {recent:.3f}  {rate:,.0f} characters/s  {max(0, seconds - elapsed):.0f} s left"
            progress.update(bar, completed=elapsed, message=message)
        progress.update(bar, completed=seconds, message=message.rsplit("  ", 1)[0])
    return losses


@torch.no_grad()
def evaluate(model: Model, valid: torch.Tensor) -> float:
    """The loss in nats per character, with the state carried from start to end."""
    model.eval()
    state, total, count = model.start(valid), 0.0, 0
    for start in range(0, valid.shape[1] - 1, 256):
        end = min(start + 256, valid.shape[1] - 1)
        inputs, targets = valid[:, start:end], valid[:, start + 1 : end + 1]
        y, state = model(inputs, state=state)
        loss = model.head.loss(y, targets)
        total, count = total + loss.total.item(), count + int(loss.count)
    return total / count


@torch.no_grad()
def generate(model: Model, vocabulary: list[str], token_ids: dict[str, int], prompt: str, length: int) -> str:
    """A sample: one step per character, with temperature 0.7."""
    model.eval()
    tokens = torch.tensor([[token_ids[character] for character in prompt]])
    state = model.start(tokens)
    text = prompt
    for _ in range(length):
        logits, state = model.step(tokens, state)
        tokens = torch.multinomial((logits[:, -1] / 0.7).softmax(dim=1), 1)
        text += vocabulary[tokens.item()]
    return text


def draw(losses: list[float], valid_loss: float, uniform_loss: float, path: Path) -> None:
    """Plot the training loss."""
    figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
    axes.plot(losses, color="#0072b2", linewidth=0.8, label="training")
    axes.axhline(uniform_loss, color="#999999", linestyle=":", label="uniform guessing")
    axes.axhline(valid_loss, color="#d55e00", label=f"validation text, at the end: {valid_loss:.2f}")
    axes.set(xlabel="step", ylabel="nats per character", ylim=(0, uniform_loss * 1.1))
    axes.legend(frameon=False)
    figure.savefig(path)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit("interrupted; no files were written") from None
