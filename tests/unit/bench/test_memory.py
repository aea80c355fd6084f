"""Memory of real processes, by name, without the workloads'."""

from __future__ import annotations

import subprocess
import sys

from bench import memory

HOLDER = "import sys; held = bytearray(b'x' * (int(sys.argv[1]) << 20)); print(flush=True); sys.stdin.read()"


def test_a_process_counts_with_what_it_holds_alone_unless_left_out() -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, "64"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout and child.stdin
        child.stdout.readline()
        shares = memory.by_name([child.pid], {}, "workload")
        name = next(iter(shares))
        # Of pages that it shares, it counts for less while more processes have them.
        assert shares[name] - _share_of_an_idle_one() >= 60 << 20
        assert memory.by_name([child.pid], {}, name) == {}
        child.stdin.close()


def _share_of_an_idle_one() -> float:
    """What Python itself has, which depends on how many processes share its pages."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout and child.stdin
        child.stdout.readline()
        (share,) = memory.by_name([child.pid], {}, "workload").values()
        child.stdin.close()
    return share


def test_a_process_that_has_ended_counts_nothing() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert memory.by_name([child.pid], {}, "workload") == {}
