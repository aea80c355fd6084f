"""Pod specs that pass Pod Security `restricted`, as plain data in Kubernetes' own spelling."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tensorplane.components.base import names, pod_security, quantities
from tensorplane.components.base.labels import HOSTNAME
from tensorplane.components.base.model import In, Resources
from tensorplane.components.catalog import GPU_RESOURCE
from tensorplane.workloads.pods.files import Bundle

APP = "/opt/tensorplane/app"
"""Directory of a workload's files, which is its working directory."""
LIBRARY = "/opt/tensorplane/lib"
"""Directory of tensorplane's library."""
ARCHIVE = "tensorplane.zip"
"""The library's file: an archive, because a JobSet, its Workload and its pods list every file of a ConfigMap."""
IMPORTED = f"{LIBRARY}/{ARCHIVE}"
"""The library, on PYTHONPATH."""
PACKAGES = "/opt/tensorplane/packages"
"""Directory of the requirements file of packages that the pods install."""
_GROUP_READS = 0o440
_NO_ANNOTATIONS: Mapping[str, str] = MappingProxyType({})
_MEETING = "volumes.tensorplane"
"""Prefix of the labels for the affinity of pods that share a ReadWriteOnce volume."""


@dataclass(frozen=True)
class VolumeMount:
    """A claim of the namespace and its mount path."""

    claim: str
    path: str
    read_only: bool = False
    one_node: bool = False
    """Whether only one node can mount the claim, so that its pods must be scheduled to the same node."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that the claim's driver requires on the pod."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations that the claim's driver requires on the pod."""
    folder: str = ""
    """The folder of the claim that is mounted; empty for all of it."""


@dataclass(frozen=True)
class SecretFiles:
    """Keys of a Secret of the namespace, as files."""

    secret: In[str]
    keys: Sequence[str]


@dataclass(frozen=True)
class Packages:
    """Packages that an init container installs on a volume."""

    requirements: str
    """Path of the requirements file."""
    folder: str
    env: Sequence[Mapping[str, Any]] = ()
    """Variables of the init container, such as PIP_INDEX_URL."""


@dataclass(frozen=True)
class Before:
    """An init container. Its requests do not add to those of the pod."""

    name: str
    image: str
    command: Sequence[str]
    env: Sequence[Mapping[str, Any]] = ()
    files: Mapping[str, Bundle] = field(default_factory=dict)
    """Files by mount path."""
    folders: Sequence[str] = ()
    """Empty folders of the pod that it writes to, by mount path."""


@dataclass(frozen=True)
class Container:
    """The one container of a pod."""

    image: str
    resources: Resources
    command: Sequence[str] = ()
    args: Sequence[str] = ()
    env: Sequence[Mapping[str, Any]] = ()
    ports: Mapping[str, int] = field(default_factory=dict)
    volumes: Sequence[VolumeMount] = ()
    files: Mapping[str, Bundle] = field(default_factory=dict)
    """Files by mount path."""
    archives: Mapping[str, Sequence[Bundle]] = field(default_factory=dict)
    """Parts of archives by mount path; an init container unpacks them before the container starts."""
    python: str = "python3"
    """Python of the image, which unpacks archives with the library."""
    packages: Packages | None = None
    """Installed with the image's Python and the library before the container starts."""
    before: Sequence[Before] = ()
    """Init containers, one after the other."""
    folders: Sequence[str] = ()
    """Folders of the pod that init containers fill, by mount path."""
    scratch: Sequence[str] = ()
    """Empty folders of the pod that it writes to, by mount path."""
    secrets: Mapping[str, SecretFiles] = field(default_factory=dict)
    """Files of Secrets by mount path."""
    config_maps: Mapping[str, str] = field(default_factory=dict)
    """Names of ConfigMaps by mount path."""
    readiness: Mapping[str, Any] | None = None
    liveness: Mapping[str, Any] | None = None
    startup: Mapping[str, Any] | None = None
    """Before it succeeds once, the other probes wait."""
    drain_seconds: int = 0
    """Seconds between the pod's deletion and SIGTERM."""
    accelerator_resource: str = GPU_RESOURCE
    """The extended resource of its accelerators."""
    network: Mapping[str, str] = field(default_factory=dict)
    """Extended resources for the network between nodes."""
    shared_memory: bool = False
    """Whether it requires more shared memory than the default 64 MiB."""


def template(
    name: str,
    labels: Mapping[str, str],
    container: Container,
    *,
    grace_seconds: int,
    restart_policy: str = "Always",
    placement: Mapping[str, Any],
    annotations: Mapping[str, str] = _NO_ANNOTATIONS,
) -> dict[str, Any]:
    """A pod of one container, as a controller's template. `placement`: the parts of the spec that select nodes.

    The service account is the workload's own and its token is not mounted.
    """
    spec = {**_spec(name, container, grace_seconds, restart_policy), **placement}
    meeting = meeting_of(container.volumes)
    if meeting:
        together = {"requiredDuringSchedulingIgnoredDuringExecution": on_one_node(meeting)}
        spec["affinity"] = {**spec.get("affinity", {}), "podAffinity": together}
    mounted = {key: value for mount in container.volumes for key, value in mount.labels.items()}
    metadata: dict[str, Any] = {"labels": {**labels, **meeting, **mounted}}
    of_mounts = {key: value for mount in container.volumes for key, value in mount.annotations.items()}
    if all_annotations := {**annotations, **of_mounts}:
        metadata["annotations"] = all_annotations
    return {"metadata": metadata, "spec": spec}


def meeting_of(mounts: Iterable[VolumeMount]) -> dict[str, str]:
    """Labels of pods that must be on one node, because of these mounts."""
    return {f"{_MEETING}/{mount.claim}": "mounted" for mount in mounts if mount.one_node}


def on_one_node(meeting: Mapping[str, str]) -> list[dict[str, Any]]:
    """Terms of the affinity of pods that share a volume of one node."""
    return [{"labelSelector": {"matchLabels": {key: value}}, "topologyKey": HOSTNAME} for key, value in meeting.items()]


def _spec(name: str, container: Container, grace_seconds: int, restart_policy: str) -> dict[str, Any]:
    before = [
        *([_unpacking(container)] if container.archives else []),
        *_installing(container, restart_policy),
        *(_before(each, container) for each in container.before),
    ]
    return {
        "serviceAccountName": name,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": restart_policy,
        "terminationGracePeriodSeconds": grace_seconds,
        "securityContext": pod_security.pod(),
        **({"initContainers": before} if before else {}),
        "containers": [{**_container(container), **_last_words(restart_policy)}],
        "volumes": agreeing(_volumes(container)),
    }


def agreeing(volumes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A pod's volumes, where those of one claim are read-only only if all of them are.

    The kubelet mounts a claim once for a pod, as one of its volumes says: which one is a matter of chance. Read-only
    mounts of containers stay so.
    """
    writable = {
        name for each in volumes if (name := _claim(each)) and not each["persistentVolumeClaim"].get("readOnly")
    }
    return [
        {**each, "persistentVolumeClaim": {"claimName": name}} if (name := _claim(each)) in writable else {**each}
        for each in volumes
    ]


def _claim(volume: Mapping[str, Any]) -> str:
    name: str = volume.get("persistentVolumeClaim", {}).get("claimName", "")
    return name


def _last_words(restart_policy: str) -> dict[str, str]:
    """The last lines of a failed container are kept in the pod's status, for `why` and kubectl."""
    return {"terminationMessagePolicy": "FallbackToLogsOnError"} if restart_policy == "Never" else {}


def _container(container: Container) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": "main",
        "image": container.image,
        "imagePullPolicy": "IfNotPresent",
        "env": [*_ENVIRONMENT, *container.env],
        "resources": _resources(container),
        "securityContext": pod_security.container(),
        "volumeMounts": _mounts(container),
    }
    if container.command:
        made["command"] = list(container.command)
    if container.args:
        made["args"] = list(container.args)
    if container.drain_seconds:
        made["lifecycle"] = {"preStop": {"sleep": {"seconds": container.drain_seconds}}}
    if APP in (*container.files, *container.archives):
        made["workingDir"] = APP
    if container.ports:
        made["ports"] = [{"name": name, "containerPort": port} for name, port in container.ports.items()]
    probes = {"startup": container.startup, "readiness": container.readiness, "liveness": container.liveness}
    made |= {f"{kind}Probe": dict(probe) for kind, probe in probes.items() if probe}
    return made


def _unpacking(container: Container) -> dict[str, Any]:
    """The init container that unpacks the archives. Its requests do not add to those of the pod."""
    folders = [folder for at in container.archives for folder in (_parts(at), at)]
    return {
        "name": "unpack",
        "image": container.image,
        "imagePullPolicy": "IfNotPresent",
        "command": program(container.python, "unpack", *folders),
        "env": _ENVIRONMENT,
        "resources": _compute(container.resources),
        "securityContext": pod_security.container(),
        "volumeMounts": [
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108
            *({"name": _files_name(at), "mountPath": at, "readOnly": True} for at in container.files),
            *({"name": _files_name(at), "mountPath": at} for at in container.archives),
            *({"name": _parts_name(at), "mountPath": _parts(at), "readOnly": True} for at in container.archives),
        ],
    }


def _installing(container: Container, restart_policy: str) -> Iterator[dict[str, Any]]:
    """The init container that installs packages. Its requests do not add to those of the pod."""
    if container.packages:
        yield {
            "name": "packages",
            "image": container.image,
            "imagePullPolicy": "IfNotPresent",
            "command": program(
                container.python, "packages", container.packages.requirements, container.packages.folder
            ),
            "env": [*_ENVIRONMENT, *container.packages.env],
            "resources": _compute(container.resources),
            "securityContext": pod_security.container(),
            "volumeMounts": _mounts(container),
            **_last_words(restart_policy),
        }


def _before(before: Before, container: Container) -> dict[str, Any]:
    return {
        "name": before.name,
        "image": before.image,
        "imagePullPolicy": "IfNotPresent",
        "command": list(before.command),
        "env": [*_ENVIRONMENT, *before.env],
        "resources": _compute(container.resources),
        "securityContext": pod_security.container(),
        # The last line of a failure, for `why` and kubectl.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108
            *({"name": _files_name(at), "mountPath": at, "readOnly": True} for at in before.files),
            *({"name": folder_name(at), "mountPath": at} for at in before.folders),
        ],
    }


def program(python: str, module: str, *arguments: str) -> list[str]:
    """A program of the library: one of its modules, isolated from the modules of the command."""
    return [python, "-I", IMPORTED, module, *arguments]


def variables(values: Mapping[str, str]) -> list[dict[str, str]]:
    """Environment variables in Kubernetes' format."""
    return [{"name": name, "value": value} for name, value in values.items()]


# The user has no entry in an image's /etc/passwd, and only /tmp can be written.
_ENVIRONMENT = variables({"HOME": "/tmp", "USER": "tensorplane"})  # noqa: S108


def _resources(container: Container) -> dict[str, Any]:
    """Memory limits equal requests; CPU has no limit, because throttling slows every step."""
    extended = dict(container.network)
    extended |= {name: str(count) for name, count in container.resources.extended.items()}
    if container.resources.gpus:
        extended = {container.accelerator_resource: str(container.resources.gpus), **extended}
    return {kind: {**amounts, **extended} for kind, amounts in _compute(container.resources).items()}


def _compute(resources: Resources) -> dict[str, dict[str, str]]:
    memory = quantities.gibibytes(resources.memory_gib)
    return {"requests": {"cpu": quantities.cpus(resources.cpus), "memory": memory}, "limits": {"memory": memory}}


def _mounts(container: Container) -> list[dict[str, Any]]:
    return [
        {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108
        *([{"name": "shm", "mountPath": "/dev/shm"}] if _has_shared_memory(container) else []),  # noqa: S108
        *({"name": _files_name(at), "mountPath": at, "readOnly": True} for at in container.files),
        *({"name": _files_name(at), "mountPath": at, "readOnly": True} for at in container.archives),
        *({"name": f"secret-{index}", "mountPath": at, "readOnly": True} for index, at in enumerate(container.secrets)),
        *({"name": _files_name(at), "mountPath": at, "readOnly": True} for at in container.config_maps),
        *({"name": folder_name(at), "mountPath": at, "readOnly": True} for at in container.folders),
        *({"name": folder_name(at), "mountPath": at} for at in container.scratch),
        *(
            {"name": f"volume-{index}", "mountPath": mount.path, **_folder(mount), **_read_only(mount)}
            for index, mount in enumerate(container.volumes)
        ),
    ]


def _volumes(container: Container) -> list[dict[str, Any]]:
    files = {**container.files, **{at: bundle for each in container.before for at, bundle in each.files.items()}}
    folders = dict.fromkeys(
        [*container.folders, *container.scratch, *(at for each in container.before for at in each.folders)]
    )
    return [
        {"name": "tmp", "emptyDir": {}},
        *([{"name": "shm", "emptyDir": _shared_memory(container)}] if _has_shared_memory(container) else []),
        *(
            {"name": _files_name(at), "configMap": {"name": bundle.name, "items": bundle.items}}
            for at, bundle in files.items()
        ),
        *({"name": folder_name(at), "emptyDir": {}} for at in folders),
        *({"name": _files_name(at), "emptyDir": {}} for at in container.archives),
        *({"name": _parts_name(at), "projected": _projected(parts)} for at, parts in container.archives.items()),
        *({"name": _files_name(at), "configMap": {"name": name}} for at, name in container.config_maps.items()),
        *(
            {"name": f"secret-{index}", "secret": _secret(files)}
            for index, files in enumerate(container.secrets.values())
        ),
        *(
            {"name": f"volume-{index}", "persistentVolumeClaim": {"claimName": mount.claim, **_read_only(mount)}}
            for index, mount in enumerate(container.volumes)
        ),
    ]


def _has_shared_memory(container: Container) -> bool:
    return container.shared_memory or container.resources.shared_memory_gib is not None


def _shared_memory(container: Container) -> dict[str, str]:
    """By default as large as the pod's memory limit, which includes what is written there."""
    size = container.resources.shared_memory_gib
    return {"medium": "Memory", **({"sizeLimit": quantities.gibibytes(size)} if size else {})}


def _secret(files: SecretFiles) -> dict[str, Any]:
    items = [{"key": key, "path": key} for key in files.keys]
    return {"secretName": files.secret, "items": items, "defaultMode": _GROUP_READS}


def _read_only(mount: VolumeMount) -> dict[str, bool]:
    return {"readOnly": True} if mount.read_only else {}


def _folder(mount: VolumeMount) -> dict[str, str]:
    return {"subPath": mount.folder} if mount.folder else {}


def _projected(parts: Sequence[Bundle]) -> dict[str, Any]:
    return {"sources": [{"configMap": {"name": part.name, "items": part.items}} for part in parts]}


def _parts(directory: str) -> str:
    return f"{directory}-parts"


def _parts_name(directory: str) -> str:
    return f"parts-{directory.rsplit('/', 1)[-1]}"


def _files_name(directory: str) -> str:
    return f"files-{directory.rsplit('/', 1)[-1]}"


def folder_name(directory: str) -> str:
    """The name of the volume that is an empty folder at this path."""
    return names.labelled("folder-", directory.rsplit("/", 1)[-1])
