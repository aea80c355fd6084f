"""The pods of a model server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from tensorplane.components.base.labels import HOSTNAME, ZONE
from tensorplane.workloads.model_server import serving_config
from tensorplane.workloads.model_server.fetched_model import manifest as fetched_model_manifest
from tensorplane.workloads.model_server.fetched_model.manifest import Fetching
from tensorplane.workloads.model_server.settings import ServedModel, ServerSettings
from tensorplane.workloads.pods import pod
from tensorplane.workloads.pods.files import Bundle, bundle
from tensorplane.workloads.pods.mounts import Mountable
from tensorplane.workloads.pods.objects import Identity
from tensorplane.workloads.pods.streams import InPod

GRACE_SECONDS = 30
"""Seconds for a server that gets SIGTERM to answer the requests that it has accepted, before SIGKILL."""
GRPC_PORT = 8500
REST_PORT = 8501
MODELS_FOLDER, OPTIONS_FOLDER = "/etc/tensorplane/models", "/etc/tensorplane/options"
"""Folders of the model config file, which the server reads again when it changes, and of files that it reads once."""
_ROOT = "/models"
"""Each volume is mounted in a folder of it with the volume's name."""
_RELOAD_SECONDS = 1
_PROBE_SECONDS = 5
_START_SECONDS = 30 * 24 * 3600
"""TensorFlow Serving answers nothing, and its health service neither, until each model has a first version."""
_LIVENESS_SECONDS = 60
"""A server that does not answer for so long is restarted."""
_DRAIN_SECONDS = 10
"""Seconds until a stopping pod gets SIGTERM, at which TensorFlow Serving ends at once: by then, no client connects to
the pod any more, and the requests that it has accepted are answered."""


COMPONENT_VALUE = "serving"
"""Value of the component label of objects of model servers."""
MODELS_KEY = "models.config"
"""Key of the model config file in its ConfigMap."""
_MONITORING, _BATCHING = "monitoring.config", "batching.config"


@dataclass(frozen=True)
class ConfigFiles:
    """The files that TensorFlow Serving's flags name."""

    models: str
    """Name of the ConfigMap with the model config file. It is changed in place."""
    once: Bundle
    """The files that the server reads at its start; other files are another ConfigMap, and so other pods."""


def model_url(server: str, namespace: str, model: str) -> str:
    """Where the Service of a server answers for a model, in TensorFlow Serving's REST API."""
    return f"http://{server}.{namespace}.svc:{REST_PORT}/v1/models/{quote(model)}"


def config_files(owner: Identity, settings: ServerSettings) -> ConfigFiles:
    """The ConfigMaps of a server."""
    once = {_MONITORING: serving_config.monitoring()}
    if settings.batching:
        once[_BATCHING] = serving_config.batching(settings.batching, settings.resources.cpus)
    options = bundle(f"{owner.name}-options", {name: text.encode() for name, text in once.items()})
    # With a canary, its controller writes the file of these pods, which Pulumi then leaves as it is.
    track = "stable" if settings.with_canary else None
    return ConfigFiles(models_map(owner.name, track), options)


def models_map(server: str, track: str | None = None) -> str:
    """Name of the ConfigMap with a server's model config file; with a canary, each track has one."""
    return f"{server}-{track}-models" if track else f"{server}-models"


def model_config(settings: ServerSettings) -> dict[str, str]:
    """Data of the ConfigMap with the model config file."""
    return {MODELS_KEY: config_text(settings.served)}


def config_text(served: Mapping[str, ServedModel]) -> str:
    """The model config file of these models."""
    return serving_config.models({name: folder_of(name, model) for name, model in served.items()}, served)


def folder_of(name: str, model: ServedModel) -> str:
    """The folder of a model, by its name, in the pods."""
    if model.uri:
        return fetched_model_manifest.folder(name)
    if (folder := model.location) is None:
        raise ValueError(f"no job {model.from_job} publishes a model: the checks refuse that")
    return f"{root_of(folder.volume)}/{folder.path}"


def root_of(volume: str) -> str:
    """Where the pods mount a volume."""
    return f"{_ROOT}/{volume}"


def pods(
    owner: Identity,
    settings: ServerSettings,
    image: str,
    *,
    files: ConfigFiles | None,
    models: Mapping[str, Mountable],
    fetching: Fetching | None = None,
    of_streams: InPod,
    gpu_memory: float | None = None,
    placement: Mapping[str, Any],
    annotations: Mapping[str, str] = MappingProxyType({}),
    labels: Mapping[str, str] = MappingProxyType({}),
    readiness_gates: Sequence[str] = (),
) -> dict[str, Any]:
    """The template of the server's pods.

    `files`: None for a server of another API; `models`: the volumes with the models; `fetching`: the models from
    elsewhere; `gpu_memory`: the part of a GPU's memory to reserve, None for all of it; `placement`: node selection;
    `labels`: more of them; `readiness_gates`: conditions that a controller sets before a pod gets requests.
    """
    first = next(iter(settings.served))
    container = pod.Container(
        image=image,
        args=_flags(settings, gpu_memory) if files else (),
        resources=settings.resources,
        env=[
            *pod.variables({"MODEL_NAME": first, "MODEL_BASE_PATH": _base_path(first, settings.served[first])}),
            *of_streams.env,
        ],
        ports={"grpc": GRPC_PORT, "rest": REST_PORT},
        files={OPTIONS_FOLDER: files.once} if files else {},
        config_maps={MODELS_FOLDER: files.models} if files else {},
        volumes=[volume.at(root_of(name), read_only=True) for name, volume in sorted(models.items())],
        before=fetching.init_containers() if fetching else (),
        folders=[fetched_model_manifest.FETCHED] if fetching else (),
        secrets=of_streams.secrets,
        # Ready once a version is loaded; a server that waits for its first one must not be restarted.
        startup=_health(_START_SECONDS) if files else None,
        liveness=_health(_LIVENESS_SECONDS) if files else None,
        readiness={
            "httpGet": {"path": f"/v1/models/{first}/metadata", "port": "rest"},
            "periodSeconds": 2,
            "timeoutSeconds": 5,
            "failureThreshold": 3,
        },
        drain_seconds=_DRAIN_SECONDS,
    )
    all_labels = {**owner.labels, **of_streams.labels, **labels}
    spread = {"topologySpreadConstraints": _spread(owner)} if settings.most_replicas > 1 else {}
    gates = {"readinessGates": [{"conditionType": gate} for gate in readiness_gates]} if readiness_gates else {}
    return pod.template(
        owner.name,
        all_labels,
        container,
        grace_seconds=GRACE_SECONDS + _DRAIN_SECONDS,
        placement={**spread, **gates, **placement},
        annotations=annotations,
    )


def _base_path(name: str, model: ServedModel) -> str:
    """The image appends the model's name."""
    return folder_of(name, model).rpartition("/")[0]


def _health(seconds: int) -> dict[str, Any]:
    return {
        "grpc": {"port": GRPC_PORT},
        "periodSeconds": _PROBE_SECONDS,
        "timeoutSeconds": _PROBE_SECONDS,
        "failureThreshold": seconds // _PROBE_SECONDS,
    }


def _flags(settings: ServerSettings, gpu_memory: float | None) -> list[str]:
    flags = [
        f"--model_config_file={MODELS_FOLDER}/{MODELS_KEY}",
        f"--model_config_file_poll_wait_seconds={_RELOAD_SECONDS}",
        # A label may be declared before its version is published.
        "--allow_version_labels_for_unavailable_models=true",
        f"--monitoring_config_file={OPTIONS_FOLDER}/{_MONITORING}",
        "--enable_grpc_healthcheck_service=true",
    ]
    if settings.with_canary:
        # A version that cannot be loaded is rolled back at once, and not after five more attempts in as many minutes.
        flags.append("--max_num_load_retries=0")
    if settings.batching:
        flags += ["--enable_batching=true", f"--batching_parameters_file={OPTIONS_FOLDER}/{_BATCHING}"]
    if gpu_memory:
        flags.append(f"--per_process_gpu_memory_fraction={gpu_memory:g}")
    return flags


def _spread(owner: Identity) -> list[dict[str, Any]]:
    """Replicas on different nodes and in different zones where there are any."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": level,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": owner.selector},
        }
        for level in (ZONE, HOSTNAME)
    ]
