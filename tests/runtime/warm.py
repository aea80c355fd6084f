"""A process that has imported TensorFlow, which takes seconds, and forks for each program of a test.

A program finds all as in a process of its own: TensorFlow is not imported before the program does so, and nothing of it
has begun, for its context is created at its first use. Only the seed of Python's hashes is the same in all.
"""

from __future__ import annotations

import copy
import ctypes
import faulthandler
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

_END_WITH_PARENT = 1
"""PR_SET_PDEATHSIG: no program outlives this process, as this one does not outlive the tests."""


def serve(asks: socket.socket) -> dict[str, Any] | None:
    """Starts programs and tells how they ended, until the tests have. Returns in each program, with what it is."""
    while True:
        text, descriptors, *_ = socket.recv_fds(asks, 1 << 20, 1)
        if not text:
            return None
        asked: dict[str, Any] = json.loads(text)
        if "ended" in asked:
            found, status = os.waitpid(asked["ended"], os.WNOHANG)
            asks.send(json.dumps(status if found else None).encode())
            continue
        (log,) = descriptors
        if not (child := os.fork()):
            asks.close()
            os.dup2(log, sys.stdout.fileno())
            os.dup2(log, sys.stderr.fileno())
        os.close(log)
        if not child:
            return asked
        asks.send(str(child).encode())


class _Imported(MetaPathFinder, Loader):
    """Gives a program TensorFlow and Keras when it imports one of them; each imports the other."""

    def __init__(self, then: str) -> None:
        self._then = then
        self._modules = {name: sys.modules.pop(name) for name in ("tensorflow", "keras")}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._modules:
            return None
        spec = copy.copy(self._modules[fullname].__spec__)
        assert spec
        spec.loader = self
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        for name in self._modules:
            importlib.import_module(name)
        then, self._then = self._then, ""
        exec(then, {})


def become(argv: list[str], folder: str, environment: dict[str, str], then: str) -> None:
    """Runs a program as Python would. `then`: what to do once it has imported TensorFlow."""
    import numpy as np

    ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
    np.random.seed()  # the one of the process, which a program of its own would have too
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    faulthandler.enable()
    sys.argv = argv
    sys.path[0:1] = [str(Path(argv[0]).parent), *environment.get("PYTHONPATH", "").split(":")]
    sys.meta_path.insert(0, _Imported(then))
    sys.modules.pop("sitecustomize", None)
    importlib.import_module("sitecustomize")
    runpy.run_path(argv[0], run_name="__main__")


def main() -> None:
    import keras  # noqa: F401
    import tensorflow  # noqa: F401
    from tensorflow.python.eager import context

    own = context._context
    assert own is None or not own._initialized, "TensorFlow has begun at its import: nothing may be forked then"
    gc.collect()
    gc.freeze()  # programs share what is here, and never look through it
    if asked := serve(socket.socket(fileno=int(sys.argv[1]))):
        become(**asked)


if __name__ == "__main__":
    main()
