"""Thirty changes that could cost data: what somebody does to a stack with volumes, and what becomes of the bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

End = Literal["refused", "stays", "snapshot", "released"]
"""What becomes of the bytes: nothing was changed; the claim still has them; the snapshot that was taken before has
them; a PersistentVolume or a VolumeSnapshotContent without an owner has them, and comes back."""

Settings = dict[str, Any]
MODELS: Settings = {"sizeGib": 1}
SCRATCH: Settings = {"sizeGib": 1, "retain": False}
BOTH: Settings = {"volumes": {"models": MODELS, "scratch": SCRATCH}}
RETAINED: Settings = {"volumes": {"models": MODELS}}
UNRETAINED: Settings = {"volumes": {"scratch": SCRATCH}}


@dataclass(frozen=True)
class Up:
    """`pulumi up` of other settings."""

    settings: Settings
    fails: bool = False
    looks: bool = True
    """With a preview first, as a person would. Without, what comes before the refusal is done."""
    adopts: bool = False
    """Takes over what is in the cluster and not in the state: PULUMI_K8S_UPSERT_EXISTING_OBJECTS."""


@dataclass(frozen=True)
class Pulumi:
    """Any other command; `{models}` and `{scratch}` are the claims' URNs."""

    words: tuple[str, ...]
    fails: bool = False


@dataclass(frozen=True)
class Delete:
    """`kubectl delete`; the names of what a driver made are found by the claim."""

    kind: Literal["claim", "volume", "namespace", "snapshot", "content"]
    name: str = "models"


@dataclass(frozen=True)
class Rename:
    """`pulumi stack rename`."""


Step = Up | Pulumi | Delete | Rename


@dataclass(frozen=True)
class Diff:
    """One change, of one or more steps."""

    name: str
    steps: tuple[Step, ...]
    ends: Mapping[str, End]
    """By volume."""
    before: Settings = field(default_factory=lambda: BOTH)
    """What is deployed before."""


def _with(**volumes: Any) -> Settings:
    return {"volumes": {key: value for key, value in {**BOTH["volumes"], **volumes}.items() if value}}


def _refused(name: str, settings: Settings, before: Settings = BOTH) -> Diff:
    return Diff(name, (Up(settings, fails=True),), dict.fromkeys(before["volumes"], "refused"), before)


_OTHER_CLASS = {"kind": "storageClass", "name": "other"}
_UNPROTECT = Pulumi(("state", "unprotect", "--all", "--yes"))
_DESTROY = ("destroy", "--run-program")
_SAVED = {**MODELS, "snapshots": {"schedule": "0 4 1 1 *"}}
_MIRRORED = {**MODELS, "mirror": {"to": {"pool": "mirror"}}}
_SERVER = {"kind": "modelServer", "model": {"volume": "models", "path": "nothing"}}

DIFFS: tuple[Diff, ...] = (
    # The settings.
    _refused("remove a retained volume", _with(models=None)),
    _refused("rename a retained volume", _with(models=None, renamed=MODELS)),
    _refused("rename the namespace", {**BOTH, "namespace": "tensorplane-elsewhere"}),
    _refused("change access modes", _with(models={**MODELS, "accessModes": ["ReadWriteOnce"]})),
    _refused("change the backend", _with(models={**MODELS, "backend": _OTHER_CLASS})),
    _refused("shrink", _with(models={"sizeGib": 0.5})),
    _refused("shrink one that is not retained", _with(scratch={**SCRATCH, "sizeGib": 0.5})),
    _refused("change what a volume begins as", _with(models={**MODELS, "from": {"snapshot": "taken"}})),
    _refused("remove every volume", {"volumes": {}}),
    _refused("stop retaining and remove in one step", {"volumes": {"scratch": SCRATCH}}),
    _refused(
        "change the kind of cluster",
        {**BOTH, "cluster": {"kind": "existing", "context": "CONTEXT", "kubeconfig": "KUBECONFIG"}},
    ),
    Diff(
        "remove one that is not retained",
        (Up(_with(scratch=None)),),
        {"models": "stays", "scratch": "snapshot"},
    ),
    Diff(
        "rename one that is not retained",
        (Up(_with(scratch=None, renamed=SCRATCH)),),
        {"models": "stays", "scratch": "snapshot"},
    ),
    Diff(
        "change access modes of one that is not retained",
        (Up(_with(scratch={**SCRATCH, "accessModes": ["ReadWriteOnce"]})),),
        {"models": "stays", "scratch": "snapshot"},
    ),
    Diff(
        "rename the namespace when nothing is retained",
        (Up({**UNRETAINED, "namespace": "tensorplane-elsewhere"}),),
        {"scratch": "released"},
        UNRETAINED,
    ),
    Diff("stop the snapshots", (Up(BOTH),), {"models": "stays"}, {"volumes": {"models": _SAVED, "scratch": SCRATCH}}),
    Diff("stop the mirror", (Up(BOTH),), {"models": "stays"}, {"volumes": {"models": _MIRRORED, "scratch": SCRATCH}}),
    Diff("remove the workload", (Up(BOTH),), {"models": "stays"}, {**BOTH, "workloads": {"server": _SERVER}}),
    Diff(
        "stop retaining, deploy that, and remove it",
        (Up(_with(models={**MODELS, "retain": False})), Up(_with(models=None))),
        {"models": "snapshot", "scratch": "stays"},
    ),
    # The stack and its state.
    Diff("destroy", (Pulumi(_DESTROY, fails=True),), {"models": "refused", "scratch": "refused"}),
    Diff(
        "destroy without the program, nothing retained",
        (Pulumi(("destroy",), fails=True),),
        {"scratch": "refused"},
        UNRETAINED,
    ),
    Diff("destroy with the program, nothing retained", (Pulumi(_DESTROY),), {"scratch": "released"}, UNRETAINED),
    Diff(
        "destroy all that is not protected",
        (Pulumi((*_DESTROY, "--exclude-protected")),),
        {"models": "stays", "scratch": "snapshot"},
    ),
    Diff("destroy a target", (Pulumi((*_DESTROY, "--target", "{models}"), fails=True),), {"models": "refused"}),
    Diff(
        "destroy a target that is not retained",
        (Pulumi((*_DESTROY, "--target", "{scratch}")),),
        {"models": "stays", "scratch": "snapshot"},
    ),
    Diff(
        "unprotect everything and destroy",
        (_UNPROTECT, Pulumi(_DESTROY, fails=True)),
        {"models": "refused", "scratch": "refused"},
    ),
    Diff(
        "unprotect everything and destroy without the program",
        (_UNPROTECT, Pulumi(("destroy",)), Up(RETAINED, adopts=True)),
        {"models": "stays"},
        RETAINED,
    ),
    Diff(
        "lose the state",
        (Pulumi(("stack", "rm", "--force", "--yes", "--preserve-config")), Up(BOTH, adopts=True)),
        {"models": "stays", "scratch": "stays"},
    ),
    Diff(
        "rename the stack",
        (Rename(), Up(BOTH, fails=True)),
        {"models": "refused", "scratch": "refused"},
    ),
    Diff(
        "remove a retained volume without a preview, and destroy all that is not protected",
        (Up(_with(models=None), fails=True, looks=False), Pulumi((*_DESTROY, "--exclude-protected"))),
        {"models": "stays", "scratch": "snapshot"},
    ),
    # The cluster.
    Diff("delete the claim", (Delete("claim"), Up(BOTH)), {"models": "released"}),
    Diff(
        "delete the claim and refresh",
        (Delete("claim"), Pulumi(("refresh",)), Up(BOTH)),
        {"models": "stays"},
    ),
    Diff("delete the namespace", (Delete("namespace"),), {"models": "released", "scratch": "released"}),
    Diff("delete the PersistentVolume", (Delete("volume"),), {"models": "stays"}),
    Diff("delete a snapshot", (Delete("snapshot"),), {"models": "stays", "taken": "released"}),
    Diff("delete a snapshot's content", (Delete("content"), Delete("snapshot")), {"models": "stays"}),
)
"""At least thirty."""
