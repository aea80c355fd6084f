"""Writes everything that an instance's processes read; the fingerprint shows whether a running one matches."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

import toolchain
from core import whole_file
from core.paths import PROJECT
from embedded.cluster import (
    cgroups,
    components,
    control_plane_config,
    csi,
    first_process,
    kubeconfig,
    kwok,
    network,
    node_config,
    node_network,
    node_process,
    node_volumes,
    nodes,
    pki,
    pool,
    supervisor,
)
from embedded.cluster.node_paths import NodePaths, of_nodes

# Code that decides how a start uses the files below: after a change to it, a running cluster is outdated.
_CODE = (cgroups, first_process, network, pool)
_CODE_OF_FURTHER_NODES = (node_network, node_process, node_volumes, nodes)
_DRIVER = PROJECT / "embedded" / "csi"


@dataclass(frozen=True)
class Configuration:
    """What is on disk now."""

    components: list[components.Component]
    """The processes of the control plane and of the first node, and one for each further node."""
    fingerprint: str
    nodes: tuple[NodePaths, ...]
    """The paths of each node, the first one's first."""

    def of_stage(self, stage: int) -> list[str]:
        """Names of the processes that start together."""
        return [component.name for component in self.components if component.stage == stage]


def write(
    at: NodePaths, *, simulated_nodes: bool = False, storage: bool = False, nodes: int | None = None
) -> Configuration:
    """Brings every file of the instance up to date. Simulated nodes and storage stay enabled once they were.

    `nodes`: how many real nodes; None keeps those that it has.
    """
    at.instance.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    further = _further(at, nodes)
    for folder in (at.etcd, *(each for one in (at, *further) for each in (one.own, *_folders(one)))):
        folder.mkdir(mode=0o700, exist_ok=True)
    simulated_nodes = simulated_nodes or kwok.is_part_of(at)
    storage = storage or csi.is_part_of(at)
    if storage:
        for folder in (at.pool, at.mirror):
            folder.mkdir(mode=0o700, exist_ok=True)
    count = 1 + len(further)
    wanted = components.components(at, simulated_nodes=simulated_nodes, storage=storage, nodes=count)
    programs = _link_programs(at, wanted)
    kubelets = [leaf for one in further for leaf in pki.of_node(one.node)]
    pki.ensure(at.keys, [*leaves(at, simulated_nodes=simulated_nodes, storage=storage), *kubelets])
    control_plane_config.encryption(at.config / "encryption.json")
    for path, content in _files(at, wanted, count, further, storage=storage).items():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        whole_file.write(path, content, mode=whole_file.PRIVATE)
    _copy_charts(at, simulated_nodes=simulated_nodes)
    code = sorted(_DRIVER.rglob("*.py")) if storage else []
    if further:
        code += [Path(str(module.__file__)) for module in _CODE_OF_FURTHER_NODES]
    return Configuration(wanted, _fingerprint(at, programs, code), (at, *further))


def _further(at: NodePaths, count: int | None) -> list[NodePaths]:
    """The paths of the nodes but the first. Of nodes that are no longer wanted, the configuration goes."""
    had = of_nodes(at.instance)
    for one in had[count:] if count else ():
        shutil.rmtree(one.config)
        for leaf in pki.of_node(one.node):
            (at.keys / f"{leaf.name}.pem").unlink(missing_ok=True)
    return [NodePaths(at.instance, number) for number in range(2, 1 + (count or len(had)))]


def _folders(at: NodePaths) -> tuple[Path, ...]:
    return at.containerd, at.kubelet, at.logs, at.config


def leaves(at: NodePaths, *, simulated_nodes: bool, storage: bool) -> list[pki.Leaf]:
    """Certificates that the instance's processes and its administrator hold."""
    simulator = [pki.simulator()] if simulated_nodes else []
    return [*pki.leaves(at.instance), *simulator, *(csi.leaves(at.instance) if storage else [])]


def _files(
    at: NodePaths, wanted: list[components.Component], count: int, further: list[NodePaths], *, storage: bool
) -> dict[Path, bytes]:
    texts = {
        at.config / "admission.yaml": control_plane_config.admission(),
        at.config / "audit.yaml": control_plane_config.audit(),
        at.config / "scheduler.yaml": control_plane_config.scheduler(at),
    }
    users = ["controller-manager", "scheduler"]
    if any(component.name == kwok.NAME for component in wanted):
        texts[at.kwok_config] = kwok.stages()
        users.append(kwok.NAME)
    users += [component.name for component in wanted if component.name in csi.CONTROLLERS]
    clients = {at.config / f"{user}.kubeconfig": kubeconfig.render(at.instance, at.keys, user) for user in users}
    clients[at.instance.kubeconfig] = kubeconfig.render(at.instance, at.keys, "admin")
    found = {path: text.encode() for path, text in texts.items()} | clients | _files_of_node(at, wanted, count)
    for one in further:
        found |= _files_of_node(one, components.of_further_node(one, storage=storage), count)
    return found


def _files_of_node(at: NodePaths, wanted: list[components.Component], count: int) -> dict[Path, bytes]:
    texts = {
        "containerd.toml": node_config.containerd(at),
        "cni/10-tensorplane.conflist": node_config.cni(at),
        "kubelet.yaml": node_config.kubelet(at, count),
        "proxy.yaml": node_config.proxy(at),
        at.supervisor_config.name: supervisor.render(at, wanted, autostart=not at.node.is_first),
    }
    users = {"kubelet": at.node.of_its_own("kubelet"), "proxy": "proxy"}
    return {at.config / name: text.encode() for name, text in texts.items()} | {
        at.config / f"{name}.kubeconfig": kubeconfig.render(at.instance, at.keys, user) for name, user in users.items()
    }


def _link_programs(at: NodePaths, wanted: list[components.Component]) -> list[str]:
    """One folder with a link to each program; returns the targets, for the fingerprint."""
    at.programs.mkdir(mode=0o700, exist_ok=True)
    names = [*(component.name for component in wanted if not component.program), *components.HELPERS]
    targets = {name: toolchain.tools().path(name) for name in names}
    for name, target in targets.items():
        link = at.programs / name
        if not link.is_symlink() or link.readlink() != target:
            whole_file.link(link, target)
    return [f"{name}={target}" for name, target in sorted(targets.items())]


def _copy_charts(at: NodePaths, *, simulated_nodes: bool) -> None:
    """Links the add-ons' charts where the stack finds them. Tool folders are named by content, so the path suffices."""
    tools, mark = toolchain.tools(), at.charts / ".source"
    sources = [tools.charts, *([tools.gpu_charts] if simulated_nodes else [])]
    sources += tools.controller_charts
    wanted = "\n".join(map(str, sources))
    if mark.exists() and mark.read_text() == wanted:
        return
    draft = at.charts.with_name(".charts.draft")
    for old in (draft, at.charts):
        shutil.rmtree(old, ignore_errors=True)
    for source in sources:
        shutil.copytree(source, draft, dirs_exist_ok=True)
    (draft / mark.name).write_text(wanted)
    draft.rename(at.charts)


def _fingerprint(at: NodePaths, programs: list[str], code: list[Path]) -> str:
    digest = hashlib.sha256("\n".join(programs).encode())
    read = sorted(path for folder in (at.config, at.keys) for path in folder.rglob("[!.]*") if path.is_file())
    for path in [*read, *(Path(str(module.__file__)) for module in _CODE), *code]:
        digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()
