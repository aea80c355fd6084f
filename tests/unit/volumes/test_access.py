"""Who may mount a volume, and where pods see it: told at preview, and enforced in the cluster for every pod."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tests.support import rendering
from tests.support.problems import dev, problems_of
from tests.support.rendered_files import rendered_tree


def with_access(**access: list[str]) -> dict[str, Any]:
    """The dev stack, of which `digits` trains on `models`, and `digits-server` serves from it."""
    tree = dev()
    tree["volumes"]["models"].update(access)
    return tree


def test_the_one_that_trains_and_the_one_that_serves_are_let_in() -> None:
    assert problems_of(with_access(writers=["digits"], readers=["digits-server"])) == []
    assert problems_of(with_access(writers=["digits", "digits-server"])) == []


@pytest.mark.parametrize(
    ("access", "line"),
    [
        (
            {"writers": ["digits"]},
            "digits-server.model.volume: volume models does not allow digits-server to mount it; add it to the "
            "volume's readers or writers",
        ),
        (
            {"readers": ["digits", "digits-server"]},
            "digits.volumes.models: volume models does not allow digits to mount it; add it to the volume's writers",
        ),
    ],
)
def test_a_workload_that_is_not_let_in_is_one_line(access: dict[str, list[str]], line: str) -> None:
    assert problems_of(with_access(**access)) == [f"tensorplane:workloads.{line}"]


def test_the_cluster_refuses_every_other_pod() -> None:
    tree = with_access(writers=["digits"], readers=["digits-server", "backup"])
    made = rendered_tree(tree)
    policy, binding = (
        made.one(f"ValidatingAdmissionPolicy{part}", "tensorplane-dev-models-access") for part in ("", "Binding")
    )
    (condition,), (validation,) = (policy.inputs["spec"][key] for key in ("matchConditions", "validations"))
    claim = 'has(v.persistentVolumeClaim) && v.persistentVolumeClaim.claimName == "models"'
    assert condition["expression"] == f"has(object.spec.volumes) && object.spec.volumes.exists(v, {claim})"
    assert validation["expression"] == (
        'object.spec.serviceAccountName in ["digits"] || '
        '(object.spec.serviceAccountName in ["backup", "digits-server"] && object.spec.volumes.all(v, '
        f"!({claim}) || (has(v.persistentVolumeClaim.readOnly) && v.persistentVolumeClaim.readOnly)))"
    )
    assert (binding.inputs["spec"]["policyName"], binding.inputs["spec"]["validationActions"]) == (
        "tensorplane-dev-models-access",
        ["Deny"],
    )


def test_a_group_is_of_those_who_make_the_pods() -> None:
    tree = with_access(writers=["digits"], readers=["digits-server", "group:research"])
    made = rendered_tree(tree)
    (validation,) = made.one("ValidatingAdmissionPolicy", "tensorplane-dev-models-access").inputs["spec"]["validations"]
    readers = (
        '(object.spec.serviceAccountName in ["digits-server"] || request.userInfo.groups.exists(g, g in ["research"]))'
    )
    assert validation["expression"].startswith(f'object.spec.serviceAccountName in ["digits"] || ({readers} && ')
    assert 'readers ["digits-server", "group:research"]' in validation["message"]


def test_who_is_no_account_and_no_group_is_one_line() -> None:
    (line,) = problems_of(with_access(writers=["digits", "digits-server"], readers=["group:"]))
    assert line.startswith("tensorplane:volumes.models.readers")
    assert "invalid value 'group:'; use a service account (lower-case" in line


def test_a_volume_that_lists_nobody_is_everybody_s() -> None:
    made = rendered_tree(dev())
    assert not [one for one in made.all("ValidatingAdmissionPolicy") if one.name.endswith("-access")]


def at_its_path(path: str | None, mount: Any) -> dict[str, Any]:
    """The dev stack, whose volume `models` has a path of its own and is mounted so."""
    tree = dev()
    if path:
        tree["volumes"]["models"]["path"] = path
    tree["workloads"]["digits"]["volumes"]["models"] = mount
    return tree


def test_a_volume_is_at_its_own_path_in_the_pods_that_name_none() -> None:
    for mount in (None, {}, "/data", {"path": "/data"}):
        tree = at_its_path("/data", mount)
        made = rendering.run(lambda tree=tree: stack.build(stack.load(Settings(tree))))  # type: ignore[misc]
        pods = made.one("JobSet").inputs["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
        (container,) = pods["containers"]
        assert "/data" in {one["mountPath"] for one in container["volumeMounts"]}
        environment = {one["name"]: one.get("value") for one in container["env"]}
        assert str(environment["MODEL_DIR"]).startswith("/data/")


@pytest.mark.parametrize(
    ("path", "mount", "line"),
    [
        ("/data", "/models", "path is /models, but volume models is mounted at /data in every pod; remove path"),
        (None, None, "no mount path is set here or in volume models; set one such as /models"),
    ],
)
def test_a_path_that_is_another_or_missing_is_one_line(path: str | None, mount: Any, line: str) -> None:
    assert problems_of(at_its_path(path, mount)) == [f"tensorplane:workloads.digits.volumes.models: {line}"]


def test_a_path_is_one_volume_s() -> None:
    for other in ("/data", "/data/old"):
        tree = at_its_path("/data", None)
        tree["volumes"]["old"] = {"sizeGib": 1, "path": other}
        reason = f"{other} is already used by volume models (/data); use a path of its own"
        assert problems_of(tree) == [f"tensorplane:volumes.old.path: {reason}"]
