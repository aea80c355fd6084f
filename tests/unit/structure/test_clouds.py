"""A cloud is one folder: the same files in each, its name nowhere else, and a new one found by being there."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator, Set
from pathlib import Path

import pytest

from tensorplane.components import catalog
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.plugins.hosts import stand_ins
from tests.unit.structure import imports, sources

PROJECT = Path(__file__).resolve().parents[3]
CLUSTERS = Path("components/clusters")

FILES = frozenset(
    f"{name}.py"
    for name in (
        *("__init__", "settings", "check_cluster", "check_groups", "check_network", "create", "native", "network"),
        *("addresses", "zones", "control_plane", "node_pools", "effects", "access", "encryption", "kubeconfig"),
    )
)
"""What each cloud has, under the same name."""

ABOUT_EVERY_CLOUD = ("cli/", "driver/", "stack/", "workloads/", "components/base/", "components/queues/")

MAY_NAME_CLOUDS = (
    "components/catalog/data",
    "components/catalog/update",
    "components/versions.py",
    # A storage backend is one cloud's, or says which clouds have it.
    "components/volumes/backends",
    "components/volumes/clouds",
    # The policy pack imports nothing of the stack: it reads clusters whoever registers them.
    "policies/rules",
    # kops rents machines of AWS.
    "components/node_groups/kops.py",
    # Generated: it has the models of every kind.
    "runtime/tensorplane/pulumi/arguments.py",
)


def clouds(root: Path) -> list[str]:
    """The clouds: folders that create a cluster."""
    return sorted(path.parent.name for path in (root / CLUSTERS).glob("*/settings.py"))


def lacking(root: Path) -> Iterator[str]:
    """Files that one cloud lacks and others have."""
    for cloud in clouds(root):
        here = {path.name for path in (root / CLUSTERS / cloud).glob("*.py")}
        yield from (f"{cloud}/{name}" for name in sorted(FILES - here))


def _has(path: Path, names: Set[str]) -> bool:
    """Most files have none of the names, and need not be parsed."""
    text = path.read_text()
    return any(name in text for name in names)


def named_elsewhere(root: Path, names: Set[str]) -> Iterator[str]:
    """Places outside a cloud's folder that hold its name as a text, or its class."""
    classes = {name.capitalize() for name in names}
    for path in imports.modules(root).values():
        at = path.relative_to(root).as_posix()
        if at.startswith((*MAY_NAME_CLOUDS, *(f"{CLUSTERS.as_posix()}/{name}/" for name in names))):
            continue
        for node in sources.nodes(path) if _has(path, names | classes) else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names:
                yield f"{at}:{node.lineno}: {node.value}"
            elif isinstance(node, ast.ImportFrom) and any(alias.name in classes for alias in node.names):
                yield f"{at}:{node.lineno}: {', '.join(alias.name for alias in node.names)}"


def classes_asked_for(root: Path, names: Set[str]) -> Iterator[str]:
    """Calls of isinstance with a cloud's class, anywhere."""
    classes = {f"{name.capitalize()}{end}" for name in names for end in ("", "Settings")}
    for path in imports.modules(root).values():
        nodes = sources.nodes(path) if _has(path, classes) else ()
        for node in (each for each in nodes if isinstance(each, ast.Call)):
            asked = isinstance(node.func, ast.Name) and node.func.id == "isinstance"
            if asked and {found.id for found in ast.walk(node) if isinstance(found, ast.Name)} & classes:
                yield f"{path.relative_to(root)}:{node.lineno}"


def test_each_cloud_has_the_same_files() -> None:
    assert {"aks", "eks", "gke"} <= set(clouds(PROJECT))
    assert list(lacking(PROJECT)) == []


def test_a_cloud_without_one_of_the_files_is_found(tmp_path: Path) -> None:
    folder = tmp_path / CLUSTERS / "toy"
    folder.mkdir(parents=True)
    for name in FILES - {"access.py"}:
        (folder / name).touch()
    assert list(lacking(tmp_path)) == ["toy/access.py"]


def sdk_types_elsewhere(root: Path, packages: Set[str]) -> Iterator[str]:
    """Types of clouds' resources in what is about every cloud."""
    for path in imports.modules(root).values():
        at = path.relative_to(root).as_posix()
        if not at.startswith(ABOUT_EVERY_CLOUD) or not _has(path, packages):
            continue
        for node in sources.nodes(path):
            if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                continue
            if node.value.startswith(tuple(f"{package}:" for package in packages)):
                yield f"{at}:{node.lineno}: {node.value}"


def _packages() -> set[str]:
    """The packages of Pulumi with the clouds' resources."""
    return {kind.effects.node_group.partition(":")[0] for kind in ClusterArgs.kinds() if kind.effects}


def test_types_of_a_clouds_resources_are_named_by_the_cloud() -> None:
    assert list(sdk_types_elsewhere(PROJECT, _packages())) == []


def test_a_type_of_a_clouds_resource_that_is_named_elsewhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "one.py").write_text('POOL = "toy:pools:Pool"\n')
    assert list(sdk_types_elsewhere(tmp_path, {"toy"})) == ["cli/one.py:1: toy:pools:Pool"]


def test_each_clouds_provider_has_a_stand_in_for_previews() -> None:
    """`embedded` imports no cluster types, so its list is compared here."""
    assert {cloud.package for cloud in stand_ins.CLOUDS} == _packages()


def test_no_cloud_is_named_outside_its_folder() -> None:
    assert set(catalog.clouds()) == set(clouds(PROJECT))
    assert list(named_elsewhere(PROJECT, set(clouds(PROJECT)))) == []
    assert list(classes_asked_for(PROJECT, set(clouds(PROJECT)))) == []


@pytest.mark.parametrize(
    "line", ['CLOUDS = ("toy",)', "from tensorplane.components.clusters.toy import Toy", 'KNOWN = {"toy": 1}']
)
def test_a_cloud_that_is_named_elsewhere_is_found(tmp_path: Path, line: str) -> None:
    (tmp_path / "components").mkdir()
    (tmp_path / "components" / "elsewhere.py").write_text(f"{line}\n")
    assert [each.split(":")[0] for each in named_elsewhere(tmp_path, {"toy"})] == ["components/elsewhere.py"]


def test_a_question_for_a_clouds_class_is_found(tmp_path: Path) -> None:
    (tmp_path / "components" / "volumes").mkdir(parents=True)
    (tmp_path / "components" / "volumes" / "one.py").write_text("own = isinstance(cluster, (str, Toy))\n")
    assert list(classes_asked_for(tmp_path, {"toy"})) == ["components/volumes/one.py:1"]


TOY = '''
from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

from tensorplane.components.base.problems import Problem
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.clusters.settings import GpuSupport
from tensorplane.components.node_groups.shape import Shape
from tensorplane.components.node_groups.taint import Taint
from tensorplane.components.node_groups.cluster_properties import NodeTraits


class Toy(ClusterArgs):
    """A cloud of the test."""

    kind: Literal["toy"] = "toy"
    region: str
    """Its one region is here."""

    default_disks: ClassVar[str | None] = "toy disks"
    gpu_support: ClassVar[GpuSupport] = GpuSupport(("present",), driver=True)
    node_traits: ClassVar[NodeTraits] = NodeTraits(
        spot_taints=(Taint("toy.example/spot", "true", "NoSchedule", by_cloud=True, spot=True),),
        label_domains=frozenset({"toy.example"}),
    )

    def group_zones(self, shape: Shape) -> tuple[str, ...]:
        return ("here-1",)

    def check(self, groups: Mapping[str, Shape]) -> Iterator[Problem]:
        if self.region != "here":
            yield Problem(("cluster", "region"), f"no region {self.region!r}; set it to here")
'''

STACK = """
config:
  tensorplane:cluster: {{kind: toy, region: {region}}}
  tensorplane:nodeGroups:
    cpu: {{min: 1, max: 2, labels: {{{label}: "1"}}}}
    cheap: {{accelerator: t4, max: 2, spot: true}}
"""

PROGRAM = """
import json
import sys
from pathlib import Path

from tensorplane.components import clusters
from tensorplane.components.base.family import load_family

clusters.__path__.append(sys.argv[1])
load_family("tensorplane.components.clusters", [sys.argv[1]])

from tensorplane.cli import stack_config
from tensorplane.core.errors import UserError

def said(file: str) -> list[str]:
    try:
        resolved = stack_config.load(Path(file))
    except UserError as fault:
        return list(fault.lines)
    return sorted(str(taint) for taint in resolved.fleet.groups["cheap"].taints)

print(json.dumps([said(file) for file in sys.argv[2:]]))
"""


def test_a_new_cloud_is_one_folder_and_its_checks_and_label_rules_count(tmp_path: Path) -> None:
    """A Python of its own reads the settings of two stacks on the toy cloud, so that no other test has the cloud."""
    (tmp_path / "kinds" / "toy").mkdir(parents=True)
    (tmp_path / "kinds" / "toy" / "__init__.py").write_text(TOY)
    files = {"right": STACK.format(region="here", label="team")}
    files["wrong"] = STACK.format(region="there", label="toy.example/x")
    argv = [sys.executable, "-c", PROGRAM, str(tmp_path / "kinds")]
    for name, text in files.items():
        (tmp_path / f"Pulumi.{name}.yaml").write_text(text)
        argv.append(str(tmp_path / f"Pulumi.{name}.yaml"))
    done = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    taints, faults = json.loads(done.stdout)
    assert "toy.example/spot=true:NoSchedule" in taints
    said = "\n".join(faults)
    assert "cluster.region: no region 'there'; set it to here" in said
    assert "nodeGroups.cpu.labels.toy.example/x: " in said


def test_every_kind_of_cluster_says_what_it_brings() -> None:
    for kind in ClusterArgs.variants.values():
        assert issubclass(kind, ClusterArgs) and kind.gpu_support.runtimes
