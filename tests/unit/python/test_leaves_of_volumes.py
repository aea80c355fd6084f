"""Leaves of volumes, streams and workloads that no example has: with outputs in their place, a stack registers what it
does with plain values."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pulumi
import pytest

from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tests.support.problems import problems_of
from tests.support.rendering import run
from tests.unit.volumes.clouds.test_eks import EAST, EKS, WEST
from tests.unit.volumes.clouds.test_gke import GKE

Of = Callable[[Any], Any]
_AKS = {"kind": "aks", "region": "westeurope", "endpoint": {"deployFromInside": True}, "inheritedAdmins": True}
_EXISTING = {"kind": "existing", "context": "lab"}
_GROUP = "/subscriptions/s/resourceGroups/g/providers"
_IDENTITY = f"{_GROUP}/Microsoft.ManagedIdentity/userAssignedIdentities/disks"
_NETWORK = f"{_GROUP}/Microsoft.Network/virtualNetworks/v/subnets"
_GOOGLE_KEY = "projects/ml/locations/us-central1/keyRings/r/cryptoKeys/k"


def _eks(of: Of) -> dict[str, Any]:
    volumes: dict[str, Any] = {
        "disk": {"sizeGib": 1, "backend": {"kind": "ebs", "kmsKey": of(WEST)}},
        "files": {
            "sizeGib": 1,
            "backend": {"kind": "efs", "kmsKey": of(WEST), "mirrorKmsKey": of(EAST)},
            "mirror": {"to": {"region": "us-east-2"}},
            "snapshots": {"schedule": "0 3 * * *", "expire": "35d"},
        },
        "new": {
            "sizeGib": 1,
            "backend": {"kind": "s3", "kmsKey": of(WEST), "mirrorKmsKey": of(EAST), "cacheClass": of("fast")},
            "mirror": {"to": {"region": "us-east-2"}},
            "cache": {"sizeGib": 10},
        },
        "yours": {"sizeGib": 1, "backend": {"kind": "s3", "bucket": of("example-images"), "kmsKey": of(WEST)}},
        "lustre": {"sizeGib": 1200, "backend": {"kind": "fsxLustre", "kmsKey": of(WEST)}},
    }
    return {
        "cluster": EKS,
        "nodeGroups": {"cpu": {"machine": "m7i.2xlarge", "min": 2, "max": 2}},
        "volumes": volumes,
        "workloads": {
            "serve": {
                "kind": "modelServer",
                "model": {"volume": "files", "path": "a"},
                "expose": {
                    "kind": "loadBalancer",
                    "allowedCidrs": [of("203.0.113.0/24")],
                    "annotations": {"service.beta.kubernetes.io/aws-load-balancer-subnets": of("subnet-1")},
                },
            }
        },
    }


def _gke(of: Of) -> dict[str, Any]:
    key = {"kmsKey": of(_GOOGLE_KEY)}
    zone = {"placement": {"zones": ["us-central1-a"]}}
    volumes: dict[str, Any] = {
        "disk": {"sizeGib": 10, "backend": {"kind": "persistentDisk", **key}},
        "files": {"sizeGib": 1024, "backend": {"kind": "filestore", "network": of("shared"), **key}},
        "new": {"sizeGib": 1, "backend": {"kind": "gcsFuse", **key}},
        "lustre": {
            "sizeGib": 9000,
            "backend": {"kind": "managedLustre", "network": of("projects/ml/global/networks/shared"), **key},
            **zone,
        },
    }
    groups = {"cpu": {"machine": "n2-standard-8", "min": 1, "max": 2}}
    return {"cluster": {**GKE, "project": "ml-project", "lustre": True}, "nodeGroups": groups, "volumes": volumes}


def _aks(of: Of) -> dict[str, Any]:
    vault = f"{_GROUP}/Microsoft.KeyVault/vaults/v"
    names = {"vault": of("https://v.vault.azure.net"), "name": of("files"), "identity": of(_IDENTITY)}
    zone = of(f"{_GROUP}/Microsoft.Network/privateDnsZones/privatelink.file.core.windows.net")
    of_lustre = {"vault": of(vault), "url": of("https://v.vault.azure.net/keys/lustre/1"), "identity": of(_IDENTITY)}
    volumes: dict[str, Any] = {
        "files": {"sizeGib": 500, "backend": {"kind": "azureFiles", "privateDnsZone": zone, "key": names}},
        "project": {
            "sizeGib": 700,
            "backend": {
                "kind": "netappFiles",
                "subnet": of(f"{_NETWORK}/netapp"),
                "allowedCidrs": [of("10.1.0.0/16"), "10.2.0.0/16"],
            },
        },
        "lustre": {
            "sizeGib": 16384,
            "backend": {"kind": "azureLustre", "subnet": of(f"{_NETWORK}/lustre"), "key": of_lustre},
            "placement": {"zones": ["1"]},
        },
    }
    return {
        "cluster": _AKS,
        "nodeGroups": {"cpu": {"machine": "Standard_D8s_v5", "min": 1, "max": 2}},
        "volumes": volumes,
    }


def _existing(of: Of) -> dict[str, Any]:
    nfs = {"kind": "nfs", "server": of("10.0.0.7"), "folder": of("/exports/a")}
    volumes: dict[str, Any] = {
        "models": {"sizeGib": 10, "backend": nfs},
        "ceph": {
            "sizeGib": 1,
            "backend": {"kind": "cephfs", "pool": of("pool"), "kmsId": of("key"), "nodeSecret": of("node")},
            "mirror": {"to": {"remote": {"address": of("10.0.0.8"), "keySecret": of("psk")}}, "every": "1h"},
        },
        "class": {"sizeGib": 1, "backend": {"kind": "storageClass", "name": of("fast")}},
    }
    endpoint = {
        "bootstrap": of("b-1.example.org:9096,b-2.example.org:9096"),
        "authentication": "scram-sha-512",
        "username": "ml",
        "secret": of("kafka"),
        "authority": of("kafka-ca"),
    }
    stream = {
        "broker": {"kind": "managed", "endpoint": endpoint},
        "topics": {"events": {}, "scores": {}},
        "groups": {"train": {}, "score": {}},
        "producers": {"scores": {}},
    }
    env = {"TOKEN": {"secret": of("hub"), "key": "token"}, "PLAIN": "1"}
    job = {
        "strategy": {"kind": "single"},
        "command": ["true"],
        "image": "team/train:1",
        "streams": {"events": {"group": "train"}},
        "env": env,
        "volumes": {"models": "/models"},
    }
    workloads: dict[str, Any] = {
        "train": {"kind": "trainingJob", **job},
        "rates": {
            "kind": "sweep",
            "controllerImage": "team/optuna:1",
            "search": {"parameters": {"RATE": {"choices": [1, 2]}}, "trials": 2},
            "trial": {**job, "checkpoints": {"volume": "models"}},
        },
        "serve": {"kind": "modelServer", "model": {"volume": "models", "path": "a"}},
        "score": {
            "kind": "scorer",
            "server": "serve",
            "scaling": {"min": 1, "max": 2, "lag": 1000},
            "image": "team/score:1",
            "input": {"stream": "events", "topic": "events", "group": "score"},
            "output": {"stream": "events", "topic": "scores", "producer": "scores"},
        },
    }
    return {
        "cluster": _EXISTING,
        "controllers": {"jobset": "chart", "keda": "chart", "volsync": "chart"},
        "volumes": volumes,
        "streams": {"events": stream},
        "workloads": workloads,
    }


def _plain(value: Any) -> Any:
    return value


@pytest.mark.parametrize("made", [_eks, _gke, _aks, _existing])
def test_outputs_register_what_plain_values_do(made: Callable[[Of], dict[str, Any]]) -> None:
    plain = made(_plain)
    assert not problems_of(copy.deepcopy(plain))
    before = run(lambda: stack.build(stack.load(Settings(plain)))).resources
    after = run(lambda: stack.build(stack.load(Settings(made(pulumi.Output.from_input))))).resources
    assert {(one.type, one.name): one.inputs for one in after} == {(one.type, one.name): one.inputs for one in before}


def test_a_netapp_volume_opens_to_no_addresses_that_another_resource_gets_wrong() -> None:
    tree = _aks(_plain)
    tree["volumes"]["project"]["backend"]["allowedCidrs"] = [pulumi.Output.from_input("0.0.0.0/0")]
    with pytest.raises(pulumi.RunError, match=r"^allowedCidrs: 0\.0\.0\.0/0 has unspecified addresses"):
        run(lambda: stack.build(stack.load(Settings(tree))))


def test_a_clone_may_be_in_a_subnet_of_another_resource() -> None:
    tree = _aks(pulumi.Output.from_input)
    project = tree["volumes"]["project"]
    project["backend"]["poolTib"] = 2
    tree["volumes"]["copy"] = {**project, "from": {"volume": "project"}}
    assert not problems_of(tree)
