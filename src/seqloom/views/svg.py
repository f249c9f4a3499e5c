"""A drawing as SVG, inside a page; its style sheet has the colours, so that it fits light and dark."""

from seqloom.views.element import element, text
from seqloom.views.figure import Bars, Curves, Drawing, Grid, Panels, describe
from seqloom.views.svg_cells import draw_bars, draw_grid, grid_width
from seqloom.views.svg_curves import draw_curves
from seqloom.views.svg_panels import draw_panels, panels_width

WIDTH = 460  # pixels, of curves and bars

# Okabe and Ito's colours, which most colour-blind eyes distinguish; in the dark, lighter ones of the same hues.
LIGHT = ("#0072b2", "#d55e00", "#00815e", "#b0568a", "#a87400", "#3f8fc4")
DARK = ("#56b4e9", "#f0853a", "#2cc39a", "#dd94bd", "#e6b33a", "#8fc7ee")


def _colours(colours: tuple[str, ...], ink: str, muted: str, rule: str, paper: str) -> str:
    numbered = "".join(f"--c{number}:{colour};" for number, colour in enumerate(colours, 1))
    return f"{numbered}--warn:{colours[1]};--ink:{ink};--muted:{muted};--rule:{rule};--paper:{paper}"


LIGHT_COLOURS = _colours(LIGHT, ink="#1c1e21", muted="#62676e", rule="#e2e2dc", paper="#fdfdfb")
DARK_COLOURS = _colours(DARK, ink="#e4e4e0", muted="#9a9fa6", rule="#34373b", paper="#17191b")

STYLE = f"""
:root{{color-scheme:light dark;{LIGHT_COLOURS}}}
@media (prefers-color-scheme:dark){{:root{{{DARK_COLOURS}}}}}
.figure{{display:block;width:100%;height:auto;font:12px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;
font-variant-numeric:tabular-nums}}
.figure text{{fill:var(--muted)}} .figure .strong{{fill:var(--ink)}} .figure .on-dark{{fill:var(--paper)}}
.figure .under{{pointer-events:none}} .figure .veil{{fill:#000}}
.figure .crisp{{shape-rendering:crispEdges}}
.figure .rule{{stroke:var(--rule);stroke-width:1}}
.figure .line{{fill:none;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}}
.figure .reference{{fill:none;stroke:var(--muted);stroke-width:1.2;stroke-dasharray:3 4}}
.figure .note{{stroke:var(--muted);stroke-width:1;stroke-dasharray:2 3}}
.figure .warning{{fill:var(--warn);stroke:var(--paper);stroke-width:.5}}
.figure .probe line{{stroke:var(--muted);opacity:0}} .figure .probe rect{{fill:transparent}}
.figure .probe:hover line{{opacity:.6}} .figure .cell:hover{{stroke:var(--ink);stroke-width:1.5}}
""" + "".join(
    f".figure .s{number}{{stroke:var(--c{number})}} .figure .f{number}{{fill:var(--c{number})}}\n"
    for number in range(1, 7)
)


def draw(drawing: Drawing, width: int = WIDTH) -> str:
    """An `<svg>` for a page that has `STYLE`; `width` is in pixels at full size, and it shrinks with its place.

    >>> from seqloom.views.figure import Series
    >>> draw(Curves("Loss", (Series("training", ((0.0, 2.0), (1.0, 1.0))),), x="step", y="loss"))[:20]
    '<svg class="figure" '
    """
    height, inner = _inner(drawing, width)
    return element(
        "svg",
        element("title", text(drawing.title)),
        inner,
        class_="figure",
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=describe(drawing),
        style=f"max-width:{width}px",
    )


def alone(drawing: Drawing) -> str:
    """An SVG file: it brings its own style.

    >>> alone(Bars("Support", (("neg", 30.0),), unit="examples")).partition(" ")[0]
    '<svg'
    """
    width = width_wanted(drawing)
    height, inner = _inner(drawing, width)
    return element(
        "svg",
        element("title", text(describe(drawing))),
        f"<style>{STYLE}.figure{{width:{width + 24}px;max-width:100%;background:var(--paper)}}</style>",
        inner,
        xmlns="http://www.w3.org/2000/svg",
        class_="figure",
        viewBox=f"-12 -12 {width + 24} {height + 24}",
        width=width + 24,
        height=height + 24,
        role="img",
    )


def width_wanted(drawing: Drawing) -> int:
    """The width in pixels at which a drawing looks best."""
    match drawing:
        case Grid():
            return grid_width(drawing)
        case Panels():
            return panels_width(drawing)
        case _:
            return WIDTH


def _inner(drawing: Drawing, width: int) -> tuple[int, str]:
    match drawing:
        case Curves():
            return draw_curves(drawing, width)
        case Bars():
            return draw_bars(drawing, width)
        case Grid():
            return draw_grid(drawing, width)
        case Panels():
            return draw_panels(drawing, width)
