"""The policy pack `tensorplane`: every rule of `rules/`, mandatory by default."""

import gc
import os
import sys
from importlib.util import find_spec
from pathlib import Path

# In a checkout, the first Python on PATH may be another one than that of its environment, which has what it needs.
_OF_CHECKOUT = Path(__file__).resolve().parents[1] / ".venv" / "bin" / "python"
if find_spec("grpc") is None and _OF_CHECKOUT.exists():
    os.execv(_OF_CHECKOUT, [str(_OF_CHECKOUT), *sys.orig_argv[1:]])  # noqa: S606  # its own words, and no shell's

# This listener, new in gRPC, hands each call to another thread, which takes half as much processor time again. gRPC
# complains of an experiment that it does not know: requirements.txt pins its version.
os.environ.setdefault("GRPC_EXPERIMENTS", "-event_engine_listener")

# The process ends with the preview or the update, so what it no longer uses need not be collected: the collector would
# look at every value of the stack again and again.
gc.disable()

import analyzer  # noqa: E402
from rules import found  # noqa: E402

analyzer.serve("tensorplane", found())
