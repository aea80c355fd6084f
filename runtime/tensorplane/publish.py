"""Publishes a model version for model servers: atomic and durable, never overwriting another, with its lineage."""

from __future__ import annotations

import json
import os
import shutil
import sys
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, overload

from tensorplane import content, declared_lineage, job_files, lineage, model_versions
from tensorplane.checkpoints import run_folder
from tensorplane.errors import TensorplaneError, UsageError


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
    """Publishes a model as the next version below `base`. Returns its number, from 1; None in workers but the chief.

    `model`: a Keras model or a `tf.Module`, which only the chief writes, without the other workers; or a function that
    fills the folder that it gets, which only the chief may call. `base`: by default MODEL_DIR. `metrics`: for the
    version's lineage (`assets.extra/lineage.json`), by default the ones that training reported last. A job's files
    are kept, too (`assets.extra/code.zip`).

    `run` is the publisher, by default the job's run. If it already published the newest version and was restarted, that
    version is returned. If other runs have published since, the settings returned to this run, and its model becomes
    the newest again. Outside a job, each call publishes another version.

    Raises UsageError without a folder, and TakenOver if another gang of the run has started meanwhile.
    """
    if write := _writer(model):
        # Imports TensorFlow, which the model has done before.
        from tensorplane.cluster import Place

        if not Place.current().is_chief:
            return None
    # What makes a model again must not add a version to the folder of the first one.
    folder = _model_dir() if declared_lineage.reproduces() else base or _model_dir()
    return _published(write or model, folder, run or lineage.run() or uuid.uuid4().hex, metrics)


def _writer(model: Any) -> Callable[[Path], object] | None:
    """What writes a model; None for a function."""
    if not (hasattr(model, "export") or hasattr(model, "trainable_variables")):
        return None
    from tensorplane.export import export

    return lambda folder: export(model, folder)


def _model_dir() -> Path:
    if not (found := os.environ.get("MODEL_DIR")):
        remedy = "pass a folder, or give the job a `model` (`tensorplane run`: --volume VOLUME:/PATH)"
        raise UsageError(f"base: missing, and MODEL_DIR is not set; {remedy}")
    return Path(found)


def _published(write: Callable[[Path], object], base: Path, run: str, metrics: Mapping[str, float] | None) -> int:
    def write_with_lineage(draft: Path) -> None:
        write(draft)
        (draft / lineage.FILE).parent.mkdir(exist_ok=True)
        (draft / lineage.FILE).write_text(json.dumps(lineage.record(run, metrics), indent=2) + "\n")
        job_files.write_archive(draft / lineage.CODE)
        _describe_content(draft)

    return model_versions.add(write_with_lineage, base, run, is_ours=run_folder.is_ours)


def _describe_content(draft: Path) -> None:
    """Notes digests of what the version contains, by which `tensorplane reproduce` compares it."""
    try:
        found = content.of(draft)
    except Exception as error:  # a trained model is published even if nobody can take it apart
        print(f"tensorplane: the model's content has no digests: {error}", file=sys.stderr, flush=True)
    else:
        (draft / content.FILE).write_text(json.dumps(found, indent=2) + "\n")


class NoVersion(TensorplaneError, FileNotFoundError):
    """No version of a model was published in a folder."""


def copy_newest(base: Path, target: Path, *, run: str | None) -> int:
    """Publishes the run's newest version below `base` below `target` too, with its lineage. Returns its number there.

    `run` is the publisher. If it already published the newest version there, that version is returned. Raises
    NoVersion without a version, and UsageError if the newest one is another run's and the run has none.
    """
    version = model_versions.newest(base)
    if not version:
        raise NoVersion(f"{base} has no version of the model")
    owner = model_versions.published_by(base / str(version))
    if run and owner not in (None, run):
        if not (
            own := [
                each for each in model_versions.versions(base) if model_versions.published_by(base / str(each)) == run
            ]
        ):
            raise UsageError(f"{base / str(version)} is a version of run {owner}, not of {run}")
        version = max(own)
    source = base / str(version)
    publisher = run or owner or uuid.uuid4().hex
    return model_versions.add(
        lambda draft: shutil.copytree(source, draft), target, publisher, is_ours=run_folder.is_ours
    )
