"""A pod that reads a folder of a job: in its image, with its rights, and with its mount of that folder alone.

The job's own pods may be gone, or may not have a program of the user's choice run in them.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from tensorplane.cli.api_values import Object
from tensorplane.components.base.labels import NAME, TOPOLOGY_PREFIX, labels

_COPIED_FIELDS = (
    "securityContext",
    "serviceAccountName",
    "tolerations",
    "nodeSelector",
    "affinity",
    "imagePullSecrets",
)
"""What decides where a pod may run, and as whom."""

_TMP: Mapping[str, Any] = {"name": "tmp", "emptyDir": {}}
_TMP_PATH = "/tmp"  # noqa: S108


def reading(
    job_set: Object, folder: str, purpose: str, command: Sequence[str], *, memory: str, **container: Any
) -> Object:
    """The pod. It mounts the volume of `folder` read-only and an empty /tmp, and can do nothing else.

    `purpose`: the end of its name, and its container's name. `container`: further fields of the container.
    """
    about = job_set["metadata"]
    template = job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    spec = template["spec"]
    of_job = spec["containers"][0]
    mounts = [each for each in of_job.get("volumeMounts") or () if _is_below(folder, each["mountPath"])]
    names = {each["name"] for each in mounts}
    copied: Mapping[str, object] = {key: spec[key] for key in _COPIED_FIELDS if key in spec}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{about['name']}-{purpose}-{uuid.uuid4().hex[:5]}",
            "namespace": about["namespace"],
            # Of the job's pods too: volumes' drivers, and pods that must share a node, go by them.
            "labels": {
                **_metadata(template, "labels"),
                **labels((about.get("labels") or {}).get(NAME, about["name"]), purpose),
            },
            "annotations": _metadata(template, "annotations"),
        },
        "spec": {
            **copied,
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "volumes": [_TMP, *(each for each in spec.get("volumes") or () if each["name"] in names)],
            "containers": [
                {
                    "name": purpose,
                    "image": of_job["image"],
                    "command": list(command),
                    "resources": {"requests": {"cpu": "50m", "memory": memory}, "limits": {"memory": memory}},
                    "securityContext": of_job.get("securityContext") or {},
                    "env": [{"name": "HOME", "value": _TMP_PATH}],
                    "volumeMounts": [
                        {"name": _TMP["name"], "mountPath": _TMP_PATH},
                        *({**each, "readOnly": True} for each in mounts),
                    ],
                    **container,
                }
            ],
        },
    }


def _metadata(template: Object, key: str) -> dict[str, str]:
    found = (template.get("metadata") or {}).get(key) or {}
    return {name: value for name, value in found.items() if not name.startswith(TOPOLOGY_PREFIX)}


def _is_below(folder: str, mount: str) -> bool:
    return folder == mount or folder.startswith(f"{mount.rstrip('/')}/")
