"""A first model: a character LSTM that learns to write Python from the standard library's own source, in under a
minute.

    python examples/first_model.py [--seconds 40] [--out runs/first-model]

Everything but the layers is plain PyTorch: read it from top to bottom.
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

STREAMS, BPTT = 32, 64  # parallel streams of text, and the steps after which the gradient is cut
EMBEDDING, HIDDEN = 64, 256
console = Console(highlight=False, soft_wrap=True)  # does not wrap lines


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=seconds, default=40.0, help="how long to train (default: %(default)s)")
    arguments.add_argument(
        "--out", type=Path, default=Path("runs/first-model"), help="where to write (default: %(default)s)"
    )
    options = arguments.parse_args()
    torch.manual_seed(1)
    options.out.mkdir(parents=True, exist_ok=True)

    text, files = standard_library(characters=2_000_000)
    vocabulary = sorted(set(text))
    number = {character: i for i, character in enumerate(vocabulary)}
    tokens = torch.tensor([number[character] for character in text])
    cut = int(0.95 * len(tokens))
    train, valid = streams(tokens[:cut]), streams(tokens[cut:])

    model = Model(
        TokenEmbedding(len(vocabulary), EMBEDDING),
        Stack([VariationalDropout(EMBEDDING, 0.1), Recurrent(LSTM(EMBEDDING, HIDDEN)), Dropout(HIDDEN, 0.1)]),
        PerToken(HIDDEN, len(vocabulary)),
    )
    parameters = sum(weight.numel() for weight in model.parameters())
    console.print(f"corpus   {files} files of Python's standard library, {len(text):,} characters")
    console.print(f"model    {type(model.body.layers['1'].cell).__name__} over characters, {parameters:,} parameters")

    losses = fit(model, train, options.seconds)
    loss = evaluate(model, valid)
    console.print(
        f"score    {loss:.3f} nats a character on unseen text; guessing costs {math.log(len(vocabulary)):.3f}"
    )
    console.print()
    sample = write(model, vocabulary, number, prompt="def ", length=320)
    console.print(Text(sample, style="bold"))  # as it is: rich would read [brackets] as markup
    console.print()

    save_file(model.state_dict(), options.out / "model.safetensors")
    draw(losses, loss, math.log(len(vocabulary)), options.out / "loss.svg")
    console.print(f"wrote    {options.out}   (model.safetensors, loss.svg)")
    console.print("next     change LSTM to GRU in examples/first_model.py, or add a layer to its Stack")


def seconds(text: str) -> float:
    """A time above zero, for argparse."""
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no time to train; give seconds above 0")
    return value


def standard_library(characters: int) -> tuple[str, int]:
    """The start of the standard library's source, in the order of its file names, and how many files that took."""
    parts, size = [], 0
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        source = path.read_text(encoding="utf-8", errors="ignore").encode("ascii", "ignore").decode()
        parts.append(source)
        size += len(source)
        if size >= characters:
            break
    return "".join(parts)[:characters], len(parts)


def streams(tokens: torch.Tensor) -> torch.Tensor:
    """One long text cut into parallel streams, each with a state of its own: [streams, time]."""
    time = len(tokens) // STREAMS
    return tokens[: STREAMS * time].reshape(STREAMS, time)


def fit(model: Model, train: torch.Tensor, seconds: float) -> list[float]:
    """Truncated BPTT: the state is carried from batch to batch, the gradient is not."""
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    model.train()
    losses: list[float] = []
    state, at, start = model.start(train), 0, time.monotonic()
    with Progress(
        TextColumn("train   "),
        BarColumn(40),
        TextColumn("{task.percentage:3.0f}%  {task.fields[status]}"),
        console=console,
    ) as progress:
        bar = progress.add_task("", total=seconds, status="")
        while (spent := time.monotonic() - start) < seconds:
            for group in optimizer.param_groups:
                group["lr"] = 4e-3 * min(1.0, 0.05 + 2 * (1 - spent / seconds))  # falls in the second half
            if at + BPTT + 1 > train.shape[1]:
                state, at = model.start(train), 0
            y, state = model(train[:, at : at + BPTT], state=state.detach())
            loss = model.head.loss(y, train[:, at + 1 : at + BPTT + 1]).mean
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            at += BPTT
            losses.append(loss.item())
            spent = time.monotonic() - start
            rate = len(losses) * STREAMS * BPTT / spent
            recent = sum(losses[-20:]) / len(losses[-20:])
            status = f"loss {recent:.3f}  {rate:,.0f} characters/s  {max(0, seconds - spent):.0f} s left"
            progress.update(bar, completed=spent, status=status)
        progress.update(bar, completed=seconds, status=status.rsplit("  ", 1)[0])
    return losses


@torch.no_grad()
def evaluate(model: Model, valid: torch.Tensor) -> float:
    """Nats a character, the state carried from start to end."""
    model.eval()
    state, total, count = model.start(valid), 0.0, 0
    for at in range(0, valid.shape[1] - 1, 256):
        inputs, targets = valid[:, at : at + 256][:, : valid.shape[1] - 1 - at], valid[:, at + 1 : at + 257]
        y, state = model(inputs, state=state)
        loss = model.head.loss(y, targets)
        total, count = total + loss.total.item(), count + int(loss.count)
    return total / count


@torch.no_grad()
def write(model: Model, vocabulary: list[str], number: dict[str, int], prompt: str, length: int) -> str:
    """A sample: one step a character, each drawn from the model's own distribution, a little sharpened."""
    model.eval()
    tokens = torch.tensor([[number[character] for character in prompt]])
    state = model.start(tokens)
    text = prompt
    for _ in range(length):
        logits, state = model.step(tokens, state)
        tokens = torch.multinomial((logits[:, -1] / 0.7).softmax(dim=1), 1)
        text += vocabulary[tokens.item()]
    return text


def draw(losses: list[float], loss: float, guessing: float, path: Path) -> None:
    """The loss as it fell."""
    figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
    axes.plot(losses, color="#0072b2", linewidth=0.8, label="training, each step")
    axes.axhline(guessing, color="#999999", linestyle=":", label="guessing")
    axes.axhline(loss, color="#d55e00", label=f"held-out text at the end, {loss:.2f}")
    axes.set(xlabel="step", ylabel="nats a character", ylim=(0, guessing * 1.1))
    axes.legend(frameon=False)
    figure.savefig(path)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit("stopped before the end; nothing was written") from None
