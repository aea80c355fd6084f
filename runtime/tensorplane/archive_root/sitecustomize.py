"""Runs when Python starts in a pod: lets programs work on several workers that know nothing of the library.

If TF_CONFIG has several chiefs and workers, all get the same random seed, so that a shuffled dataset has the same order
in each, and Keras 3's `fit` is repaired (`tensorplane/keras/repair.py`). If it has parameter servers and no chief, the
sessions of workers name their devices (`tensorplane/parameter_server/between_graph.py`). It imports nothing of
TensorFlow itself: it waits until the program has imported it. A `sitecustomize` of the image runs too.

TensorFlow and Keras import each other, whichever is first. The repair requires both, and TensorFlow ignores errors in
its import of Keras, so the repair waits for the end of both.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

_HERE = Path(__file__).absolute().parent


def _after_tensorflow() -> Callable[[], None] | None:
    """What to do once TensorFlow is imported; None if programs need nothing in this place of the cluster."""
    try:
        config = json.loads(os.environ.get("TF_CONFIG") or "{}")
        cluster, task = config.get("cluster", {}), config.get("task", {})
        if "ps" not in cluster:
            return _seed if len(cluster.get("chief", [])) + len(cluster.get("worker", [])) > 1 else None
        if "chief" not in cluster and task["type"] == "worker":
            return partial(_filter_devices, int(task["index"]))
    except (ValueError, AttributeError, TypeError, KeyError):
        # The program, or TensorFlow, reports what is wrong with it.
        pass
    return None


def _filter_devices(index: int) -> None:
    from tensorplane.parameter_server import between_graph

    between_graph.install(index)


def _seed() -> None:
    from tensorplane import seeds

    seeds.set_common()


def _repair() -> None:
    import keras

    if keras.backend.backend() != "tensorflow":
        return
    from tensorplane.keras import repair

    try:
        repair.install()
    except repair.UnknownKeras as reason:
        # The program may not use `fit`.
        print(f"tensorplane: {reason}", file=sys.stderr, flush=True)


_WHEN_IMPORTED = _after_tensorflow()
_REPAIRS_KERAS = _WHEN_IMPORTED is _seed
_AWAITED = {"tensorflow", "keras"} if _REPAIRS_KERAS else {"tensorflow"}
_imported = set[str]()
"""Those whose import has ended."""


def _after_import(name: str) -> None:
    _imported.add(name)
    if name == "tensorflow" and _WHEN_IMPORTED:
        _WHEN_IMPORTED()
    if _REPAIRS_KERAS and _imported == _AWAITED:
        _repair()


class _Waiting(MetaPathFinder):
    """Finds a module as Python does, and acts after its import."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _AWAITED:
            return None
        # It may be a mere question: TensorFlow asks where Keras is before it imports it.
        others = (finder.find_spec(fullname, path, target) for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, others), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Acting(spec.loader)
        return spec


class _Acting(Loader):
    """A module's own loader, which acts after it has loaded the module."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _after_import(module.__name__)


def _run_the_images_own() -> None:
    others = [path for path in sys.path if Path(path).absolute() != _HERE]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


_run_the_images_own()
if _WHEN_IMPORTED:
    sys.meta_path.insert(0, _Waiting())
