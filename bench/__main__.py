"""`python -m bench [NAME …]`: measure figures one after the other, print them with their goals, record them."""

from __future__ import annotations

import signal
import sys

from rich.console import Console

from bench import (
    asha,
    check,
    checkpoints,
    command_line,
    datasets,
    figure,
    fit_speed,
    goodput,
    graph,
    input_pipeline,
    instance,
    lost_nodes,
    lost_nodes_agent,
    make_up,
    memory,
    parameter_server,
    pipelines,
    pod_start,
    previews,
    queue_layouts,
    quiet,
    serving,
    simulated_fleet,
    snapshots,
    sweep_overhead,
    training,
    volume_throughput,
    weak_scaling,
)
from bench.figure import Figure, Measured
from tensorplane.core import terminal
from tensorplane.core.errors import UserError

FIGURES = {
    one.name: one
    for module in (
        make_up,
        memory,
        pod_start,
        snapshots,
        volume_throughput,
        training,
        checkpoints,
        command_line,
        datasets,
        check,
        previews,
        graph,
        simulated_fleet,
        queue_layouts,
        input_pipeline,
        weak_scaling,
        goodput,
        lost_nodes,
        lost_nodes_agent,
        fit_speed,
        parameter_server,
        asha,
        sweep_overhead,
        serving,
        pipelines,
    )
    for one in module.FIGURES
}


def main(names: list[str]) -> int:
    """Measures the named figures, or all but those that take long and must be named.

    Returns 0 if all were measured, whether they reach their goals or not; 1 if one could not be; 130 after Ctrl-C.
    """
    # `kill` ends it as Ctrl-C does: with everything it started removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    unknown = [name for name in names if name not in FIGURES]
    if unknown:
        print(f"{', '.join(unknown)}: unknown figure; choose among {', '.join(FIGURES)}", file=sys.stderr)
        return 1
    console = terminal.console()
    rows: list[tuple[Figure, Measured]] = []
    chosen = names or [one.name for one in FIGURES.values() if not one.by_name]
    try:
        with instance.alone():
            for name in chosen:
                try:
                    rows.append(_measure(FIGURES[name], console))
                except UserError as error:
                    print(*(f"{name}: {line}" for line in error.lines), sep="\n", file=sys.stderr)
    except UserError as error:
        print(*error.lines, sep="\n", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted; everything that the measurement started is removed.", file=sys.stderr)
        return 130
    finally:
        if rows:
            figure.show(console, rows)
    return 0 if len(rows) == len(chosen) else 1


def _measure(one: Figure, console: Console) -> tuple[Figure, Measured]:
    console.print(f"{one.name}: waiting for a quiet machine …", style="dim")
    load = quiet.wait_for_low_load()
    console.print(f"{one.name}: measuring, load {load:.1f} …", style="dim")
    measured = one.measure()
    figure.record(one, measured)
    return one, measured


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
