"""TensorFlow Serving's configuration files, in Protocol Buffers' text format."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping

from tensorplane.workloads.model_server.settings import BatchingArgs, ServedModel, VersionPolicy

METRICS_PATH = "/monitoring/prometheus/metrics"
"""Of the metrics on the REST port."""


def models(folders: Mapping[str, str], served: Mapping[str, ServedModel]) -> str:
    """The model config file. `folders`: the path of each model's folder in the pod, by the model's name."""
    return _text(
        "model_config_list {", (_block("config", _model(name, folders[name], served[name])) for name in served)
    )


def labels(text: str) -> dict[str, dict[str, int]]:
    """By model of a model config file: the versions of its labels, by label."""
    found: dict[str, dict[str, int]] = {}
    model = label = ""
    for key, value in re.findall(r"\b(name|key|value): *(\"[^\"]*\"|[0-9]+)", text):
        if key == "name":
            model = json.loads(value)
            found[model] = {}
        elif key == "key":
            label = json.loads(value)
        else:
            found[model][label] = int(value)
    return found


def _text(begin: str, inside: Iterable[str]) -> str:
    lines = [f"  {line}" for block in inside for line in block.splitlines()]
    return "\n".join([begin, *lines, "}", ""])


def _block(name: str, lines: Iterable[str]) -> str:
    return _text(f"{name} {{", lines).rstrip()


def _model(name: str, folder: str, model: ServedModel) -> Iterator[str]:
    yield f"name: {json.dumps(name)}"
    yield f"base_path: {json.dumps(folder)}"
    yield 'model_platform: "tensorflow"'
    yield _block("model_version_policy", [_policy(model.policy)])
    for label, version in sorted(model.labels.items()):
        yield _block("version_labels", [f"key: {json.dumps(label)}", f"value: {version}"])


def _policy(policy: VersionPolicy) -> str:
    if policy.specific is not None:
        return _block("specific", [f"versions: {version}" for version in sorted(set(policy.specific))])
    if policy.latest is not None:
        return _block("latest", [f"num_versions: {policy.latest}"])
    return "all {}"


def batching(settings: BatchingArgs, cpus: float) -> str:
    """The batching parameters file. `cpus`: those of a pod."""
    values = {
        "max_batch_size": settings.max_batch_size,
        "batch_timeout_micros": settings.batch_timeout_micros,
        "max_enqueued_batches": settings.max_enqueued_batches,
        "num_batch_threads": settings.num_batch_threads or max(1, math.ceil(cpus)),
    }
    lines = [f"{name} {{ value: {value} }}" for name, value in values.items()]
    return "\n".join([*lines, *(f"allowed_batch_sizes: {size}" for size in settings.allowed_batch_sizes), ""])


def monitoring() -> str:
    """The monitoring config file, without which there are no metrics."""
    return _text("prometheus_config {", ["enable: true", f'path: "{METRICS_PATH}"'])
