"""Why pods of a training job ended badly or cannot begin, read from what Kubernetes notes of their containers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

Object = dict[str, Any]

EXIT_SAVED = 75
"""How a pod ends that was asked to stop and has saved (`runtime/tensorplane/stop.py`)."""
EXIT_SAME = 78
"""How a pod ends whose command ended twice in the same way soon after its start (`runtime/tensorplane/launch.py`)."""
_KILLED = 137
_OOM = "OOMKilled"
_DOCS = "docs/training.md#run-a-job-again"
_CLAIM = re.compile(r'persistentvolumeclaim "([^"]+)" (is being deleted|not found)')
_SHOWN = 8
_WIDTH = 300
_REASON_WIDTH = 800
"""Of a registry's error, which names the image three times, the end says most."""
_IMAGE = (
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
    "SignatureValidationFailed",
)
# What the kubelet tries again for ever, though only another image or another setting helps.
_CANNOT_BEGIN = (*_IMAGE, "CreateContainerConfigError", "CreateContainerError", "RunContainerError")


def first(pods: Iterable[Object]) -> list[str]:
    """How the first pod that failed by itself ended, and the last lines that it said; nothing where none is left.

    The others of a gang end because of it: stopped, or for want of a peer.
    """
    ended = [(pod, found) for pod in pods if (found := _terminated(pod))]
    ended = [(pod, found) for pod, found in ended if found.get("exitCode") or _evicted(pod)]
    if not ended:
        return []
    pod, found = min(ended, key=lambda each: (_by_others(*each), str(each[1].get("finishedAt") or "")))
    said = [line.rstrip()[:_WIDTH] for line in str(found.get("message") or "").splitlines() if line.strip()]
    return [f"{pod['metadata']['name']}: {_how(pod, found)}", *(f"  {line}" for line in said[-_SHOWN:])]


def in_short(pods: Iterable[Object]) -> str:
    """The same in one line: how it ended, and its last words."""
    found = first(pods)
    # How it ended may close with advice, which the last words are no part of.
    words = [f"last line: {line.strip()}" for line in found[1:][-1:]]
    return "; ".join([found[0].partition(": ")[2], *words]) if found else ""


def cannot_begin(pods: Iterable[Object]) -> str:
    """Why a pod cannot begin, where waiting does not help; empty where none is in such a state."""
    for pod in pods:
        for status in _statuses(pod):
            if ((status.get("state") or {}).get("waiting") or {}).get("reason") in _CANNOT_BEGIN:
                return f"{pod['metadata']['name']}: {waits(pod, status)}"
    return ""


def waits(pod: Object, status: Object) -> str:
    """What a container waits for, in the kubelet's words, and its image where that is what is missing."""
    waiting = (status.get("state") or {}).get("waiting") or {}
    reason, said = str(waiting.get("reason") or ""), " ".join(str(waiting.get("message") or "").split())
    told = ": ".join(filter(None, (reason, said[:_REASON_WIDTH])))
    if reason not in _IMAGE:
        return told
    containers = (*(pod["spec"].get("initContainers") or ()), *(pod["spec"].get("containers") or ()))
    image = next((each.get("image") for each in containers if each.get("name") == status.get("name")), None)
    return f"image {image or status.get('image') or ''} cannot be pulled: {told}"


def unscheduled(said: str) -> str:
    """Why no node takes a pod, in the scheduler's words; where its claim is the reason, with what to do."""
    found = _CLAIM.search(said)
    if not found:
        return said
    if found[2] == "not found":
        return f"claim {found[1]} is not in the cluster; deploy again, with pulumi up --refresh or make up"
    return f"claim {found[1]} was deleted and goes when no pod mounts it any more; stop those pods, then deploy again"


def end(namespace: str, run: str) -> str:
    """What to do about a run that cannot begin: nothing in Kubernetes gives up on it."""
    return (
        "Correct `image`, or what the line names, and deploy again; until then the cluster retries, and the pods"
        f" keep their nodes. To stop: kubectl -n {namespace} delete jobset {run}"
    )


def again(job_set: Object, pods: Iterable[Object], deploy: str, refresh: str) -> str:
    """How a run that failed is run again: with the same settings an update alone changes nothing.

    `deploy`: the command that updates its stack. `refresh`: the one that also sees what was deleted.
    """
    said = f"Correct it, and deploy with: {deploy}. A changed command or file is a new run; for a new run with the "
    said += "same settings, raise `attempt` of the job."
    if any(_terminated(pod).get("reason") == _OOM for pod in pods):
        said = f"Raise resources.memoryGib of the job, and deploy with: {deploy}. Changed settings are a new run."
    about = job_set["metadata"]
    if _has_checkpoints(job_set):
        said += (
            f" To go on from its checkpoints with the same settings: kubectl -n {about['namespace']} delete jobset "
            f"{about['name']} --ignore-not-found, then {refresh}"
        )
    return f"{said} ({_DOCS})"


def gone(refresh: str) -> str:
    """How a run is run again whose JobSet somebody deleted."""
    return f"To run it again, from its checkpoints if it has any: {refresh} ({_DOCS})"


def _has_checkpoints(job_set: Object) -> bool:
    jobs = (job_set.get("spec") or {}).get("replicatedJobs") or ()
    containers = (each for job in jobs for each in job["template"]["spec"]["template"]["spec"]["containers"])
    return any(variable["name"] == "CHECKPOINT_DIR" for each in containers for variable in each.get("env") or ())


def _statuses(pod: Object) -> list[Object]:
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


def _terminated(pod: Object) -> Object:
    """How its container ended; empty while it runs. A pod that was evicted may never have had one."""
    states = [each.get("state") or {} for each in _statuses(pod)]
    found: list[Object] = [state["terminated"] for state in states if state.get("terminated")]
    failed = [each for each in found if each.get("exitCode")]
    return (failed or found or [{"message": ""} if _evicted(pod) else {}])[0]


def _evicted(pod: Object) -> str:
    """Why the cluster took the pod away; empty where it did not."""
    status = pod.get("status") or {}
    if status.get("reason"):
        return ": ".join(filter(None, (status["reason"], status.get("message"))))
    for one in status.get("conditions") or ():
        if one.get("type") == "DisruptionTarget" and one.get("status") == "True":
            return ": ".join(filter(None, (one.get("reason"), one.get("message"))))
    return ""


def _by_others(pod: Object, found: Object) -> bool:
    return bool(_evicted(pod)) or found.get("exitCode") in (EXIT_SAVED, 143)


def _how(pod: Object, found: Object) -> str:
    if why := _evicted(pod):
        return why
    code = found.get("exitCode")
    if found.get("reason") == _OOM:
        limit = pod["spec"]["containers"][0].get("resources", {}).get("limits", {}).get("memory", "its limit")
        return f"{_OOM} (exit code {code}): it used more than {limit} of memory; raise resources.memoryGib"
    if code == EXIT_SAME:
        soon = "before its first step or within two minutes of its start"
        return f"exit code {code}: it ended twice with the same last line, {soon}; it was not started again"
    if code == _KILLED:
        return f"exit code {code}: killed, often for want of memory; raise resources.memoryGib or look at the node"
    reason = found.get("reason")
    return f"exit code {code}" + (f" ({reason})" if reason and reason != "Error" else "")
