"""A run of a pipeline: a Workflow of its WorkflowTemplate, whose name says what it runs on.

The name has two hashes: of what decides the stages' results and of the versions that the run begins with, and of the
newest versions of its outputs that it replaces. So whoever starts a run twice, and however often, starts one; and after
another program or other data have made newer versions, going back is another run. Runs with the first hash in common
make the same: which one made a version says whether it is what the pipeline makes now. `agents/triggers/runs.py` names
runs in the same way.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tensorplane.components import versions
from tensorplane.components.base.labels import PIPELINE, SOURCES, STAGE
from tensorplane.components.base.names import digest_of

HASH = 16
"""Characters of both hashes in a run's name: with two runs of one name, the second would not be started."""
_OF_WHAT = 10
"""Characters of the first one."""
LOOKED_BACK = 100
"""The most versions of an output among which one that another program made is looked for."""
MANAGER = "tensorplane-runs"
"""Field manager of Workflows."""
ENTRY = "pipeline"
"""The template that has the stages."""
STEPS = ("plan", "work", "commit", "job", "keep", "clean")
"""Templates of a stage, after its name and a dash."""
WORKFLOWS, TEMPLATES = "workflows", "workflowtemplates"


class Source(NamedTuple):
    """A branch of a dataset that a run begins with."""

    dataset: str
    branch: str


def path(kind: str, namespace: str, name: str = "") -> str:
    """The path of Argo's objects of a kind in the API, or of one."""
    return f"/apis/{versions.ARGO_API}/namespaces/{namespace}/{kind}{f'/{name}' if name else ''}"


def sources(template: Mapping[str, Any]) -> dict[str, Source]:
    """What runs of a WorkflowTemplate begin with, by the names of their parameters."""
    found = json.loads(template["metadata"]["annotations"][SOURCES])
    return {name: Source(**each) for name, each in found.items()}


def outputs(template: Mapping[str, Any]) -> list[str]:
    """The datasets of which runs of a WorkflowTemplate make versions, on their branch `main`."""
    made = template["spec"].get("templates") or ()
    texts = [((one.get("metadata") or {}).get("annotations") or {}).get(STAGE) for one in made]
    return sorted({json.loads(text)["dataset"] for text in texts if text})


def beginning(template: Mapping[str, Any], commits: Mapping[str, str]) -> str:
    """What the names of all runs of a WorkflowTemplate on these commits begin with."""
    about = template["metadata"]
    return f"{about['name']}-{digest_of([about['annotations'][PIPELINE], dict(commits)], _OF_WHAT)}"


def begins(run: str, beginning: str) -> bool:
    """Whether a run's name begins so."""
    return run.startswith(beginning) and len(run) == len(beginning) + HASH - _OF_WHAT


def maker(commit: Mapping[str, Any]) -> str:
    """The run that made a version; empty if none did."""
    return str(commit["provenance"].get("run", ""))


def replaced(log: Iterable[Mapping[str, Any]], beginning: str) -> str:
    """The newest commit of an output that no run with this beginning made; empty without one. `log`: newest first."""
    return next((str(made["id"]) for made in log if not begins(maker(made), beginning)), "")


def workflow(template: Mapping[str, Any], commits: Mapping[str, str], replaces: Mapping[str, str]) -> dict[str, Any]:
    """The run of a WorkflowTemplate on these commits, by the names of its parameters. `replaces`: the commit of each
    output that it replaces, as `replaced` finds it.
    """
    about = template["metadata"]
    return {
        "apiVersion": versions.ARGO_API,
        "kind": "Workflow",
        "metadata": {
            "name": f"{beginning(template, commits)}{digest_of(dict(replaces), HASH - _OF_WHAT)}",
            "namespace": about["namespace"],
            "labels": dict(about["labels"]),
        },
        "spec": {
            "workflowTemplateRef": {"name": about["name"]},
            "arguments": {"parameters": [{"name": name, "value": commits[name]} for name in sorted(commits)]},
        },
    }
