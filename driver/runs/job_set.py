"""What the JobSet of a training job says about its run, as far as a preview shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tensorplane.components.base.labels import ACCELERATOR, NODE_GROUP
from tensorplane.workloads.training_job.own_variables import OWN

_SELECTED = {"accelerator": ACCELERATOR, "node group": NODE_GROUP}
"""Labels in the pods' node selectors, with their names in messages."""
_DEVICES = {"gpu": "GPUs per pod", "tpu": "TPUs per pod"}
_LIBRARY = "/tensorplane.zip"
_EARLIER = ("/tensorplane/launch.py", "/runtime/launch.py")
"""The launcher of versions whose library was no archive."""
_SIGNATURE = "4dabf18193072939515e22adb298388d"  # marks what the engine masks, such as a secret

Object = Mapping[str, Any]


@dataclass(frozen=True)
class JobSet:
    """A JobSet in a preview. Fields that are secret, or known only after the update, are empty."""

    inputs: Object

    @property
    def is_shown(self) -> bool:
        return bool(self._roles)

    @property
    def name(self) -> str:
        return _text(plain(self.inputs.get("metadata")).get("name"))

    @property
    def namespace(self) -> str:
        return _text(plain(self.inputs.get("metadata")).get("namespace"))

    @property
    def has_checkpoints(self) -> bool:
        return "CHECKPOINT_DIR" in self._values

    @property
    def notes_its_end(self) -> bool:
        """Whether the launcher records in the run's folder that it has finished, and does not run it again."""
        return "TENSORPLANE_RUN" in self._values and _launched(self._words) is not None

    @property
    def writer(self) -> str:
        """Prefix of the name of the pod that writes the checkpoints."""
        required_roles = plain(self._spec.get("successPolicy")).get("targetReplicatedJobs")
        return f"{self.name}-{required_roles[0]}-0-0-" if required_roles else ""

    @property
    def command(self) -> tuple[str, ...]:
        """The command of the settings, without tensorplane's launcher before it."""
        launched = _launched(self._words)
        return tuple(self._words if launched is None else _split(launched)[1])

    @property
    def publish_to(self) -> str:
        """The folder of a model server to which it publishes its model; empty if it does not."""
        return _split(_launched(self._words) or [])[0]

    @property
    def _words(self) -> list[str]:
        return [str(word) for word in next(self._containers, {}).get("command") or ()]

    def value(self, variable: str) -> str:
        """The value of a variable; empty if it is not set, or in a Secret."""
        return _text(self._values.get(variable))

    @property
    def variables(self) -> dict[str, Any]:
        """The variables of the settings and their values; None for one in a Secret."""
        return {name: value for name, value in self._values.items() if name not in OWN}

    @property
    def streams(self) -> Any:
        return self._values.get("STREAMS")

    @property
    def volumes(self) -> list[tuple[str, str]]:
        """Claims and their mount paths."""
        pod = next(self.pods, {})
        claims = {
            each["name"]: each["persistentVolumeClaim"]["claimName"]
            for each in pod.get("volumes") or ()
            if "persistentVolumeClaim" in each
        }
        mounts = next(self._containers, {}).get("volumeMounts") or ()
        return sorted((claims[each["name"]], each["mountPath"]) for each in mounts if each["name"] in claims)

    @property
    def kept_lines(self) -> str:
        """Where the launcher keeps what the pods print, as VOLUME:/PATH; empty if it does not."""
        folder, _, run = self.value("TENSORPLANE_RUN").rpartition("/")
        found = [(claim, at) for claim, at in self.volumes if f"{folder}/".startswith(f"{at}/")]
        return next((f"{claim}:{folder.removeprefix(at)}/logs/{run}" for claim, at in found), "")

    @property
    def size(self) -> dict[str, str]:
        """What decides the order of summation: the number of pods, and the accelerators of each."""
        found = {}
        for role, job in self._roles.items():
            of_role = "" if role == "worker" else f" of {role}"
            found["workers" if role == "worker" else role] = str(int(job["completions"]))
            for what, value in _accelerators(job["template"]["spec"]):
                found[f"{what}{of_role}"] = value
        return found

    @property
    def _spec(self) -> Object:
        return plain(self.inputs.get("spec"))

    @property
    def _roles(self) -> dict[str, Object]:
        """The Job of each role."""
        return {job["name"]: job["template"]["spec"] for job in self._spec.get("replicatedJobs") or ()}

    @property
    def _values(self) -> dict[str, Any]:
        variables = next(self._containers, {}).get("env") or ()
        return {each["name"]: each.get("value") for each in variables}

    @property
    def pods(self) -> Iterator[Object]:
        """The pod's spec of each role."""
        return (job["template"]["spec"] for job in self._roles.values())

    @property
    def _containers(self) -> Iterator[Object]:
        return (pod["containers"][0] for pod in self.pods)


def _accelerators(pod: Object) -> Iterator[tuple[str, str]]:
    """The names and values of a pod's accelerators; empty if it has none."""
    limits = (pod["containers"][0].get("resources") or {}).get("limits") or {}
    kinds = {key.rpartition("/")[2]: str(count) for key, count in limits.items()}
    counts = {what: kinds[kind] for kind, what in _DEVICES.items() if kind in kinds}
    yield from counts.items()
    if counts:
        selector = pod.get("nodeSelector") or {}
        yield from ((what, selector[key]) for what, key in _SELECTED.items() if key in selector)


def plain(value: Any) -> Object:
    """The value; empty if the engine masks it or does not know it yet."""
    return value if isinstance(value, dict) and _SIGNATURE not in value else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _launched(words: list[str]) -> list[str] | None:
    """The launcher's arguments (`workloads/training_job/launcher.py`); None if the command does not start with it."""
    for at, word in enumerate(words):
        if word.endswith(_EARLIER):
            return words[at + 1 :]
        if word.endswith(_LIBRARY) and words[at + 1 : at + 2] == ["launch"]:
            return words[at + 2 :]
    return None


def _split(words: list[str]) -> tuple[str, list[str]]:
    """The folder of `--publish-to`, empty without it, and the launcher's arguments without its own options."""
    publish_to = ""
    while words and words[0] in ("--on-success", "--publish-to"):
        of_option = 1 + (int(words[1]) if words[0] == "--on-success" else 0)
        publish_to = words[1] if words[0] == "--publish-to" else publish_to
        words = words[1 + of_option :]
    return publish_to, words
