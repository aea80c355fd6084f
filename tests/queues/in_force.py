"""A namespace with a policy of `components/admission` in force, for stacks other than that of `fleet.yaml`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tensorplane.components.admission.namespaces import Spaces
from tensorplane.components.base.labels import TENSORPLANE
from tensorplane.components.queues.flavors import Flavor
from tensorplane.core.gvk import GVK
from tests.queues.jobs import Jobs, Object

_REGISTRATION = "admissionregistration.k8s.io/v1"


@contextmanager
def policy(
    jobs: Jobs,
    namespace: str,
    made_for: Callable[[Spaces], Mapping[str, Any]],
    kinds: Mapping[str, Sequence[Flavor]],
    *,
    only_job_sets: bool = True,
) -> Iterator[None]:
    """For a team in this namespace, until the end of the block. The API server enforces it a moment after it is made.

    `kinds`: the flavors of each queue.
    """
    spaces = Spaces(jobs.stack, {namespace: list(kinds)}, [], kinds, only_job_sets=only_job_sets)
    among = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [namespace]}
    made: list[Object] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": dict(TENSORPLANE)}},
        {
            "apiVersion": _REGISTRATION,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": namespace},
            "spec": {"failurePolicy": "Fail", **_of_api(made_for(spaces))},
        },
        {
            "apiVersion": _REGISTRATION,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": namespace},
            "spec": {
                "policyName": namespace,
                "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": {"matchExpressions": [among]}},
            },
        },
    ]
    try:
        for each in made:
            jobs.api.apply(each, manager="test")
        yield
    finally:
        for each in reversed(made):
            jobs.api.delete(GVK.parse(each["apiVersion"], each["kind"]), each["metadata"]["name"])


def _of_api(value: Any) -> Any:
    """Pulumi's names as the API server's."""
    if isinstance(value, Mapping):
        return {_camel(key): _of_api(each) for key, each in value.items()}
    return [_of_api(each) for each in value] if isinstance(value, list) else value


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return "".join((first, *(part.capitalize() for part in rest)))
