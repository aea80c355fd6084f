"""Writes everything that an instance's processes read; the fingerprint shows whether a running one matches."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from tensorplane import toolchain
from tensorplane.core import whole_file
from tensorplane.core.paths import PACKAGE
from tensorplane.embedded.cluster import (
    cgroups,
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
    process_specs,
    supervisor,
)
from tensorplane.embedded.cluster.node_paths import NodePaths, of_nodes

# Code that decides how a start uses the files below: after a change to it, a running cluster is outdated.
_CODE = (cgroups, first_process, network, pool)
_CODE_OF_FURTHER_NODES = (node_network, node_process, node_volumes, nodes)
_DRIVER = PACKAGE / "embedded" / "csi"


@dataclass(frozen=True)
class Configuration:
    """What is on disk now."""

    process_specs: list[process_specs.ProcessSpec]
    """The processes of the control plane and of the first node, and one for each further node."""
    fingerprint: str
    nodes: tuple[NodePaths, ...]
    """The paths of each node, the first one's first."""

    def of_start_order(self, start_order: int) -> list[str]:
        """Names of the processes that start together."""
        return [spec.name for spec in self.process_specs if spec.start_order == start_order]


def write(
    paths: NodePaths, *, simulated_nodes: bool = False, storage: bool = False, nodes: int | None = None
) -> Configuration:
    """Brings every file of the instance up to date. Simulated nodes and storage stay enabled once they were.

    `nodes`: how many real nodes; None keeps those that it has.
    """
    paths.instance.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    further_nodes = _further_nodes(paths, nodes)
    for folder in (paths.etcd, *(each for one in (paths, *further_nodes) for each in (one.own, *_folders(one)))):
        folder.mkdir(mode=0o700, exist_ok=True)
    simulated_nodes = simulated_nodes or kwok.is_part_of(paths)
    storage = storage or csi.is_part_of(paths)
    if storage:
        for folder in (paths.pool, paths.mirror):
            folder.mkdir(mode=0o700, exist_ok=True)
    count = 1 + len(further_nodes)
    specs = process_specs.of_instance(paths, simulated_nodes=simulated_nodes, storage=storage, nodes=count)
    programs = _link_programs(paths, specs)
    kubelets = [leaf for one in further_nodes for leaf in pki.of_node(one.node)]
    pki.ensure(paths.keys, [*leaves(paths, simulated_nodes=simulated_nodes, storage=storage), *kubelets])
    control_plane_config.encryption(paths.config / "encryption.json")
    for path, content in _files(paths, specs, count, further_nodes, storage=storage).items():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        whole_file.write(path, content, mode=whole_file.PRIVATE)
    _copy_charts(paths, simulated_nodes=simulated_nodes)
    code = sorted(_DRIVER.rglob("*.py")) if storage else []
    if further_nodes:
        code += [Path(str(module.__file__)) for module in _CODE_OF_FURTHER_NODES]
    return Configuration(specs, _fingerprint(paths, programs, code), (paths, *further_nodes))


def _further_nodes(paths: NodePaths, count: int | None) -> list[NodePaths]:
    """The paths of the nodes but the first. Of nodes that are no longer wanted, the configuration goes."""
    existing = of_nodes(paths.instance)
    for one in existing[count:] if count else ():
        shutil.rmtree(one.config)
        for leaf in pki.of_node(one.node):
            (paths.keys / f"{leaf.name}.pem").unlink(missing_ok=True)
    return [NodePaths(paths.instance, number) for number in range(2, 1 + (count or len(existing)))]


def _folders(paths: NodePaths) -> tuple[Path, ...]:
    return paths.containerd, paths.kubelet, paths.logs, paths.config


def leaves(paths: NodePaths, *, simulated_nodes: bool, storage: bool) -> list[pki.Leaf]:
    """Certificates that the instance's processes and its administrator hold."""
    simulator = [pki.simulator()] if simulated_nodes else []
    return [*pki.leaves(paths.instance), *simulator, *(csi.leaves(paths.instance) if storage else [])]


def _files(
    paths: NodePaths,
    specs: list[process_specs.ProcessSpec],
    count: int,
    further_nodes: list[NodePaths],
    *,
    storage: bool,
) -> dict[Path, bytes]:
    texts = {
        paths.config / "admission.yaml": control_plane_config.admission(),
        paths.config / "audit.yaml": control_plane_config.audit(),
        paths.config / "scheduler.yaml": control_plane_config.scheduler(paths),
    }
    users = ["controller-manager", "scheduler"]
    if any(spec.name == kwok.NAME for spec in specs):
        texts[paths.kwok_config] = kwok.stages()
        users.append(kwok.NAME)
    users += [spec.name for spec in specs if spec.name in csi.CONTROLLERS]
    clients = {
        paths.config / f"{user}.kubeconfig": kubeconfig.render(paths.instance, paths.keys, user) for user in users
    }
    clients[paths.instance.kubeconfig] = kubeconfig.render(paths.instance, paths.keys, "admin")
    found = {path: text.encode() for path, text in texts.items()} | clients | _files_of_node(paths, specs, count)
    for one in further_nodes:
        found |= _files_of_node(one, process_specs.of_further_node(one, storage=storage), count)
    return found


def _files_of_node(paths: NodePaths, specs: list[process_specs.ProcessSpec], count: int) -> dict[Path, bytes]:
    texts = {
        "containerd.toml": node_config.containerd(paths),
        "cni/10-tensorplane.conflist": node_config.cni(paths),
        "kubelet.yaml": node_config.kubelet(paths, count),
        "proxy.yaml": node_config.proxy(paths),
        paths.supervisor_config.name: supervisor.render(paths, specs, autostart=not paths.node.is_first),
    }
    users = {"kubelet": paths.node.of_its_own("kubelet"), "proxy": "proxy"}
    return {paths.config / name: text.encode() for name, text in texts.items()} | {
        paths.config / f"{name}.kubeconfig": kubeconfig.render(paths.instance, paths.keys, user)
        for name, user in users.items()
    }


def _link_programs(paths: NodePaths, specs: list[process_specs.ProcessSpec]) -> list[str]:
    """One folder with a link to each program; returns the targets, for the fingerprint."""
    paths.programs.mkdir(mode=0o700, exist_ok=True)
    names = [*(spec.name for spec in specs if not spec.program), *process_specs.HELPERS]
    targets = {name: toolchain.tools().path(name) for name in names}
    for name, target in targets.items():
        link = paths.programs / name
        if not link.is_symlink() or link.readlink() != target:
            whole_file.link(link, target)
    return [f"{name}={target}" for name, target in sorted(targets.items())]


def _copy_charts(paths: NodePaths, *, simulated_nodes: bool) -> None:
    """Links the add-ons' charts where the stack finds them. Tool folders are named by content, so the path suffices."""
    tools, mark = toolchain.tools(), paths.charts / ".source"
    sources = [tools.charts, *([tools.gpu_charts] if simulated_nodes else [])]
    sources += tools.controller_charts
    source_list = "\n".join(map(str, sources))
    if mark.exists() and mark.read_text() == source_list:
        return
    draft = paths.charts.with_name(".charts.draft")
    for old in (draft, paths.charts):
        shutil.rmtree(old, ignore_errors=True)
    for source in sources:
        shutil.copytree(source, draft, dirs_exist_ok=True)
    (draft / mark.name).write_text(source_list)
    draft.rename(paths.charts)


def _fingerprint(paths: NodePaths, programs: list[str], code: list[Path]) -> str:
    digest = hashlib.sha256("\n".join(programs).encode())
    read = sorted(path for folder in (paths.config, paths.keys) for path in folder.rglob("[!.]*") if path.is_file())
    for path in [*read, *(Path(str(module.__file__)) for module in _CODE), *code]:
        digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()
