"""A stage that is a training job: its JobSet with the stage's folders."""

from collections.abc import Mapping, Sequence
from typing import Any

from tensorplane.components.base.labels import FENCED
from tensorplane.workloads.pods import pod
from tensorplane.workloads.pods.objects import Manifest
from tensorplane.workloads.pods.pod import VolumeMount

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def with_folders(job_set: Manifest, mounts: Sequence[VolumeMount], variables: Mapping[str, str]) -> Manifest:
    """The JobSet, whose pods mount these folders and have these variables, too."""
    spec = job_set["spec"]
    jobs = [_job(each, mounts, variables) for each in spec["replicatedJobs"]]
    return {**job_set, "spec": {**spec, "replicatedJobs": jobs}}


def _job(job: Mapping[str, Any], mounts: Sequence[VolumeMount], variables: Mapping[str, str]) -> dict[str, Any]:
    spec = job["template"]["spec"]
    made = {**spec, "template": _pod(spec["template"], mounts, variables)}
    return {**job, "template": {**job["template"], "spec": made}}


def _pod(template: Mapping[str, Any], mounts: Sequence[VolumeMount], variables: Mapping[str, str]) -> dict[str, Any]:
    numbered = [(f"stage-{index}", mount) for index, mount in enumerate(mounts)]
    mounted = [
        {"name": name, "mountPath": one.path, "subPath": one.folder, "readOnly": one.read_only}
        for name, one in numbered
    ]
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": one.claim}} for name, one in numbered]
    spec = template["spec"]
    env = pod.variables(variables)
    containers = [
        {**each, "env": [*each["env"], *env], "volumeMounts": [*each["volumeMounts"], *mounted]}
        for each in spec["containers"]
    ]
    made = {**spec, "containers": containers, "volumes": pod.agreeing([*spec["volumes"], *volumes])}
    return {"metadata": _metadata(template["metadata"], mounts), "spec": {**made, **_affinity(template, mounts)}}


def _metadata(metadata: Mapping[str, Any], mounts: Sequence[VolumeMount]) -> dict[str, Any]:
    labels = {**pod.meeting_of(mounts), **{key: value for mount in mounts for key, value in mount.labels.items()}}
    annotations = {key: value for mount in mounts for key, value in mount.annotations.items()}
    all_annotations = {**metadata.get("annotations", {}), **annotations}
    # The program writes its output itself.
    all_annotations.pop(FENCED, None)
    made = {**metadata, "labels": {**metadata["labels"], **labels}}
    return {**made, "annotations": all_annotations} if all_annotations else made


def _affinity(template: Mapping[str, Any], mounts: Sequence[VolumeMount]) -> dict[str, Any]:
    """The affinity to other pods with the same volumes of one node; empty if the pod has it already."""
    missing = {key: value for key, value in pod.meeting_of(mounts).items() if key not in template["metadata"]["labels"]}
    if not missing:
        return {}
    affinity = template["spec"].get("affinity", {})
    before = affinity.get("podAffinity", {}).get(_REQUIRED, [])
    return {"affinity": {**affinity, "podAffinity": {_REQUIRED: [*before, *pod.on_one_node(missing)]}}}
