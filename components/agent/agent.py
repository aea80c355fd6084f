"""A program of `agents/` in the cluster: its code and image, its rights and egress, and the objects that run it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tensorplane.components.agent import lease
from tensorplane.components.agent.code import API_SERVER_PORTS as API_SERVER_PORTS
from tensorplane.components.agent.code import Resources as Resources
from tensorplane.components.agent.code import command
from tensorplane.components.agent.code import files as files
from tensorplane.components.base import names, pod_security
from tensorplane.components.base.labels import AGENT, COMPONENT, HOSTNAME, SKIP_AWAIT, TENSORPLANE, labels, selector
from tensorplane.components.base.sdk import k8s, pulumi

API_SERVER: list[k8s.networking.v1.NetworkPolicyPortArgsDict] = [
    {"protocol": "TCP", "port": port} for port in API_SERVER_PORTS
]
TO_API_SERVER: k8s.networking.v1.NetworkPolicyEgressRuleArgsDict = {"ports": API_SERVER}
JOB_NAME: k8s.core.v1.EnvVarArgsDict = {
    "name": "JOB_NAME",
    "value_from": {"field_ref": {"field_path": "metadata.labels['batch.kubernetes.io/job-name']"}},
}
"""The variable with the name of the pod's Job, which for a CronJob's ends with the minute that it was due."""
_CODE = "/opt/tensorplane/lib"
_TMP = "/tmp"  # noqa: S108  # a volume of the pod's own
_SECONDS_TO_START = 600


@dataclass(frozen=True)
class Rights:
    """RBAC rules for an agent's service account, as a Role in one namespace or as a ClusterRole."""

    name: str
    rules: Sequence[k8s.rbac.v1.PolicyRuleArgsDict]
    namespace: pulumi.Input[str] | None = None
    """The Role's namespace; None for a ClusterRole."""
    resource_name: str | None = None
    """Pulumi's name of the role and its binding; `name` by default."""


@dataclass(frozen=True)
class Mount:
    """A volume of the pod and the path where its container has it."""

    volume: k8s.core.v1.VolumeArgsDict
    path: str
    read_only: bool = True


class Agent:
    """One program and what its pods share: a ConfigMap, a service account with its rights, a NetworkPolicy."""

    def __init__(
        self,
        program: str,
        *,
        name: str,
        component: str,
        namespace: pulumi.Input[str],
        image: str,
        resources: Resources,
        rights: Sequence[Rights] = (),
        egress: Sequence[k8s.networking.v1.NetworkPolicyEgressRuleArgsDict] = (),
        policy_types: Sequence[str] = ("Ingress", "Egress"),
        user: int = pod_security.USER,
        leased: bool = False,
        resource_name: str | None = None,
        opts: pulumi.ResourceOptions,
    ) -> None:
        """Creates what the pods share.

        `program`: a folder of `agents/`. `name`: of the shared objects; `resource_name` is Pulumi's, the same by
        default. `component`: the label that selects the pods. Without `rights` the pods have no token; without `egress`
        the agent has no NetworkPolicy. `policy_types`: the directions that the NetworkPolicy restricts. `leased`: one
        pod acts at a time, for which its `rights` have `agent_lease.rule`.
        """
        self._program, self._name, self._component, self._namespace = program, name, component, namespace
        self._image, self._resources, self._user = image, resources, user
        self._resource_name, self._opts = resource_name or name, opts
        code = files(program)
        parts = (part for file in code.items() for part in file)
        self.code_digest = names.digest("\0".join(parts), 64)
        """SHA-256 of the code, in hexadecimal."""
        self._code = self._config_map(code)
        self._shared = [self._service_account(), *map(self._bind, rights)] if rights else []
        self._leased = leased
        if leased:
            self._shared.append(
                lease.create(
                    self._resource_name, program, agent=name, component=component, namespace=namespace, opts=opts
                )
            )
        if egress:
            self._network_policy(egress, policy_types)

    def pod(
        self,
        arguments: Sequence[pulumi.Input[str]],
        *,
        env: Sequence[k8s.core.v1.EnvVarArgsDict] = (),
        mounts: Sequence[Mount] = (),
        imports: Sequence[str] = (),
        tmp_mib: int | None = None,
        http_port: int | None = None,
    ) -> k8s.core.v1.PodSpecArgsDict:
        """A pod that runs the program.

        `imports`: paths of `mounts` from which it imports besides the agents' code. `tmp_mib`: size of an in-memory
        /tmp, also HOME; none by default. `http_port`: where it answers GET / once it is ready; by default it is ready
        at once.
        """
        home: list[k8s.core.v1.EnvVarArgsDict] = [{"name": "HOME", "value": _TMP}] if tmp_mib else []
        turns = lease.environment(self._name, self._namespace) if self._leased else []
        every = [self._code, *mounts, *([_tmp(tmp_mib)] if tmp_mib else [])]
        container: k8s.core.v1.ContainerArgsDict = {
            "name": "main",
            "image": self._image,
            "image_pull_policy": "IfNotPresent",
            "command": [*command(self._program), *arguments],
            "env": [*home, *_find_code(imports), *turns, *env],
            "resources": {
                "requests": {"cpu": self._resources.cpu, "memory": self._resources.memory},
                "limits": {"memory": self._resources.memory_limit},
            },
            "security_context": pod_security.CONTAINER_ARGS,
            "volume_mounts": [_mounted(each) for each in every],
        }
        if http_port:
            container["readiness_probe"] = {"http_get": {"path": "/", "port": http_port}, "period_seconds": 10}
        pod: k8s.core.v1.PodSpecArgsDict = {
            "enable_service_links": False,
            "security_context": pod_security.pod_args(self._user),
            "containers": [container],
            "volumes": [each.volume for each in every],
        }
        if self._shared:
            return {**pod, "service_account_name": self._name}
        return {**pod, "automount_service_account_token": False}

    def deployment(
        self,
        pod: k8s.core.v1.PodSpecArgsDict,
        *,
        pod_labels: Mapping[str, str] | None = None,
        pod_annotations: Mapping[str, str] | None = None,
        depends_on: Sequence[pulumi.Resource] = (),
        replicas: int = 1,
    ) -> k8s.apps.v1.Deployment:
        """Runs the pod at all times. It gets little time to stop: its state must be in the cluster.

        `replicas`: how many pods, on different nodes if several can have them. Of a leased agent, one acts.
        """
        selected = selector(self._name, self._component)
        own = {**labels(self._name, self._component), **selected}
        about = {**labels(self._name, self._component), **({AGENT: self._program} if self._leased else {})}
        grace = lease.GRACE_SECONDS if self._leased else 1
        template: k8s.meta.v1.ObjectMetaArgsDict = {"labels": {**own, **(pod_labels or {})}}
        if pod_annotations:
            template["annotations"] = pod_annotations
        if replicas > 1:
            pod = {**pod, "topology_spread_constraints": [_on_different_nodes(selected)]}
        return k8s.apps.v1.Deployment(
            self._resource_name,
            # An update does not wait for it: workloads run without it.
            metadata={**self._metadata(self._name), "labels": about, "annotations": {SKIP_AWAIT: "true"}},
            spec={
                "replicas": replicas,
                "strategy": {"type": "Recreate"},
                "selector": {"match_labels": selected},
                "template": {"metadata": template, "spec": {**pod, "termination_grace_period_seconds": grace}},
            },
            opts=self._after([*self._shared, *depends_on]),
        )

    def cron_job(
        self,
        resource_name: str,
        pod: k8s.core.v1.PodSpecArgsDict,
        *,
        name: str,
        subject: str,
        schedule: str,
        seconds: int,
        opts: pulumi.ResourceOptions,
    ) -> k8s.batch.v1.CronJob:
        """Runs a pod on a schedule, in UTC. A failed run is retried twice; a retry must accept what is done already.

        `name`: of the CronJob in the cluster. `subject`: its label `name`. `seconds`: the limit of a run.
        """
        return k8s.batch.v1.CronJob(
            resource_name,
            metadata={
                "name": name,
                "namespace": self._namespace,
                "labels": {**labels(subject, self._component), AGENT: self._program},
            },
            spec={
                "schedule": schedule,
                "time_zone": "Etc/UTC",
                "concurrency_policy": "Forbid",
                # A run that is missed for longer is skipped. Without a limit, 100 missed runs would end the schedule.
                "starting_deadline_seconds": _SECONDS_TO_START,
                "successful_jobs_history_limit": 1,
                "failed_jobs_history_limit": 3,
                "job_template": {"spec": self._run(name, pod, seconds, retries=2)},
            },
            opts=opts,
        )

    def job(
        self,
        pod: k8s.core.v1.PodSpecArgsDict,
        *,
        name: pulumi.Input[str],
        seconds: int,
        pod_labels: Mapping[str, str],
        depends_on: Sequence[pulumi.Resource],
    ) -> k8s.batch.v1.Job:
        """Runs a pod once. A Job is immutable: a new `name` runs it again."""
        return k8s.batch.v1.Job(
            self._resource_name,
            metadata=self._metadata(name),
            spec=self._run(self._name, pod, seconds, retries=3, pod_labels=pod_labels),
            opts=self._after(depends_on),
        )

    def _run(
        self,
        name: str,
        pod: k8s.core.v1.PodSpecArgsDict,
        seconds: int,
        *,
        retries: int,
        pod_labels: Mapping[str, str] | None = None,
    ) -> k8s.batch.v1.JobSpecArgsDict:
        return {
            "backoff_limit": retries,
            "active_deadline_seconds": seconds,
            "template": {
                "metadata": {"labels": {**labels(name, self._component), **(pod_labels or {})}},
                "spec": {**pod, "restart_policy": "Never"},
            },
        }

    def _after(self, depends_on: Sequence[pulumi.Resource]) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions.merge(self._opts, pulumi.ResourceOptions(depends_on=[*depends_on]))

    def _metadata(
        self, name: pulumi.Input[str], namespace: pulumi.Input[str] | None = None
    ) -> k8s.meta.v1.ObjectMetaArgsDict:
        namespace = self._namespace if namespace is None else namespace
        return {"name": name, "namespace": namespace, "labels": labels(self._name, self._component)}

    def _config_map(self, code: Mapping[str, str]) -> Mount:
        """Its name changes with the code, and so do the pods. Keys hold no slash: the volume maps them to paths."""
        keys = {path: path.replace("/", ".") for path in code}
        made = k8s.core.v1.ConfigMap(
            self._resource_name,
            metadata=self._metadata(f"{self._name}-{self.code_digest[:8]}"),
            immutable=True,
            data={keys[path]: text for path, text in code.items()},
            opts=self._opts,
        )
        items: list[k8s.core.v1.KeyToPathArgsDict] = [{"key": key, "path": path} for path, key in keys.items()]
        return Mount({"name": "code", "config_map": {"name": made.metadata["name"], "items": [*items]}}, _CODE)

    def _service_account(self) -> pulumi.Resource:
        return k8s.core.v1.ServiceAccount(
            self._resource_name,
            metadata=self._metadata(self._name),
            automount_service_account_token=True,
            opts=self._opts,
        )

    def _bind(self, rights: Rights) -> pulumi.Resource:
        resource_name = rights.resource_name or rights.name
        subject: k8s.rbac.v1.SubjectArgsDict = {
            "kind": "ServiceAccount",
            "name": self._name,
            "namespace": self._namespace,
        }
        if rights.namespace is None:
            everywhere: k8s.meta.v1.ObjectMetaArgsDict = {"name": rights.name, "labels": TENSORPLANE}
            cluster_role = k8s.rbac.v1.ClusterRole(
                resource_name, metadata=everywhere, rules=rights.rules, opts=self._opts
            )
            return k8s.rbac.v1.ClusterRoleBinding(
                resource_name,
                metadata=everywhere,
                role_ref=_reference("ClusterRole", cluster_role.metadata["name"]),
                subjects=[subject],
                opts=self._opts,
            )
        inside = self._metadata(rights.name, rights.namespace)
        role = k8s.rbac.v1.Role(resource_name, metadata=inside, rules=rights.rules, opts=self._opts)
        return k8s.rbac.v1.RoleBinding(
            resource_name,
            metadata=inside,
            role_ref=_reference("Role", role.metadata["name"]),
            subjects=[subject],
            opts=self._opts,
        )

    def _network_policy(
        self, egress: Sequence[k8s.networking.v1.NetworkPolicyEgressRuleArgsDict], policy_types: Sequence[str]
    ) -> None:
        k8s.networking.v1.NetworkPolicy(
            self._resource_name,
            metadata=self._metadata(self._name),
            spec={
                "pod_selector": {"match_labels": {COMPONENT: self._component}},
                "policy_types": policy_types,
                "egress": egress,
            },
            opts=self._opts,
        )


def _on_different_nodes(selected: Mapping[str, str]) -> k8s.core.v1.TopologySpreadConstraintArgsDict:
    return {
        "max_skew": 1,
        "topology_key": HOSTNAME,
        # Of one node that may have them, both.
        "node_taints_policy": "Honor",
        "when_unsatisfiable": "DoNotSchedule",
        "label_selector": {"match_labels": selected},
    }


def _find_code(imports: Sequence[str]) -> list[k8s.core.v1.EnvVarArgsDict]:
    return [
        {"name": "PYTHONPATH", "value": ":".join([_CODE, *imports])},
        {"name": "PYTHONDONTWRITEBYTECODE", "value": "1"},
    ]


def _mounted(mount: Mount) -> k8s.core.v1.VolumeMountArgsDict:
    mounted: k8s.core.v1.VolumeMountArgsDict = {"name": str(mount.volume["name"]), "mount_path": mount.path}
    return {**mounted, "read_only": True} if mount.read_only else mounted


def _tmp(mib: int) -> Mount:
    """Files there never reach a disk."""
    volume: k8s.core.v1.VolumeArgsDict = {
        "name": "tmp",
        "empty_dir": {"medium": "Memory", "size_limit": f"{mib}Mi"},
    }
    return Mount(volume, _TMP, read_only=False)


def _reference(kind: str, name: pulumi.Input[str]) -> k8s.rbac.v1.RoleRefArgsDict:
    return {"api_group": "rbac.authorization.k8s.io", "kind": kind, "name": name}


@dataclass(frozen=True)
class Volume:
    """One claim."""

    claim: str
    path: str
    pod_labels: Mapping[str, str]
    """Labels of pods that mount it."""
    read_only: bool = True
    pod_annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations of pods that mount it."""

    @property
    def mount(self) -> Mount:
        """The claim in the pod."""
        volume: k8s.core.v1.VolumeArgsDict = {
            "name": self.claim,
            "persistent_volume_claim": {"claim_name": self.claim, "read_only": self.read_only},
        }
        return Mount(volume, self.path, read_only=self.read_only)


def pod_labels(volumes: Iterable[Volume]) -> dict[str, str]:
    """Those of pods that mount all of them."""
    return {key: value for volume in volumes for key, value in volume.pod_labels.items()}


def pod_annotations(volumes: Iterable[Volume]) -> dict[str, str]:
    """Those of pods that mount all of them."""
    return {key: value for volume in volumes for key, value in volume.pod_annotations.items()}
