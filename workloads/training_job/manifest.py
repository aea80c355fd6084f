"""`plan`: a job's objects from its settings and its context on the platform, without Pulumi and without a cluster.

For a stack's training jobs, and for other code that creates jobs, such as a sweep or a command:

    manifest = plan(settings, JobContext("trial-7", "ml", placement={"worker": Placement()}), image="team/train:1")
    for each in manifest.objects:
        apply(each)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tensorplane.components import versions
from tensorplane.components.base.model import In
from tensorplane.workloads.pods import fence, objects, pod
from tensorplane.workloads.pods.objects import Manifest
from tensorplane.workloads.pods.variables import in_order
from tensorplane.workloads.training_job import job_set, lineage, pod_template, run, tf_config
from tensorplane.workloads.training_job.context import JobContext
from tensorplane.workloads.training_job.run import Recorded
from tensorplane.workloads.training_job.settings import JobSettings, SecretKey

_NO_ANNOTATIONS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class JobManifest:
    """All objects of a run of a job."""

    service_account: Manifest
    config_maps: Sequence[Manifest]
    """Files of its pods, each named by its content."""
    network_policies: Sequence[Manifest]
    job_set: Manifest
    run: Recorded
    """The run, whose name the JobSet has, as the next plan needs it."""

    @property
    def objects(self) -> list[Manifest]:
        """All objects, in the order of creation."""
        return [self.service_account, *self.config_maps, *self.network_policies, self.job_set]


def plan(
    settings: JobSettings,
    context: JobContext,
    *,
    image: str,
    secret: str | None = None,
    recorded: Recorded | None = None,
) -> JobManifest:
    """The run that these settings describe. `recorded`: the job's run as it was deployed last.

    All that it needs is known: `resolve_job` has what comes from other resources.
    """
    variables = _own_variables(settings, context, secret)
    decisive = run.decisive(settings, context, image, variables)
    # A run of before, when variables were sorted by name, keeps their order.
    if not recorded or recorded.decisive != decisive.hashes:
        variables = in_order(variables)
        decisive = decisive.with_environment(variables)
    owner, roles = context.identity, settings.roles()
    name = run.of(owner.name, decisive, recorded)

    def job_set_with(
        variables: Sequence[Mapping[str, Any]], annotations: Mapping[str, str] = _NO_ANNOTATIONS
    ) -> Manifest:
        return {
            "apiVersion": versions.JOBSET_API,
            "kind": "JobSet",
            "metadata": owner.metadata(name, context.queue_labels),
            "spec": job_set.spec(
                name,
                roles,
                lambda role: pod_template.template(
                    name, role, settings, context, image, variables=variables, annotations=annotations
                ),
                max_restarts=settings.max_restarts,
                deadline_seconds=settings.deadline_seconds,
            ),
        }

    # The lineage repeats what is elsewhere in the JobSet. That and later additions must not replace earlier ones.
    manifest = run.hash_of(job_set_with(variables), context.mounted_library)
    is_kept = run.keeps(name, manifest, recorded)
    library = run.library_of(recorded, owner.name) if is_kept and recorded else context.library_resource
    in_lineage = lineage.settings_of(settings, context.in_secret, secret)
    unhashed = [
        *lineage.variables(owner.name, context.publisher or name, decisive, in_lineage, context.reproduces),
        lineage.node(),
        *tf_config.restarts(roles),
    ]
    return JobManifest(
        service_account=objects.service_account(owner),
        config_maps=[objects.config_map(owner, content) for content in context.own_bundles()],
        network_policies=objects.gang_policies(owner, settings.egress, settings.metrics_port),
        job_set=job_set_with([*unhashed, *variables], fence.annotations(settings, context.volumes)),
        run=Recorded(name, decisive.hashes, manifest, is_kept, library),
    )


def _own_variables(settings: JobSettings, context: JobContext, secret: str | None) -> list[dict[str, Any]]:
    """The settings' variables by name; of those in the Secret, references to its keys."""
    existing = {name: value for name, value in sorted(settings.env.items()) if isinstance(value, SecretKey)}
    plain = {
        name: _plain(name, value)
        for name, value in sorted(settings.env.items())
        if name not in context.in_secret and name not in existing
    }
    return [
        *pod.variables(plain),
        *(_reference(name, str(secret), name) for name in sorted(context.in_secret)),
        *(_reference(name, value.secret, value.key) for name, value in existing.items()),
    ]


def _reference(variable: str, secret: In[str], key: str) -> dict[str, Any]:
    return {"name": variable, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}


def _plain(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"variable {name} is not a string: a value that another resource produces must be in a Secret")
    return value
