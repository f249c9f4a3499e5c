"""`seqloom doctor`: what there is on this machine, and what is missing."""

import os
import platform
import re
from collections.abc import Iterator
from pathlib import Path

import rich_click as click
from rich.console import Console

from seqloom.cli.console import output, say, waiting
from seqloom.cli.help import Command

PACKAGES = ("numpy", "tokenizers", "safetensors", "pydantic", "click", "rich")
# The extras that this version makes use of, and what for.
EXTRAS = {"track": "TensorBoard files (--train.tensorboard)"}


@click.command(cls=Command, short_help="Show versions, devices, and which backends work here.")
def doctor() -> None:
    """Show what this machine has: versions, devices, memory, the cache, and which backends work here, or why not.

    \b
    Example:
      $ seqloom doctor
    """
    console = output()
    say(console, "seqloom", f"{installed('seqloom')}, in {Path(__file__).parents[1]}")
    say(console, "python", f"{platform.python_version()} ({platform.system()} {platform.machine()})")
    say(console, "packages", ", ".join(f"{name} {installed(name)}" for name in PACKAGES))
    with waiting(console, "starting torch …"):
        from seqloom.kernels.vendor import BACKENDS
    for line in torch_lines():
        say(console, *line)
    for name in BACKENDS:
        say(console, "backend", f"{name}: {backend_words(name)}")
    cache(console)
    for name, what in EXTRAS.items():
        missing = [package for package in packages_of(name) if installed(package) == "missing"]
        told = f"missing; get it with `pip install 'seqloom[{name}]'`" if missing else "installed"
        say(console, "extra", f"{name}, for {what}: {told}")


def packages_of(extra: str) -> list[str]:
    """What an extra brings, as the package itself says.

    >>> packages_of("track")
    ['tensorboard']
    """
    from importlib.metadata import requires

    needed = [each.partition(";") for each in requires("seqloom") or ()]
    return [
        re.split(r"[^\w.-]", name)[0] for name, _, when in needed if re.search(rf"extra == ['\"]{extra}['\"]", when)
    ]


def installed(package: str) -> str:
    """The version of a package, or `missing`."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def torch_lines() -> Iterator[tuple[str, str]]:
    """Torch, threads, memory and devices."""
    import torch

    from seqloom.views.format import byte_size

    yield "torch", f"{torch.__version__}, built for {cuda_words(torch.version.cuda)}"
    yield "threads", f"{torch.get_num_threads()} of {os.cpu_count()} cores (OMP_NUM_THREADS sets them)"
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        page, total = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
        free = (
            f", {byte_size(page * os.sysconf('SC_AVPHYS_PAGES'))} free" if "SC_AVPHYS_PAGES" in os.sysconf_names else ""
        )
        yield "memory", f"{byte_size(page * total)}{free}"
    yield "cpu", "usable"
    if torch.cuda.is_available():
        for number in range(torch.cuda.device_count()):
            device = torch.cuda.get_device_properties(number)
            yield "cuda", f"usable: {device.name}, {byte_size(device.total_memory)}"
    else:
        why = "this torch is built without it" if torch.version.cuda is None else "torch finds no device or driver"
        yield "cuda", f"not usable: {why}"
    if torch.backends.mps.is_available():
        yield "mps", "usable: Apple GPU"
    else:
        built = torch.backends.mps.is_built()
        yield "mps", f"not usable: {'torch finds no Apple GPU' if built else 'this torch is built without it'}"


def cuda_words(cuda: str | None) -> str:
    """What torch was built for."""
    return f"CUDA {cuda}" if cuda else "the CPU"


def backend_words(name: str) -> str:
    """Which recurrences a backend runs, tried on a small problem each; and why not the others."""
    import torch

    from seqloom.core.problem import UnavailableBackend
    from seqloom.kernels import use
    from seqloom.nn.cells import CELLS
    from seqloom.nn.recurrent import Recurrent

    able, why = [], ""
    with torch.inference_mode():
        for equation, cell in CELLS.items():
            try:
                with use(name):
                    Recurrent(cell(2, 2))(torch.zeros(1, 2, 2))
                able.append(equation)
            except UnavailableBackend as wrong:
                why = str(wrong)
    if not able:
        return f"not usable: {why}"
    if not why:
        return "usable, for every recurrence"
    others = [equation for equation in CELLS if equation not in able]
    return f"usable for {', '.join(able)}; torch has no kernel for {', '.join(others)}"


def cache(console: Console) -> None:
    """Where prepared data are kept."""
    from seqloom.data.cache import cache_folder
    from seqloom.views.format import byte_size

    folder = cache_folder()
    files = [file for file in folder.rglob("*") if file.is_file()] if folder.is_dir() else []
    size = sum(file.stat().st_size for file in files)
    say(
        console,
        "cache",
        f"{folder}: {byte_size(size)} (it may be deleted at any time; SEQLOOM_CACHE names another place)",
    )
