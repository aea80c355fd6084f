"""Why pods of a training job failed or cannot start, from the status of their containers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from tensorplane.core import command_lines

Object = dict[str, Any]

EXIT_SAVED = 75
"""Exit code of a pod that was asked to stop and has saved (`runtime/tensorplane/stop.py`)."""
EXIT_NOT_RETRIED = 78
"""Exit code of a pod whose command no restart would help (`runtime/tensorplane/launch.py`)."""
# Termination messages of the library (`runtime/tensorplane`), which say why.
_POISON_STEP = re.compile(r"tensorplane: (after step \d+ it failed \d+ times in a row with the same last line)")
_ON_SUCCESS_FAILED = re.compile(r"tensorplane: (the command has succeeded, but onSuccess failed \d+ times)")
_TOTAL_DEADLINE_PASSED = re.compile(
    r"tensorplane: (totalDeadlineSeconds, \d+, have passed since the run's first start)"
)
_STALLED = re.compile(
    r"tensorplane: ((?:no step|the loss has not changed) for [\d.]+ s(?: after step \d+)?); (the stacks|it was killed)"
)
_EXIT_KILLED = 137
_OOM = "OOMKilled"
_NO_SETTING = "it is Argo's own, whose memory no setting changes; run the stage again"
_OVER_MEMORY_LIMIT = {"keep": "give each part fewer files", "init": _NO_SETTING, "wait": _NO_SETTING}
"""What to do for containers of a stage's pods whose memory is not that of its settings.

They are those of `workloads/pipeline/stage_pods.py`.
"""
_DOCS = "docs/training.md#run-a-job-again"
_UNUSABLE_CLAIM = re.compile(r'persistentvolumeclaim "([^"]+)" (is being deleted|not found)')
_PREEMPTION = re.compile(r"[.,]?( no new claims to deallocate,)? preemption: .*", re.DOTALL)
"""The end of the scheduler's message: whom it would evict for the pod, which repeats the beginning."""
_INSUFFICIENT = re.compile(r"Insufficient ([\w./-]*\w)")
_UNREACHABLE = re.compile(
    r"Network is unreachable|[Cc]onnection timed out|[Cc]onnect ?[Tt]imeout|Max retries exceeded|urlopen error|"
    r"No route to host|Failed to establish a new connection|TimeoutError: timed out|Could not connect to the endpoint|"
    r"Cannot connect to host|failed to connect to all addresses|libcurl code 28|curl: \((?:7|28)\)"
)
_EGRESS_CLOSED = (
    "Pods of a job can only connect to each other, DNS, the brokers of its streams, and what `egress` of the job opens"
    " (docs/training-pods.md#network)"
)
_LOG_LINES = 8
_LOG_LINE_WIDTH = 300
"""How much of a pod's termination message is printed: its last lines, and characters of each."""
_KUBELET_MESSAGE_WIDTH = 800
"""Characters of the kubelet's message: the cause is at the end of a registry's error, which names the image thrice."""
_IMAGE_REASONS = (
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
    "SignatureValidationFailed",
)
# Reasons for which the kubelet retries for ever, although only another image or setting helps.
_CANNOT_START_REASONS = (*_IMAGE_REASONS, "CreateContainerConfigError", "CreateContainerError", "RunContainerError")


def first_failure(pods: Iterable[Object]) -> list[str]:
    """How the first pod that failed by itself ended, and its last log lines; empty if no failed pod is left.

    The other pods of the gang end because of it: they are stopped, or lose their peer.
    """
    ended = [(pod, found) for pod in pods if (found := _terminated(pod))]
    ended = [(pod, found) for pod, found in ended if found.get("exitCode") or _evicted(pod)]
    if not ended:
        return []
    pod, found = min(ended, key=lambda each: (_ended_by_others(*each), str(each[1].get("finishedAt") or "")))
    log = [line.rstrip()[:_LOG_LINE_WIDTH] for line in str(found.get("message") or "").splitlines() if line.strip()]
    hint = [_EGRESS_CLOSED] if log and _UNREACHABLE.search(log[-1]) else []
    return [
        f"{pod['metadata']['name']}: {_how_it_ended(pod, found)}",
        *(f"  {line}" for line in log[-_LOG_LINES:]),
        *hint,
    ]


def summarize(pods: Iterable[Object]) -> str:
    """The same in one line: how it ended, and its last log line."""
    found = first_failure(pods)
    last_line = [f"last line: {line.strip()}" for line in found[1:] if line.startswith("  ")][-1:]
    return "; ".join([found[0].partition(": ")[2], *last_line]) if found else ""


def without_pods(job_set: Object) -> str:
    """What is known of a failed run without failed pods."""
    jobs = (job_set.get("spec") or {}).get("replicatedJobs") or ()
    found = [seconds for job in jobs if (seconds := job["template"]["spec"].get("activeDeadlineSeconds"))]
    if found:
        return f"Its pods are deleted, as after deadlineSeconds, {found[0]}; if it needs more time, raise it."
    return "Its pods are deleted, so the reason is unknown."


def cannot_start(pods: Iterable[Object]) -> str:
    """Why a pod cannot start although it waits; empty if no pod is in such a state."""
    for pod in pods:
        for status in _statuses(pod):
            if ((status.get("state") or {}).get("waiting") or {}).get("reason") in _CANNOT_START_REASONS:
                return f"{pod['metadata']['name']}: {waiting_reason(pod, status)}"
    return ""


def waiting_reason(pod: Object, status: Object) -> str:
    """What a container waits for, in the kubelet's words, and its image if that cannot be pulled."""
    waiting = (status.get("state") or {}).get("waiting") or {}
    reason, message = str(waiting.get("reason") or ""), " ".join(str(waiting.get("message") or "").split())
    cause = ": ".join(filter(None, (reason, message[:_KUBELET_MESSAGE_WIDTH])))
    if reason not in _IMAGE_REASONS:
        return cause
    containers = (*(pod["spec"].get("initContainers") or ()), *(pod["spec"].get("containers") or ()))
    image = next((each.get("image") for each in containers if each.get("name") == status.get("name")), None)
    return f"image {image or status.get('image') or ''} cannot be pulled: {cause}"


def unscheduled(pod: Object) -> str:
    """Why no node takes a pod, in the scheduler's words, with what the pod requests of what is short; if its claim is
    the reason, with the remedy. Empty if the scheduler did not say."""
    message = _scheduling_message(pod)
    if not (found := _UNUSABLE_CLAIM.search(message)):
        requests = ", ".join(_requests(pod, dict.fromkeys(_INSUFFICIENT.findall(message))))
        return _PREEMPTION.sub("", message).rstrip(".") + (f" (it requests {requests})" if requests else "")
    if found[2] == "not found":
        return f"claim {found[1]} does not exist; deploy again with pulumi up --refresh or {command_lines.deploy()}"
    return f"claim {found[1]} is being deleted, but pods still mount it; stop these pods, then deploy again"


def _scheduling_message(pod: Object) -> str:
    for each in (pod.get("status") or {}).get("conditions") or ():
        if (each["type"], each["status"]) == ("PodScheduled", "False"):
            return str(each.get("message") or "")
    return ""


def _requests(pod: Object, resources: Iterable[str]) -> Iterator[str]:
    """What the containers of a pod request of these resources: `cpu 500m + 1`."""
    containers = (pod.get("spec") or {}).get("containers") or ()
    of_containers = [(each.get("resources") or {}).get("requests") or {} for each in containers]
    for resource in resources:
        if found := [str(each[resource]) for each in of_containers if resource in each]:
            yield f"{resource} {' + '.join(found)}"


def how_to_stop(namespace: str, run: str) -> str:
    """What to do about a run that cannot start: Kubernetes retries it for ever."""
    return (
        "Correct `image`, or what the reason names, and deploy again; until then the cluster retries, and the pods"
        f" keep their nodes. To stop: kubectl -n {namespace} delete jobset {run}"
    )


def how_to_rerun(job_set: Object, pods: Iterable[Object], deploy: str, refresh: str) -> str:
    """How to run a failed run again: with unchanged settings, an update changes nothing.

    `deploy`: the command that updates its stack. `refresh`: the one that also detects deleted objects.
    """
    resumes, metadata = _has_checkpoints(job_set), job_set["metadata"]
    termination_messages = [_terminated(pod).get("message") or "" for pod in pods]
    if any(map(_TOTAL_DEADLINE_PASSED.search, termination_messages)):
        advice = f"Raise totalDeadlineSeconds of the job, then deploy with: {deploy}. The same run continues."
    elif any(map(_ON_SUCCESS_FAILED.search, termination_messages)):
        then = "The run has finished and does not train again" if resumes else "The run trains again: no checkpoints"
        advice = f"Correct onSuccess of the job, then deploy with: {deploy}. {then}."
    elif any(_terminated(pod).get("reason") == _OOM for pod in pods):
        # Memory does not decide the result, so the run keeps its name and its checkpoints.
        progress = "continues from its last checkpoint" if resumes else "restarts at step 0: it has no checkpoints"
        advice = f"Raise resources.memoryGib of the job, then deploy with: {deploy}. The same run {progress}."
    else:
        advice = (
            f"Correct the cause, then deploy with: {deploy}. A changed command or file starts a new run; for a new run "
            "with the same settings, raise `attempt` of the job."
        )
    if resumes:
        advice += (
            " To continue from its checkpoints with the same settings: kubectl"
            f" -n {metadata['namespace']} delete jobset {metadata['name']} --ignore-not-found, then {refresh}"
        )
    return f"{advice} ({_DOCS})"


HOW_TO_RERUN_SUBMITTED = (
    "Correct the cause, then run the same command again. Changed files start a new run; unchanged ones continue from "
    "the last checkpoint, and with --again from the beginning."
)
"""How to run a failed run of `tensorplane run` again."""


def how_to_restore(refresh: str) -> str:
    """How to run a run again after somebody deleted its JobSet."""
    return f"To run it again, from its checkpoints if it has any: {refresh} ({_DOCS})"


def _has_checkpoints(job_set: Object) -> bool:
    jobs = (job_set.get("spec") or {}).get("replicatedJobs") or ()
    containers = (each for job in jobs for each in job["template"]["spec"]["template"]["spec"]["containers"])
    return any(variable["name"] == "CHECKPOINT_DIR" for each in containers for variable in each.get("env") or ())


def _statuses(pod: Object) -> list[Object]:
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


def _terminated(pod: Object) -> Object:
    """How its container ended; empty while it runs. An evicted pod may never have started one."""
    states = [each.get("state") or {} for each in _statuses(pod)]
    found: list[Object] = [state["terminated"] for state in states if state.get("terminated")]
    failed = [each for each in found if each.get("exitCode")]
    return (failed or found or [{"message": ""} if _evicted(pod) else {}])[0]


def _evicted(pod: Object) -> str:
    """Why the cluster evicted the pod; empty if it did not."""
    status = pod.get("status") or {}
    if status.get("reason"):
        return ": ".join(filter(None, (status["reason"], status.get("message"))))
    for one in status.get("conditions") or ():
        if one.get("type") == "DisruptionTarget" and one.get("status") == "True":
            return ": ".join(filter(None, (one.get("reason"), one.get("message"))))
    return ""


def _over_memory_limit(pod: Object, found: Object) -> str:
    """Which container of a pod exceeded which limit, and what to do."""
    name = next(one["name"] for one in _statuses(pod) if (one.get("state") or {}).get("terminated") == found)
    every = (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"])
    container: Object = next((one for one in every if one["name"] == name), {})
    limit = ((container.get("resources") or {}).get("limits") or {}).get("memory")
    problem = f"container {name} exceeded its memory limit{f' of {limit}' if limit else ''}"
    return f"{problem}; {_OVER_MEMORY_LIMIT.get(name, 'raise resources.memoryGib')}"


def _ended_by_others(pod: Object, found: Object) -> bool:
    """Whether a pod was evicted, or was asked to stop."""
    return bool(_evicted(pod)) or found.get("exitCode") in (EXIT_SAVED, 143)


def _why_not_retried(found: Object) -> str:
    """Why restarts would not help, in the words of the library's `launch.py` if it gave a reason."""
    message = found.get("message") or ""
    if (
        match := _POISON_STEP.search(message)
        or _ON_SUCCESS_FAILED.search(message)
        or _TOTAL_DEADLINE_PASSED.search(message)
    ):
        return match.group(1)
    return "it ended twice with the same last line, before its first step or within two minutes of its start"


def _how_it_ended(pod: Object, found: Object) -> str:
    if why := _evicted(pod):
        return why
    code = found.get("exitCode")
    if found.get("reason") == _OOM:
        return f"{_OOM} (exit code {code}): {_over_memory_limit(pod, found)}"
    if code == EXIT_NOT_RETRIED:
        return f"exit code {code}: {_why_not_retried(found)}; it is not retried"
    if stalled := _STALLED.search(found.get("message") or ""):
        stacks = "; tensorplane logs shows the stacks of its threads" if stalled[2] == "the stacks" else ""
        return f"exit code {code}: {stalled[1]}{stacks}"
    if code == _EXIT_KILLED:
        return f"exit code {code}: killed, often because memory ran out; raise resources.memoryGib or check the node"
    reason = found.get("reason")
    return f"exit code {code}" + (f" ({reason})" if reason and reason != "Error" else "")
