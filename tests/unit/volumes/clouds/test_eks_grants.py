"""Rights in AWS are there before what needs them: whoever takes a role comes after all that gives it its rights.

That they take effect some seconds later is left to those who ask: AWS' provider and the drivers try again.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

from tests.support.rendered_files import rendered_file
from tests.support.rendering import PROJECT, Registered

FILES = ("Pulumi.prod.yaml", "examples/eks-volumes.yaml", "examples/eks-data.yaml")
GRANTS = ("RolePolicy", "RolePolicyAttachment")
WITHOUT = ("AccessEntry", "Addon cluster-aws-mountpoint-s3-csi-driver")
"""What uses no rights of the role that it names: of that driver, each volume has its own, and comes after them."""


def kind_and_name(one: Registered) -> str:
    return f"{one.type.rpartition(':')[2]} {one.name}"


@pytest.mark.parametrize("file", FILES)
def test_whoever_takes_a_role_comes_after_its_rights(file: str) -> None:
    made = rendered_file(PROJECT / file)
    rights: dict[str, set[str]] = defaultdict(set)
    for one in made.resources:
        if kind_and_name(one).startswith(GRANTS):
            rights["Role " + one.inputs["role"].removesuffix("-id")].add(kind_and_name(one))
    assert rights
    after = {kind_and_name(one): set(one.options.get("dependsOn", ())) for one in made.resources}

    def before(name: str) -> set[str]:
        """All that is there before it, also by way of others."""
        found, new = set[str](), {name}
        while new := {each for one in new for each in after.get(one, ())} - found:
            found |= new
        return found

    taking = [one for one in made.resources if not kind_and_name(one).startswith((*GRANTS, *WITHOUT))]
    early = {kind_and_name(one): rights[role] - before(kind_and_name(one)) for one in taking for role in one.hangs_on}
    assert {name: missing for name, missing in early.items() if missing} == {}


def test_a_volume_in_a_bucket_comes_after_the_rights_to_it() -> None:
    made = rendered_file(PROJECT / "examples" / "eks-data.yaml")
    for name in ("tensorplane-dev-images", "tensorplane-dev-models"):
        assert f"RolePolicy {name}" in made.one("PersistentVolume", name).options["dependsOn"]
