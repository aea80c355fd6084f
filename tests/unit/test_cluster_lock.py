"""One process at a time changes an instance, and a killed one blocks nobody."""

from __future__ import annotations

import subprocess
import sys

import pytest

from embedded.cluster.lock import only_one
from embedded.fault import Fault
from embedded.paths import PROJECT, Instance

_HOLD = """
import sys, time
from embedded.cluster.lock import only_one
from embedded.paths import Instance
with only_one(Instance("bench")):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_one_is_told_who_holds_it_and_gets_it_when_that_is_killed() -> None:
    holder = subprocess.Popen([sys.executable, "-c", _HOLD], cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(Fault, match=f"process {holder.pid} is starting or stopping it"),
            only_one(Instance("bench"), timeout=0.2),
        ):
            pass
        with only_one(Instance("test"), timeout=0.2):
            pass
    finally:
        holder.kill()
        holder.communicate()
    with only_one(Instance("bench"), timeout=1):
        pass
