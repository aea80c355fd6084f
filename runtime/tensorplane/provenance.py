"""Reads back what versions on a volume record of their origin (`lineage.py`), for `tensorplane lineage`.

`python3 -m tensorplane.provenance ROOT` answers a request: a line of JSON on standard input, a list of `{path,
reference}`, folders below ROOT of datasets and of models. The answer is a list of as many maps on standard output.
"""

from __future__ import annotations

import base64
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tensorplane import content, lineage
from tensorplane.datasets import Dataset, Refused


def of(folder: Path, reference: str = "", *, code: bool = False) -> dict[str, Any]:
    """What a version records. `reference`: of a dataset, as in `Dataset`; of a model the number of a version; by
    default the newest. `code`: with what it takes to make a model again: the files of its job, as an archive in base64,
    and the digests of its content.

    `kind`: dataset or model, missing if the folder is neither. A dataset's has `commit` and `kept`, whether its files
    are still there; a model's `version`, `lineage` and, with `code`, `code` and `content`. If there is no such version,
    `problem` says so, and `names` has those that there are.
    """
    if (folder / "branches").is_dir():
        return _of_dataset(Dataset(folder), reference or "main")
    numbers = sorted(int(path.name) for path in folder.iterdir() if path.name.isdecimal()) if folder.is_dir() else []
    if not numbers:
        return {"problem": "no version was published or committed there", "names": []}
    number = int(reference) if reference.isdecimal() else 0 if reference else numbers[-1]
    if number not in numbers:
        return {"kind": "model", "problem": "no version has this number", "names": [str(each) for each in numbers]}
    return {"kind": "model", "version": str(number), **_of_model(folder / str(number), code=code)}


def _of_dataset(dataset: Dataset, reference: str) -> dict[str, Any]:
    try:
        found = dataset.resolve(reference)
    except Refused as error:
        names = sorted({*dataset.branches(), *dataset.labels()})
        return {"kind": "dataset", "problem": str(error).partition(": ")[2].partition("; choose")[0], "names": names}
    kept = dataset.store.path("trees", found.version).exists()
    return {"kind": "dataset", "commit": asdict(found), "kept": kept}


def _of_model(folder: Path, *, code: bool) -> dict[str, Any]:
    try:
        found = json.loads((folder / lineage.FILE).read_text())
    except (OSError, ValueError):
        found = {}
    answer: dict[str, Any] = {"lineage": found if isinstance(found, dict) else {}}
    if code and (folder / lineage.CODE).exists():
        answer["code"] = base64.b64encode((folder / lineage.CODE).read_bytes()).decode()
    if code and (folder / content.FILE).exists():
        answer["content"] = json.loads((folder / content.FILE).read_text())
    return answer


def main(root: Path) -> None:
    """Answers one request."""
    asked = json.loads(sys.stdin.readline())
    answers = [of(root / each["path"], each["reference"], code=each.get("code", False)) for each in asked]
    print(json.dumps(answers), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
