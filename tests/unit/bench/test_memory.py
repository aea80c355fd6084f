"""Memory of real processes, by name, without the workloads'."""

from __future__ import annotations

import subprocess
import sys

from bench import memory


def test_a_process_counts_with_what_it_holds_alone_unless_left_out() -> None:
    holder = "import sys; held = bytearray(b'x' * (64 << 20)); print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout and child.stdin
        child.stdout.readline()
        shares = memory.by_name([child.pid], {}, "workload")
        name = next(iter(shares))
        assert 64 << 20 <= shares[name] < 90 << 20
        assert memory.by_name([child.pid], {}, name) == {}
        child.stdin.close()


def test_a_process_that_has_ended_counts_nothing() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert memory.by_name([child.pid], {}, "workload") == {}
