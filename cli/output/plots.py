"""Plots for the terminal, in characters alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def lines(width: int, height: int, draw: Callable[[Any], None]) -> list[str]:
    """The lines of a plot, without colours. `draw` adds series, titles and ticks to the module plotext."""
    # Imported here, so that other commands need not load it.
    import plotext

    plotext.clear_figure()
    plotext.limit_size(False, False)
    plotext.theme("clear")
    plotext.plot_size(width, height)
    draw(plotext)
    text: str = plotext.uncolorize(plotext.build())
    return text.splitlines()
