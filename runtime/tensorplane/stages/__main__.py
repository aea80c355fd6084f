"""`python3 -m tensorplane.stages STEP …`: a step in a pod of a stage, whose description is in the variable STAGE.

keep RUN ITEM FOLDER PROGRAM  the files in FOLDER are the result of an item, once the container PROGRAM has ended well
publish RUN ITEM FOLDER OUT   the SavedModel in FOLDER becomes a version of a model server; the result is its number
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tensorplane import pod_history
from tensorplane.checkpoints.run_folder import TakenOver
from tensorplane.datasets import Refused
from tensorplane.datasets.errors import Gone, permanent_errors_refused, shortened
from tensorplane.stages.container_exit import exit_status
from tensorplane.stages.description import Stage
from tensorplane.stages.publish import Server, published, served
from tensorplane.stages.steps import keep_result, words

_STARTED = time.time()
"""When this container started, which is when that of the program did."""


def _keep(stage: Stage, run: str, item: str, folder: str, program: str = "") -> None:
    if program and (status := exit_status(program)):
        sys.exit(status)
    _say(stage, keep_result(stage, run, item, Path(folder), pod_history.since(_STARTED)).said)


def _publish(stage: Stage, run: str, item: str, folder: str, out: str) -> None:
    server = Server.of(stage)
    with permanent_errors_refused(server.folder.parent, what=f"{server.server}: the model", of=Path(folder)):
        version = published(stage, run, Path(folder))
    _say(stage, words(published=version))
    served(stage, version, Path(out))
    _say(stage, words(served=version))
    _keep(stage, run, item, out)


def _say(stage: Stage, text: str) -> None:
    print(f"tensorplane: stage={stage.name} {text}", flush=True)


REFUSED = 65
"""Exit status of what no further try changes."""
STEPS: Mapping[str, Callable[..., None]] = {"keep": _keep, "publish": _publish}

if __name__ == "__main__":
    _, step, *arguments = sys.argv
    try:
        STEPS[step](Stage.parse(os.environ["STAGE"]), *arguments)
    except (Gone, TakenOver) as error:
        sys.exit(str(error))
    except Refused as error:
        print(error, file=sys.stderr)
        sys.exit(REFUSED)
    except OSError as error:
        sys.exit(f"{shortened(str(error.filename or step))}: {error.strerror or error}; run the stage again")
