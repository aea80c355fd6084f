"""The pack as a process that the engine starts: what it answers to each of the engine's calls."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime import proto

from tests.policies.conftest import PACK, Rules
from tests.support.waiting import PATIENT_SECONDS

_URN = "urn:pulumi:dev::tensorplane::tensorplane:index:TrainingJob::digits"


@pytest.fixture(scope="module")
def process() -> Iterator[subprocess.Popen[str]]:
    pack = subprocess.Popen(
        [sys.executable, "-u", PACK],
        cwd=PACK,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield pack
    pack.send_signal(signal.SIGINT)
    assert pack.wait(PATIENT_SECONDS) == -signal.SIGINT
    assert pack.stderr
    assert pack.stderr.read() == "", "previews show it; gRPC complains of an experiment that it does not know"


@pytest.fixture(scope="module")
def pack(process: subprocess.Popen[str]) -> Iterator[Any]:
    assert process.stdout
    with grpc.insecure_channel(f"127.0.0.1:{process.stdout.readline().strip()}") as channel:
        yield proto.AnalyzerStub(channel)


def _evaluate(pack: Any, levels: dict[str, int]) -> list[Any]:
    """What the pack says of a job with two GPUs."""
    configured = proto.ConfigureAnalyzerRequest()
    for name, level in levels.items():
        configured.policyConfig[name].enforcementLevel = level
    pack.Configure(configured)
    job = proto.AnalyzerResource(type=_URN.split("::")[2], urn=_URN, name="digits")
    job.properties.update({"gpus": 2})
    return list(pack.AnalyzeStack(proto.AnalyzeStackRequest(resources=[job])).diagnostics)


def test_the_engine_learns_of_every_rule(pack: Any, rules: Rules) -> None:
    info = pack.GetAnalyzerInfo(empty_pb2.Empty())
    assert info.supportsConfig
    assert [one.name for one in info.policies] == [rule["name"] for rule in rules]
    quota = next(one for one in info.policies if one.name == "gpu-quota")
    assert quota.policy_type == proto.POLICY_TYPE_STACK
    assert quota.severity == proto.POLICY_SEVERITY_HIGH
    assert quota.enforcementLevel == proto.MANDATORY
    assert quota.configSchema.properties["maxGpus"]["type"] == "integer"


def test_a_finding_has_rule_resource_level_and_message(pack: Any) -> None:
    (found,) = _evaluate(pack, {})
    assert (found.policyName, found.policyPackName) == ("gpu-quota", "tensorplane")
    assert found.enforcementLevel == proto.MANDATORY
    assert found.urn == "urn:pulumi:dev::tensorplane::pulumi:pulumi:Stack::tensorplane-dev"
    assert found.message.splitlines()[1].startswith(
        "The workloads request 2 GPUs; the quota is 0. digits (TrainingJob)"
    )


def test_the_configuration_decides_the_level(pack: Any) -> None:
    assert [one.enforcementLevel for one in _evaluate(pack, {"gpu-quota": proto.ADVISORY})] == [proto.ADVISORY]
    assert [one.enforcementLevel for one in _evaluate(pack, {"gpu-quota": proto.REMEDIATE})] == [proto.MANDATORY]
    assert _evaluate(pack, {"gpu-quota": proto.DISABLED}) == []


@pytest.mark.parametrize("size", [1, 1 << 22])
def test_a_single_resource_is_neither_judged_nor_changed(pack: Any, size: int) -> None:
    request = proto.AnalyzeRequest(type="kubernetes:core/v1:ConfigMap", urn=_URN, name="digits")
    request.properties.update({"data": {"text": "x" * size}})
    for _ in range(20):
        assert list(pack.Analyze(request).diagnostics) == []
    with pytest.raises(grpc.RpcError) as refused:
        pack.Remediate(request)
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
