"""What the cluster costs in memory: each process's proportional share, so that shared pages count once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from embedded.cluster import processes
from embedded.paths import Instance


def by_program(instance: Instance) -> dict[str, int]:
    """Bytes per program name, the largest first, over every process of the cluster and of its pods."""
    total: Counter[str] = Counter()
    for pid in processes.members(instance):
        try:
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:  # it just ended
            continue
        share = next(line for line in rollup.splitlines() if line.startswith("Pss:"))
        total[name] += int(share.split()[1]) * 1024
    return dict(total.most_common())
