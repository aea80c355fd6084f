"""The builder of agents: pods find their code, and have rights and egress only where the component gives some."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pulumi
import pytest

from tensorplane.components.agent import agent as agent_agent
from tensorplane.components.agent.agent import TO_API_SERVER, Agent, Resources, Rights
from tests.support import rendering
from tests.support.rendering import PROJECT, Rendered

_WHERE = "import importlib.util as u, sys; print(*(u.find_spec(name).origin for name in sys.argv[1:]))"
_RULE: Any = {"api_groups": [""], "resources": ["pods"], "verbs": ["list"]}


def _made(program: str = "snapshots", **given: Any) -> Rendered:
    def build() -> None:
        made = Agent(
            program,
            name="queue.fresh",
            component="fresh",
            namespace="lab",
            image="python",
            resources=Resources("10m", "32Mi", "128Mi"),
            opts=pulumi.ResourceOptions(),
            **given,
        )
        made.deployment(made.pod(["lab"]))

    return rendering.run(build)


def _pod(made: Rendered) -> dict[str, Any]:
    pod: dict[str, Any] = made.one("Deployment").inputs["spec"]["template"]["spec"]
    return pod


@pytest.mark.parametrize("program", sorted(path.parent.name for path in PROJECT.glob("agents/*/__main__.py")))
def test_its_modules_are_found_where_the_pod_mounts_them(program: str, tmp_path: Path) -> None:
    made = _made(program)
    pod = _pod(made)
    (volume,), (container,) = pod["volumes"], pod["containers"]
    (mount,) = container["volumeMounts"]
    assert {"name": "PYTHONPATH", "value": mount["mountPath"]} in container["env"]
    data = made.one("ConfigMap").inputs["data"]
    paths = sorted(item["path"] for item in volume["configMap"]["items"])
    for item in volume["configMap"]["items"]:
        path = tmp_path / item["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(data[item["key"]])
    assert container["command"][:3] == ["python3", "-m", f"agents.{program}"]
    # Found, not imported: a program may begin its work, or need what only its image has, when it is imported.
    paths = [path for path in paths if path.endswith(".py")]
    modules = [path.removesuffix(".py").replace("/", ".").removesuffix(".__init__") for path in paths]
    assert f"agents.{program}.__main__" in modules
    argv = [sys.executable, "-c", _WHERE, *modules]
    shown = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert shown.stdout.split() == [str(tmp_path / path) for path in paths]


def test_other_code_is_another_config_map(monkeypatch: pytest.MonkeyPatch) -> None:
    before = _made().one("ConfigMap").inputs["metadata"]["name"]
    code = agent_agent.files("snapshots")
    monkeypatch.setattr(agent_agent, "files", lambda _: {**code, "agents/api.py": "fresh"})
    assert _made().one("ConfigMap").inputs["metadata"]["name"] != before


def test_without_rights_and_egress_it_has_no_token_and_no_network_policy() -> None:
    made = _made()
    assert _pod(made)["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in _pod(made)
    assert {one.type.rpartition(":")[2] for one in made.resources} == {"ConfigMap", "Deployment"}


def test_its_account_has_the_rights_that_are_given_and_its_pods_reach_the_api_server_alone() -> None:
    rights = [Rights("queue.fresh", [_RULE], "lab"), Rights("lab-queue.fresh", [_RULE])]
    made = _made(rights=rights, egress=[TO_API_SERVER])
    assert _pod(made)["serviceAccountName"] == made.one("ServiceAccount").inputs["metadata"]["name"] == "queue.fresh"
    for binding in (made.one("RoleBinding"), made.one("ClusterRoleBinding")):
        assert binding.inputs["subjects"] == [{"kind": "ServiceAccount", "name": "queue.fresh", "namespace": "lab"}]
    spec = made.one("NetworkPolicy").inputs["spec"]
    template = made.one("Deployment").inputs["spec"]["template"]
    assert spec["podSelector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert [port["port"] for rule in spec["egress"] for port in rule["ports"]] == [443, 6443]
