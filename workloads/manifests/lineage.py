"""The job's part of a published model's lineage, in a variable that tensorplane's library reads."""

import json
from typing import Any

from workloads.manifests import pod
from workloads.manifests.run import Decisive

_VARIABLE = "TENSORPLANE_LINEAGE"


def variables(job: str, run: str, decisive: Decisive) -> list[dict[str, Any]]:
    """The variable, from parts that decide the run: image, a digest of the files, volumes and streams."""
    parts = decisive.parts
    facts = {
        "job": job,
        "run": run,
        "image": parts["image"],
        "code": parts["code"],
        "data": {name: value for name, value in parts["data"].items() if value},
    }
    return pod.variables({_VARIABLE: json.dumps({name: value for name, value in facts.items() if value})})
