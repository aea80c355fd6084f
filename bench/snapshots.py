"""The cost of snapshots and restores of embedded volumes, compared with a full copy of the same files."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial

from bench import rate
from bench.figure import Figure, Measured
from bench.snapshot_rounds import LARGE, SMALL, Round
from tensorplane.core.errors import UserError
from tensorplane.core.paths import PROJECT
from tensorplane.core.scratch import scratch

_ROUNDS = 5
# Mounts and the driver end with this process.
_GUARDED = ("unshare", "--mount", "--propagation=private", "setpriv", "--pdeathsig", "KILL", "--")


@cache
def _rounds() -> list[Round]:
    """The rounds of all these figures."""
    with scratch("bench") as folder:
        program = [sys.executable, "-m", "bench.snapshot_rounds", str(folder), str(_ROUNDS)]
        done = subprocess.run([*_GUARDED, *program], cwd=PROJECT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"the rounds of snapshots ended early: {done.stderr.strip().splitlines()[-1]}")
    return [Round(**one) for one in json.loads(done.stdout)]


def _measure(figure: Callable[[list[Round]], Measured]) -> Measured:
    return figure(_rounds())


def speed(rounds: list[Round]) -> Measured:
    """How many times faster a snapshot is than a copy."""
    ratio = rate.paired([(one.copy, one.large) for one in rounds])
    copy, snapshot = (statistics.median(getattr(one, of) for one in rounds) for of in ("copy", "large"))
    return Measured(
        ratio.median,
        f"copy of {_gib(LARGE)} {copy:.1f} s, snapshot {snapshot * 1000:.1f} ms "
        f"(95 % {ratio.low:.0f} to {ratio.high:.0f}, {len(rounds)} rounds)",
    )


def slope(rounds: list[Round]) -> Measured:
    """How much longer the large volume's snapshot takes than the small one's."""
    ratio = rate.paired([(one.large, one.small) for one in rounds])
    return Measured(ratio.median, f"{_gib(LARGE)} : {_gib(SMALL)} (95 % {ratio.low:.2f} to {ratio.high:.2f})")


def restore(rounds: list[Round]) -> Measured:
    """The time of a restore, in milliseconds."""
    times = [one.restore * 1000 for one in rounds]
    return Measured(statistics.median(times), f"rounds of {min(times):.1f} to {max(times):.1f} ms")


def extra(rounds: list[Round]) -> Measured:
    """The disk space of a snapshot, in percent of its volume."""
    shares = [one.extra * 100 for one in rounds]
    return Measured(statistics.median(shares), f"{min(shares):.4f} to {max(shares):.4f} % of {_gib(LARGE)}")


def _gib(size: int) -> str:
    return f"{size / 2**30:.2g} GiB"


FIGURES = (
    Figure("snapshot-speed", ">= 1000", "x", partial(_measure, speed)),
    Figure("snapshot-slope", "<= 1.2", "x", partial(_measure, slope)),
    Figure("restore-ms", "<= 100", "ms", partial(_measure, restore)),
    Figure("snapshot-extra-bytes", "<= 1", "%", partial(_measure, extra)),
)
