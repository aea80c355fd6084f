"""`python3 -m tensorplane.stages STEP …`: a step of a stage, whose description is in the variable STAGE.

plan OUT RUN INPUT=COMMIT…    OUT/items gets the items that need a pod, OUT/summary how many are skipped, in JSON
keep RUN ITEM FOLDER          the files in FOLDER are the result of an item
publish RUN ITEM FOLDER OUT   the SavedModel in FOLDER becomes a version of a model server; the result is its number
commit OUT RUN                OUT/version gets the commit, OUT/summary how many items were done, skipped and failed
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tensorplane.datasets import Refused
from tensorplane.stages.commit import commit, counts_of
from tensorplane.stages.description import Stage
from tensorplane.stages.keep import keep
from tensorplane.stages.plan import Plan, path_of, plan
from tensorplane.stages.publish import published, served


def _plan(stage: Stage, out: str, run: str, *versions: str) -> None:
    todo = plan(stage, run, dict(each.split("=", 1) for each in versions))
    found = Plan.read(path_of(stage, run))
    _write(out, items=json.dumps(todo), summary=json.dumps(found.summary))
    _say(stage, **found.summary, left_out=found.left_out)


def _keep(stage: Stage, run: str, item: str, folder: str) -> None:
    _say(stage, item=item, files=keep(stage, run, int(item), Path(folder)))


def _publish(stage: Stage, run: str, item: str, folder: str, out: str) -> None:
    version = published(stage, run, Path(folder))
    _say(stage, published=version)
    served(stage, version, Path(out))
    _say(stage, served=version)
    _keep(stage, run, item, out)


def _commit(stage: Stage, out: str, run: str) -> None:
    made = commit(stage, run)
    counts = counts_of(made)
    _write(out, version=made.id, summary=json.dumps(counts))
    _say(stage, committed=f"{stage.dataset}@{made.id[:12]}", **counts)


def _write(out: str, **texts: str) -> None:
    Path(out).mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (Path(out) / name).write_text(text)


def _say(stage: Stage, **facts: Any) -> None:
    print(f"tensorplane: stage={stage.name}", *(f"{name}={value}" for name, value in facts.items()), flush=True)


REFUSED = 65
"""Exit status of what no further try changes."""
STEPS: Mapping[str, Callable[..., None]] = {"plan": _plan, "keep": _keep, "publish": _publish, "commit": _commit}

if __name__ == "__main__":
    _, step, *arguments = sys.argv
    try:
        STEPS[step](Stage.parse(os.environ["STAGE"]), *arguments)
    except Refused as error:
        print(error, file=sys.stderr)
        sys.exit(REFUSED)
    except OSError as error:
        sys.exit(f"{error.filename or step}: {error.strerror or error}; run the stage again")
