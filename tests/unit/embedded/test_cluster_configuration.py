"""The files and command lines of the cluster's processes: nothing anonymous, nothing on the host's addresses."""

from __future__ import annotations

import base64
import configparser
import shlex
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tensorplane.embedded.cluster import (
    control_plane_config,
    dns,
    kubeconfig,
    kwok,
    node_config,
    pki,
    process_specs,
    supervisor,
)
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.embedded.instance import Instance


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NodePaths:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "100% odd 'place'"))
    return NodePaths(Instance("test"))


def _supervised(paths: NodePaths) -> dict[str, list[str]]:
    """Each command as supervisord would split it."""
    parser = configparser.ConfigParser()
    parser.read_string(supervisor.render(paths, process_specs.of_instance(paths)))
    programs = [section for section in parser.sections() if section.startswith("program:")]
    return {section.removeprefix("program:"): shlex.split(parser[section]["command"]) for section in programs}


def test_commands_survive_an_odd_path(paths: NodePaths) -> None:
    commands = _supervised(paths)
    assert list(commands) == list(process_specs.PROGRAMS)
    for spec in process_specs.of_instance(paths):
        assert commands[spec.name] == [str(paths.programs / spec.name), *spec.arguments]


def test_every_listener_is_the_bridges_or_loopback(paths: NodePaths) -> None:
    text = "\n".join(argument for command in _supervised(paths).values() for argument in command)
    everything = text + node_config.kubelet(paths) + node_config.proxy(paths) + node_config.containerd(paths)
    assert "0.0.0.0" not in everything
    commands = _supervised(paths)
    assert f"--bind-address={paths.instance.node_ip}" in commands["kube-apiserver"]
    assert "--listen-client-urls=https://127.0.0.1:2379" in commands["etcd"]
    for silent in ("kube-controller-manager", "kube-scheduler"):
        assert "--secure-port=0" in commands[silent]


def test_nothing_is_anonymous_and_rbac_decides(paths: NodePaths) -> None:
    api = _supervised(paths)["kube-apiserver"]
    assert {"--anonymous-auth=false", "--authorization-mode=Node,RBAC"} <= set(api)
    kubelet = yaml.safe_load(node_config.kubelet(paths))
    assert kubelet["authentication"]["anonymous"] == {"enabled": False}
    assert kubelet["authorization"] == {"mode": "Webhook"}
    assert (kubelet["readOnlyPort"], kubelet["healthzPort"]) == (0, 0)
    assert "--client-cert-auth" in _supervised(paths)["etcd"]


def test_containerd_runs_without_the_capability_that_this_root_may_lack(paths: NodePaths) -> None:
    config = tomllib.loads(node_config.containerd(paths))
    assert config["root"] == str(paths.instance.home / "containerd")
    runtime = config["plugins"]["io.containerd.cri.v1.runtime"]
    assert runtime["restrict_oom_score_adj"] is True
    assert runtime["cni"]["bin_dirs"] == [str(paths.programs)]


def test_the_kubelet_keeps_its_cgroups_and_evicts_by_absolute_figures(paths: NodePaths) -> None:
    kubelet = yaml.safe_load(node_config.kubelet(paths))
    assert kubelet["cgroupRoot"] == "/tensorplane-test"
    assert kubelet["evictionHard"]["nodefs.available"].endswith("Gi")
    assert kubelet["imageGCHighThresholdPercent"] == 100


def test_secrets_come_first_in_encryption_and_the_key_stays(tmp_path: Path) -> None:
    path = tmp_path / "encryption.json"
    control_plane_config.encryption(path)
    before = path.read_text()
    [rule] = yaml.safe_load(before)["resources"]
    assert rule["resources"] == ["secrets"]
    assert list(rule["providers"][0]) == ["secretbox"]
    assert len(base64.b64decode(rule["providers"][0]["secretbox"]["keys"][0]["secret"])) == 32
    assert path.stat().st_mode & 0o077 == 0
    control_plane_config.encryption(path)
    assert path.read_text() == before


def test_the_audit_log_never_holds_a_body() -> None:
    levels = {rule["level"] for rule in yaml.safe_load(control_plane_config.audit())["rules"]}
    assert levels == {"None", "Metadata"}


@pytest.mark.parametrize(
    ("verb", "resource", "level"),
    [
        *((verb, f"pods/{way}", "Metadata") for verb in ("get", "create") for way in ("exec", "attach", "portforward")),
        ("get", "nodes/proxy", "Metadata"),
        ("get", "services/proxy", "Metadata"),
        ("get", "secrets", "Metadata"),
        ("create", "pods", "Metadata"),
        ("get", "pods", "None"),
        ("get", "pods/log", "None"),
    ],
)
def test_who_reaches_into_a_pod_is_audited_by_whatever_verb(verb: str, resource: str, level: str) -> None:
    """`kubectl exec` over a WebSocket is a GET. The first rule that fits decides, as the API server has it."""
    found = next(rule for rule in yaml.safe_load(control_plane_config.audit())["rules"] if _fits(rule, verb, resource))
    assert found["level"] == level


def _fits(rule: dict[str, Any], verb: str, resource: str) -> bool:
    in_core = [name for entry in rule.get("resources", []) if entry["group"] == "" for name in entry["resources"]]
    return (
        "nonResourceURLs" not in rule
        and "userGroups" not in rule
        and verb in rule.get("verbs", [verb])
        and ("resources" not in rule or resource in in_core)
    )


def test_a_pod_has_a_limit_of_processes(paths: NodePaths) -> None:
    assert 1024 <= yaml.safe_load(node_config.kubelet(paths))["podPidsLimit"] < 32768, (
        "the least of the kernel's pid_max"
    )


def test_a_kubeconfig_needs_no_other_file(paths: NodePaths, tmp_path: Path) -> None:
    pki.ensure(tmp_path / "pki", pki.leaves(paths.instance))
    config: dict[str, Any] = yaml.safe_load(kubeconfig.render(paths.instance, tmp_path / "pki", "admin"))
    assert config["current-context"] == "tensorplane-test"
    [entry] = config["clusters"]
    assert entry["cluster"]["server"] == "https://10.203.0.1:6443"
    for text in (entry["cluster"]["certificate-authority-data"], *config["users"][0]["user"].values()):
        assert base64.b64decode(text).startswith(b"-----BEGIN ")


def test_the_dns_pod_needs_no_right_on_its_node(paths: NodePaths) -> None:
    manifests = {manifest["kind"]: manifest for manifest in dns.manifests(paths.instance)}
    pod = manifests["Deployment"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert all(port["containerPort"] > 1024 for port in container["ports"])
    verbs = {verb for rule in manifests["ClusterRole"]["rules"] for verb in rule["verbs"]}
    assert verbs == {"list", "watch"}
    assert manifests["Service"]["spec"]["clusterIP"] == "10.204.0.10"


def test_kwok_is_there_where_nodes_are_simulated_and_starts_last(paths: NodePaths) -> None:
    usual, simulating = (process_specs.of_instance(paths, simulated_nodes=wanted) for wanted in (False, True))
    assert [spec.name for spec in simulating] == [*process_specs.PROGRAMS, "kwok"]
    assert simulating[-1].start_order > max(spec.start_order for spec in usual)


def test_a_fleet_of_simulated_nodes_changes_memory_garbage_and_how_soon_a_node_is_given_up(paths: NodePaths) -> None:
    usual, simulating = (process_specs.of_instance(paths, simulated_nodes=wanted) for wanted in (False, True))
    changed = [(one, other) for one, other in zip(usual, simulating[:-1], strict=True) if one != other]
    (etcd, larger_etcd), (api_server, larger), (manager, patient), (scheduler, tidy_seldom) = changed
    assert [one.name for one, _ in changed] == ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"]
    assert larger_etcd == replace(etcd, memory_mib=larger_etcd.memory_mib)
    assert larger == replace(api_server, memory_mib=larger.memory_mib, variables=larger.variables)
    assert larger_etcd.memory_mib > etcd.memory_mib
    assert larger.memory_mib > api_server.memory_mib
    grace = f"--node-monitor-grace-period={kwok.GRACE_SECONDS}s"
    assert patient == replace(manager, arguments=(*manager.arguments, grace))
    assert tidy_seldom == replace(scheduler, variables=tidy_seldom.variables)
    assert all(int(other.variables["GOGC"]) > 50 for other in (larger, tidy_seldom))


def test_a_simulated_node_is_not_lost_while_a_new_kwok_waits_for_its_lease(paths: NodePaths) -> None:
    [lease] = [word.partition("=")[2] for word in kwok.arguments(paths) if "lease-duration" in word]
    assert 1.2 * int(lease) < kwok.GRACE_SECONDS


def test_kwok_plays_only_nodes_with_its_annotation_and_listens_on_nothing(paths: NodePaths) -> None:
    command = kwok.arguments(paths)
    assert "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake" in command
    assert {"--server-address=", "--node-port=0"} <= set(command)
    parser = configparser.ConfigParser()
    parser.read_string(
        supervisor.render(paths, process_specs.of_instance(paths, simulated_nodes=True)).replace("%%", "")
    )
    assert f'KWOK_WORKDIR="{str(paths.config).replace("%", "")}"' in parser["program:kwok"]["environment"]


def test_kwok_may_watch_and_report_and_change_no_object() -> None:
    role, binding = kwok.manifests()
    assert binding["subjects"] == [{"apiGroup": binding["roleRef"]["apiGroup"], "kind": "User", "name": kwok.USER}]
    assert pki.simulator().common_name == kwok.USER
    allowed = {(resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    assert {(resource, verb) for resource, verb in allowed if verb not in ("get", "list", "watch")} == {
        ("nodes/status", "patch"),
        ("pods/status", "patch"),
        ("pods", "delete"),
        ("events", "create"),
        ("events", "patch"),
        *(("leases", verb) for verb in ("create", "update", "patch")),
    }


def test_a_simulated_job_takes_as_long_as_its_pod_says() -> None:
    [stage] = [one for one in yaml.safe_load_all(kwok.stages()) if one["metadata"]["name"] == "job-is-done"]
    assert stage["spec"]["delay"] == {
        "durationMilliseconds": kwok.JOB_SECONDS * 1000,
        "durationFrom": {"jq": {"expression": '.metadata.annotations["tensorplane.dev/simulated-duration"]'}},
    }


def test_no_two_stages_fit_one_pod() -> None:
    """KWOK would take either of them by chance."""
    stages = [
        stage["spec"] for stage in yaml.safe_load_all(kwok.stages()) if stage["spec"]["resourceRef"]["kind"] == "Pod"
    ]
    states = []
    for stage in stages:
        said = {one["key"]: (one["operator"], one.get("values")) for one in stage["selector"]["matchExpressions"]}
        deleted = said[".metadata.deletionTimestamp"][0]
        states += [(deleted, phase) for phase in said[".status.phase"][1] or ()]
    assert len(states) == len(set(states))
