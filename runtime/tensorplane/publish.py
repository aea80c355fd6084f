"""Publishes a model version for model servers: atomic and durable, never overwriting another, with its lineage."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, overload

from tensorplane import lineage
from tensorplane.checkpoints import disk

_RUN = Path("assets.extra") / "run"


@overload
def publish(
    model: Callable[[Path], object], base: Path, *, run: str, metrics: Mapping[str, float] | None = None
) -> int: ...
@overload
def publish(
    model: Any, base: Path | None = None, *, run: str | None = None, metrics: Mapping[str, float] | None = None
) -> int | None: ...
def publish(
    model: Any, base: Path | None = None, *, run: str | None = None, metrics: Mapping[str, float] | None = None
) -> int | None:
    """Publish a model as the next version below `base`. Returns its number, from 1; None in workers but the chief.

    `model`: a Keras model or a `tf.Module`, which only the chief writes, without the other workers; or a function that
    fills the folder that it gets, which only the chief may call. `base`: by default MODEL_DIR. `metrics`: for the
    version's lineage (`assets.extra/lineage.json`), by default the ones that training reported last.

    `run` is the publisher, by default the job's run. If it already published the newest version and was restarted, that
    version is returned. If other runs have published since, the settings returned to this run, and its model becomes
    the newest again. Outside a job, each call publishes another version.

    Raises ValueError without a folder.
    """
    if write := _writer(model):
        # Imports TensorFlow, which the model has done before.
        from tensorplane.cluster import Place

        if not Place.current().is_chief:
            return None
    folder = base or _model_dir()
    return _published(write or model, folder, run or lineage.run() or uuid.uuid4().hex, metrics)


def _writer(model: Any) -> Callable[[Path], object] | None:
    """What writes a model; None for a function."""
    if not (hasattr(model, "export") or hasattr(model, "trainable_variables")):
        return None
    from tensorplane.export import export

    return lambda folder: export(model, folder)


def _model_dir() -> Path:
    if not (found := os.environ.get("MODEL_DIR")):
        raise ValueError("base: MODEL_DIR is not set; name the folder below which to publish versions of the model")
    return Path(found)


def _published(write: Callable[[Path], object], base: Path, run: str, metrics: Mapping[str, float] | None) -> int:
    base.mkdir(parents=True, exist_ok=True)
    newest = _newest(base)
    if newest and _published_by(base / str(newest)) == run:
        return newest
    # Servers only load folders with a numeric name, so they ignore this one.
    draft = base / f".draft-{run}"
    shutil.rmtree(draft, ignore_errors=True)
    write(draft)
    (draft / _RUN).parent.mkdir(exist_ok=True)
    (draft / _RUN).write_text(run)
    (draft / lineage.FILE).write_text(json.dumps(lineage.record(run, metrics), indent=2) + "\n")
    _flush(draft)
    version = newest + 1
    # A rename never replaces a folder with content: the second publisher gets an error.
    draft.rename(base / str(version))
    disk.flush(base)
    return version


def is_superseded(base: Path, *, run: str) -> bool:
    """Whether another run has published the newest version below `base`."""
    newest = _newest(base) if base.is_dir() else 0
    return bool(newest) and _published_by(base / str(newest)) not in (None, run)


def _newest(base: Path) -> int:
    return max((int(path.name) for path in base.iterdir() if path.name.isdecimal()), default=0)


def _published_by(folder: Path) -> str | None:
    marker = folder / _RUN
    return marker.read_text() if marker.exists() else None


def _flush(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        disk.flush(path)
