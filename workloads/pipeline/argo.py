"""Argo's templates of a pipeline, through Hera. Only this module imports it, and only where there is a pipeline: the
import takes a second.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from hera.workflows import DAG, Parameter, Task, WorkflowTemplate, models

from tensorplane.components.base import pod_security
from tensorplane.components.base.labels import FENCED, STAGE
from tensorplane.workloads.pipeline.run import ENTRY
from tensorplane.workloads.pipeline.settings import PipelineSettings, StageArgs, parameter
from tensorplane.workloads.pipeline.stage_pods import (
    FOLDER_OUT,
    ID,
    ITEM,
    ITEMS,
    KEEP,
    SUMMARY,
    VERSION,
    Steps,
    folder_of,
)

# Hera's import changes how PyYAML writes text of several lines, everywhere: digests of what others write must not
# depend on whether the stack has a pipeline.
for _dumper in (yaml.Dumper, yaml.representer.SafeRepresenter):
    _dumper.add_representer(str, yaml.representer.SafeRepresenter.represent_str)

_MOST_RETRIES = 3
"""How often a pod that waits for a job is tried again after it was lost."""
_IN_TEMPLATE = ("affinity", "initContainers", "nodeSelector", "securityContext", "tolerations", "volumes")
_OF_ARGO = ("containers", "restartPolicy", "serviceAccountName", "automountServiceAccountToken")
_HOUR = "1h"
_REFUSED = 65
"""Exit status of the library's programs where no further try changes anything (its `stages/__main__.py`)."""
_UNLESS_REFUSED = f"asInt(lastRetry.exitCode) != {_REFUSED}"
_UNLESS_KEEPER_REFUSED = (
    f"!(lastRetry.exitCode == '0' && lastRetry.message startsWith '{KEEP}: Error (exit code {_REFUSED})')"
)
"""The same of a pod that also has a program of the user, whose exit status Argo tells: that may be any, and the
container that keeps the result ends with the same one unless it is 0."""
_IF_LOST = "lastRetry.exitCode != '64' || lastRetry.message contains 'context canceled'"
"""Whether the pod that waits for a job was lost, or evicted from its node. The end of the job, also its deletion, and
its refusal have this exit status of Argo's executor; so does the eviction, with these words."""
_ENDED_STATES = ("Succeeded", "Skipped", "Failed", "Errored")


def workflow_template(
    settings: PipelineSettings, steps: Mapping[str, Steps], *, executor: str, metadata: Mapping[str, Any]
) -> dict[str, Any]:
    """The WorkflowTemplate of a pipeline. `executor`: the service account with which Argo reports on its pods."""
    made = WorkflowTemplate(
        name=metadata["name"],
        namespace=metadata["namespace"],
        labels=dict(metadata["labels"]),
        annotations=dict(metadata["annotations"]),
        entrypoint=ENTRY,
        arguments=[Parameter(name=name) for name in settings.sources],
        service_account_name=metadata["name"],
        automount_service_account_token=False,
        executor=models.ExecutorConfig(service_account_name=executor),
        # Results of an older run must not replace those of a newer one.
        synchronization=models.Synchronization(mutexes=[models.Mutex(name=metadata["name"])]),
        pod_gc=models.PodGC(strategy="OnWorkflowSuccess", delete_delay_duration=_HOUR),
    )
    with made:
        _entry(settings)
        for name, one in steps.items():
            _stage(name, one)
            if one.stage.job:
                _job(name, one)
    made.templates = [*made.templates, *(each for name, one in steps.items() for each in _inside(name, one))]
    return dict(made.to_dict())


def _entry(settings: PipelineSettings) -> None:
    """All stages, each with its steps, after the commits of those whose output it reads.

    A commit does not wait for the pods: the agent that takes it sees earlier than Argo that all results are there, or
    that no more will come. So the next stage begins while Argo looks after the pods that have done their work. What the
    pods need is cleaned away once they have ended. Parts that failed do not keep the others from being committed: how
    many may, the commit decides.
    """
    with DAG(name=ENTRY, fail_fast=False):
        for name, stage in settings.stages.items():
            before = settings.before(stage)
            Task(
                name=f"{name}-plan",
                template=f"{name}-plan",
                depends=" && ".join(f"{each}-commit.Succeeded" for each in sorted(set(before.values()))) or None,
                arguments=[
                    Parameter(
                        name=source,
                        value=_output(f"{before[source]}-commit", VERSION)
                        if source in before
                        else f"{{{{workflow.parameters.{parameter(one)}}}}}",
                    )
                    for source, one in sorted(stage.inputs.items())
                ],
            )
            Task(
                name=name,
                template=name,
                depends=f"{name}-plan.Succeeded",
                arguments=[Parameter(name=ITEMS, value=_output(f"{name}-plan", ITEMS))],
            )
            Task(name=f"{name}-commit", template=f"{name}-commit", depends=f"{name}-plan.Succeeded")
            ended = " || ".join(f"{name}.{how}" for how in _ENDED_STATES)
            Task(name=f"{name}-clean", template=f"{name}-clean", depends=f"{name}-commit.Succeeded && ({ended})")


def _stage(name: str, steps: Steps) -> None:
    """The work of one stage: a pod or a job for each part."""
    with DAG(
        name=name,
        annotations={STAGE: json.dumps(steps.description, sort_keys=True)},
        inputs=[Parameter(name=ITEMS)],
        fail_fast=False,
        parallelism=steps.stage.parallel,
    ):
        Task(
            name="work",
            template=f"{name}-work",
            with_param=f"{{{{inputs.parameters.{ITEMS}}}}}",
            arguments=[Parameter(name=each, value=f"{{{{item.{each}}}}}") for each in _of_item(steps)],
        )


def _output(task: str, name: str) -> str:
    return f"{{{{tasks.{task}.outputs.parameters.{name}}}}}"


def _of_item(steps: Steps) -> list[str]:
    """What a pod gets of an item."""
    folders = [folder_of(each) for each in sorted(steps.stage.inputs)]
    return [ITEM, *([ID, FOLDER_OUT] if steps.stage.job else []), *folders]


def _job(name: str, steps: Steps) -> None:
    """An item of a stage that is a job: the job, and then what keeps its result."""
    given = [Parameter(name=each, value=f"{{{{inputs.parameters.{each}}}}}") for each in _of_item(steps)]
    with DAG(name=f"{name}-work", inputs=[Parameter(name=each) for each in _of_item(steps)]):
        Task(name="job", template=f"{name}-job", arguments=given)
        Task(name="keep", template=f"{name}-keep", arguments=given, depends="job.Succeeded")


def _inside(name: str, steps: Steps) -> list[models.Template]:
    stage, given = steps.stage, _of_item(steps)
    if stage.job:
        work = [_resource(f"{name}-job", steps, given), _step(f"{name}-keep", given)]
    else:
        work = [_pod(f"{name}-work", steps.work(), stage, given)]
    return [
        _step(f"{name}-plan", sorted(stage.inputs), (ITEMS, SUMMARY)),
        *work,
        _step(f"{name}-commit", (), (VERSION, SUMMARY)),
        _step(f"{name}-clean", ()),
    ]


def _step(name: str, inputs: Sequence[str], outputs: Sequence[str] = ()) -> models.Template:
    """A step for which the run waits until the pipeline's agent has taken it (`agents/steps`): it needs no pod."""
    return models.Template.model_validate(
        {
            "name": name,
            "suspend": {},
            "inputs": {"parameters": [{"name": each} for each in inputs]},
            "outputs": {"parameters": [{"name": each, "valueFrom": {"supplied": {}}} for each in outputs]},
        }
    )


def _resource(name: str, steps: Steps, inputs: Sequence[str]) -> models.Template:
    """The template that creates a JobSet, which is deleted with the run, and waits for its end."""
    return models.Template.model_validate(
        {
            "name": name,
            # It writes nothing.
            "metadata": {"labels": steps.owner.labels, "annotations": {FENCED: "true"}},
            "inputs": {"parameters": [{"name": each} for each in inputs]},
            "resource": {
                # A pod that was lost finds the JobSet that it has created. Without the flag, kubectl would undo what
                # Kueue has set in it since.
                "action": "apply",
                "flags": ["--server-side"],
                "setOwnerReference": True,
                "manifest": json.dumps(steps.job_set(), sort_keys=True),
                "successCondition": "status.terminalState == Completed",
                "failureCondition": "status.terminalState == Failed",
            },
            "retryStrategy": {"limit": _MOST_RETRIES, "retryPolicy": "Always", "expression": _IF_LOST},
            "securityContext": pod_security.pod(),
        }
    )


def _pod(name: str, pod: Mapping[str, Any], stage: StageArgs, inputs: Sequence[str]) -> models.Template:
    """The template of a pod. The second container waits for the program of the first one itself."""
    spec = pod["spec"]
    containers = spec["containers"]
    ways = {"containerSet": {"containers": containers}} if len(containers) > 1 else {"container": containers[0]}
    patch = {key: value for key, value in spec.items() if key not in (*_IN_TEMPLATE, *_OF_ARGO)}
    unless = _UNLESS_REFUSED if stage.publish else _UNLESS_KEEPER_REFUSED
    return models.Template.model_validate(
        {
            "name": name,
            "metadata": pod["metadata"],
            **{key: spec[key] for key in _IN_TEMPLATE if key in spec},
            **ways,
            "inputs": {"parameters": [{"name": each} for each in inputs]},
            # A pod that was preempted, or whose node was lost, is an error and no failure.
            "retryStrategy": {"limit": stage.retries, "retryPolicy": "Always", "expression": unless},
            "podSpecPatch": json.dumps(patch, sort_keys=True),
            **({"activeDeadlineSeconds": stage.timeout_seconds} if stage.timeout_seconds else {}),
        }
    )
