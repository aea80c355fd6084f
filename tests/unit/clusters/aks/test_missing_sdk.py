"""The SDK of Azure may be missing: a stack on Azure says what to install."""

from __future__ import annotations

import importlib.util

import pytest

from tests.support.faults import faults_of
from tests.support.rendering import PROJECT

CPU = {"cpu": {"machine": "Standard_D8s_v5", "min": 1, "max": 1}}
AKS = {"kind": "aks", "region": "westeurope", "endpoint": {"deployFromInside": True}, "inheritedAdmins": True}


def test_without_the_sdk_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "pulumi_azure_native" else find(name, *more)
    )
    assert faults_of({"cluster": AKS, "nodeGroups": CPU}) == [
        "tensorplane:cluster.kind: Azure's SDK for Pulumi is not installed; run python -m pip install -r "
        "requirements-aks.txt"
    ]
    assert (PROJECT / "requirements-aks.txt").exists()
