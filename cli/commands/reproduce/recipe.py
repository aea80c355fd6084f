"""How a model's version was made: as the settings of a training job that makes it again. Pure, but for its files."""

from __future__ import annotations

import base64
import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tensorplane.cli.commands.lineage.graph import ID_DIGITS, Node
from tensorplane.cli.commands.run.plan import Planned
from tensorplane.cli.commands.run.request import JobRequest, section
from tensorplane.components.base.names import digest_of, shorten
from tensorplane.core.errors import UserError
from tensorplane.workloads.pods.files import bundle

FOLDER = "reproduced"
"""Folder of a volume with models that were made again."""
_LONGEST_NAME = 40
_REMEDIES = {
    "image": "a job with packages has the cluster's default, which has changed; use the stack's file of then",
    "code": "read it with `unzip`, and run it with `tensorplane run`",
    "packages": "take packages.lock from the commit of then",
}


def missing_parts(node: Node, inputs: Sequence[Node]) -> list[str]:
    """What is missing to make a version again, a line each. `inputs`: the versions that it was made from."""
    return [f"{node.title}: {problem}" for problem in _missing_parts(node, inputs)]


def _missing_parts(node: Node, inputs: Sequence[Node]) -> Iterator[str]:
    record = node.record
    if problem := _no_job(node):
        yield problem
        return
    if record.get("code") and not node.code:
        yield "its code is gone: assets.extra/code.zip is missing"
    elif record.get("code") and bundle("code", files(node)).name != record["code"]:
        yield f"its code has changed: assets.extra/code.zip is not {record['code']}"
    if not node.content:
        yield "cannot be compared: assets.extra/content.json is missing"
    yield from _ambiguous(record.get("inputs", ()))
    for each in {each.id: each for each in inputs}.values():
        if each.problem:
            yield f"its input {each.title} is gone: {each.problem}"
        elif not each.is_kept:
            yield f"its input {each.title} is gone: the retention has deleted its files"
    for stream in section(record.get("data", {}), "streams"):
        yield f"it was trained on stream {stream}, whose records have no version"


def _no_job(node: Node) -> str:
    """Why no job of its own can make a version again; empty if one can."""
    if node.kind != "model":
        return "is a version of a dataset; run its pipeline again"
    if not node.record.get("settings"):
        return "its settings are not recorded: no training job published it, or one of an older tensorplane"
    if stage := node.record.get("stage"):
        owner = f"stage {stage} of pipeline {node.record.get('pipeline')}"
        return f"was trained in {owner}, whose pods alone have its inputs; run the pipeline again"
    return ""


def _ambiguous(inputs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """References that named one version after the other while the model was trained."""
    versions: dict[tuple[str, str], set[str]] = {}
    for each in inputs:
        if reference := each.get("reference"):
            dataset = str(each.get("path") or each["dataset"])
            versions.setdefault((dataset, reference), set()).add(each["version"])
    for (dataset, reference), several in versions.items():
        if len(several) > 1:
            name, found = dataset.rpartition("/")[2], ", ".join(sorted(each[:ID_DIGITS] for each in several))
            problem = f"was read as {len(several)} versions ({found}), and when each was read is not recorded"
            yield f"its input {name}@{reference} {problem}; let the program read a commit or a label"


def files(node: Node) -> dict[str, bytes]:
    """The files of its job, by path in the pod."""
    if not node.code:
        return {}
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(node.code))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def job(node: Node, folder: Path, *, built_here: bool) -> JobRequest:
    """The job. Its files are written into a folder. `built_here`: as of the cluster's images."""
    code = files(node)
    for name, content in code.items():
        target = (folder / name).resolve()
        if not target.is_relative_to(folder.resolve()):
            raise UserError(f"{node.title}: its code has {name!r}, which leads out of the folder; nothing is run")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    settings = dict(node.record["settings"])
    if built_here or not settings.get("packages"):
        # Where images are built, they have the packages.
        settings.pop("packages", None)
        settings["image"] = node.record["image"]
    then = {key: value for key, value in section(settings, "onSuccess").items() if key != "publish"}
    settings = {key: value for key, value in settings.items() if key != "onSuccess"}
    first, name = _model(node, settings), str(node.record.get("job", "model"))
    found = {
        **settings,
        "kind": "trainingJob",
        "files": {path: path for path in code},
        "model": {"volume": first["volume"], "path": f"{FOLDER}/{first['path']}/{node.version}"},
        **({"onSuccess": then} if then else {}),
    }
    return JobRequest(shorten(f"{name}-{FOLDER}", _LONGEST_NAME), found, folder)


def _model(node: Node, settings: Mapping[str, Any]) -> Mapping[str, str]:
    """The folder of the job's model; for a program that named one itself, that of the version."""
    volume, _, path = node.location.partition(":/")
    return settings.get("model") or {"volume": volume, "path": path}


def reproduces(node: Node) -> dict[str, Any]:
    """What the job's pods need to know of the version; see the library's `lineage.py`."""
    decisive = {key: node.record[key] for key in ("run", "runSeed", "inputs") if key in node.record}
    return {"model": node.location, "version": node.version, **decisive}


def check_same(planned: Planned, node: Node) -> None:
    """A UserError if the job would have another image, code or packages than then, a line each."""
    now, record = planned.manifest.run.decisive or {}, node.record
    then = {
        "image": digest_of(record["image"]),
        "code": digest_of(record["code"]) if "code" in record else None,
        "packages": record.get("packages"),
    }
    lines = [
        f"{node.title}: {part} would differ from {record.get(part, 'none')}; {_REMEDIES[part]}"
        for part, digest in then.items()
        if now.get(part) != digest
    ]
    if lines:
        raise UserError(*lines)
