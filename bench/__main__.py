"""`python -m bench [NAME …]`: measure figures one after the other, print them beside their goals, record them."""

from __future__ import annotations

import sys

from rich.console import Console

from bench import figure, main_job, memory, pods, training
from embedded.fault import Fault

FIGURES = {one.name: one for one in (*main_job.FIGURES, *memory.FIGURES, *pods.FIGURES, *training.FIGURES)}


def main(names: list[str]) -> int:
    """Measure the named figures, or all but the cold start, which takes long and is asked for by name."""
    unknown = [name for name in names if name not in FIGURES]
    if unknown:
        print(f"{', '.join(unknown)}: no such figure; there are {', '.join(FIGURES)}", file=sys.stderr)
        return 1
    console = Console(highlight=False)
    rows = []
    try:
        for name in names or [name for name in FIGURES if name != main_job.COLD]:
            console.print(f"measuring {name} …", style="dim")
            measured = FIGURES[name].measure()
            figure.record(FIGURES[name], measured)
            rows.append((FIGURES[name], measured))
    except Fault as fault:
        print(*fault.lines, sep="\n", file=sys.stderr)
        return 1
    finally:
        figure.show(console, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
