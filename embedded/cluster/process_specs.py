"""What the cluster runs as processes: command line, memory limit and start order of each."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tensorplane.embedded.cluster import csi, kwok
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.embedded.cluster.nodes import NODE_NAME, Node


@dataclass(frozen=True)
class ProcessSpec:
    """How supervisord runs one process."""

    name: str
    start_order: int
    """0 starts at once. 1 is for clients of the API server, which start when it answers; 2 for those that also need
    their RBAC bound."""
    arguments: tuple[str, ...]
    memory_mib: int
    """Go's soft limit for its heap (GOMEMLIMIT): the collector works harder near it, and nothing ends the process."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables in addition to those of all processes."""
    program: Path | None = None
    """Its program, if that is not one of the tools."""
    stop_signal: str = "TERM"

    def command(self, programs: Path) -> list[str]:
        return [str(self.program or programs / self.name), *self.arguments]


PROGRAMS = (
    "etcd",
    "containerd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
)
# Programs that containerd looks up in folders: its shim and the network plugins. `ctr` imports images.
HELPERS = ("containerd-shim-runc-v2", "ctr", "bridge", "host-local", "loopback", "portmap")


def of_instance(
    paths: NodePaths, *, simulated_nodes: bool = False, storage: bool = False, nodes: int = 1
) -> list[ProcessSpec]:
    """The processes of the control plane and of the first node, in start order; a process for each further node."""
    specs = [
        _etcd(paths),
        _containerd(paths),
        _apiserver(paths),
        _controller_manager(paths),
        _scheduler(paths),
        _kubelet(paths),
        _kube_proxy(paths),
        *(_csi(paths) if storage else []),
        *(_further_node(Node(paths.instance, number)) for number in range(2, nodes + 1)),
    ]
    return [*map(_for_simulated_nodes, specs), _kwok(paths)] if simulated_nodes else specs


def of_further_node(paths: NodePaths, *, storage: bool = False) -> list[ProcessSpec]:
    """The processes of a node other than the first, which start together, whenever the node starts."""
    kubelet = _kubelet(paths)
    # A kubelet ends if containerd does not answer.
    wait_for_containerd = 'until [ -S "$0" ]; do sleep 0.1; done; exec "$@"'
    arguments = ("-c", wait_for_containerd, str(paths.containerd_socket), *kubelet.command(paths.programs))
    kubelet = replace(kubelet, program=Path("/bin/sh"), arguments=arguments)
    return [_containerd(paths), kubelet, _kube_proxy(paths), *([_csi_driver(paths)] if storage else [])]


def _for_simulated_nodes(spec: ProcessSpec) -> ProcessSpec:
    """The process as thousands of simulated nodes need it: a larger heap, longer timeouts."""
    match spec.name:
        case "etcd":
            return replace(spec, memory_mib=1000)
        case "kube-apiserver":
            # During a collection, a request takes ten times as long. With six thousand nodes, 0.7 GiB is live.
            return replace(spec, memory_mib=6000, variables={"GOGC": "300"})
        case "kube-controller-manager":
            return replace(spec, arguments=(*spec.arguments, f"--node-monitor-grace-period={kwok.GRACE_SECONDS}s"))
        case "kube-scheduler":
            # It examines hundreds of nodes for each pod; with 50, that took a sixth of a processor more.
            return replace(spec, variables={"GOGC": "200"})
        case _:
            return spec


def _etcd(paths: NodePaths) -> ProcessSpec:
    pem, authority = str(paths.keys / "etcd.pem"), str(paths.keys / "etcd-ca.crt")
    client, peer = "https://127.0.0.1:2379", "https://127.0.0.1:2380"
    arguments = (
        f"--name={NODE_NAME}",
        f"--data-dir={paths.etcd}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster={NODE_NAME}={peer}",
        f"--cert-file={pem}",
        f"--key-file={pem}",
        f"--trusted-ca-file={authority}",
        "--client-cert-auth",
        f"--peer-cert-file={pem}",
        f"--peer-key-file={pem}",
        f"--peer-trusted-ca-file={authority}",
        "--peer-client-cert-auth",
        "--log-level=warn",
    )
    return ProcessSpec("etcd", 0, arguments, memory_mib=100)


def _containerd(paths: NodePaths) -> ProcessSpec:
    arguments = ("--config", str(paths.config / "containerd.toml"))
    return ProcessSpec("containerd", 0, arguments, memory_mib=100)


def _apiserver(paths: NodePaths) -> ProcessSpec:
    keys, config, node = paths.keys, paths.config, paths.instance.node_ip
    arguments = (
        f"--bind-address={node}",
        f"--advertise-address={node}",
        "--secure-port=6443",
        f"--tls-cert-file={keys}/apiserver.pem",
        f"--tls-private-key-file={keys}/apiserver.pem",
        "--etcd-servers=https://127.0.0.1:2379",
        f"--etcd-cafile={keys}/etcd-ca.crt",
        f"--etcd-certfile={keys}/apiserver-etcd.pem",
        f"--etcd-keyfile={keys}/apiserver-etcd.pem",
        "--anonymous-auth=false",
        f"--client-ca-file={keys}/ca.crt",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        f"--admission-control-config-file={config}/admission.yaml",
        f"--encryption-provider-config={config}/encryption.json",
        f"--service-cluster-ip-range={paths.instance.service_cidr}",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={keys}/service-account.pub",
        f"--service-account-signing-key-file={keys}/service-account.pem",
        f"--kubelet-certificate-authority={keys}/ca.crt",
        f"--kubelet-client-certificate={keys}/apiserver-kubelet.pem",
        f"--kubelet-client-key={keys}/apiserver-kubelet.pem",
        "--kubelet-preferred-address-types=InternalIP",
        f"--requestheader-client-ca-file={keys}/front-proxy-ca.crt",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-username-headers=X-Remote-User",
        f"--proxy-client-cert-file={keys}/front-proxy.pem",
        f"--proxy-client-key-file={keys}/front-proxy.pem",
        f"--audit-policy-file={config}/audit.yaml",
        f"--audit-log-path={paths.logs}/audit.log",
        "--audit-log-maxsize=10",
        "--audit-log-maxbackup=1",
        "--allow-privileged=true",  # Pod Security decides; storage drivers need it in their own namespace
        "--profiling=false",
        "--default-watch-cache-size=20",
        "--delete-collection-workers=1",
    )
    # With Kueue's and JobSet's kinds and some jobs, 230 MiB of its heap are live: near its limit it does little but
    # collect, on a whole processor. With less live memory, it takes no more than before.
    # A thousand JobSets with their Workloads are 0.8 GiB live. With a lower limit, the collector runs all the time.
    return ProcessSpec("kube-apiserver", 0, arguments, memory_mib=2000)


def _controller_manager(paths: NodePaths) -> ProcessSpec:
    keys = paths.keys
    arguments = (
        f"--kubeconfig={paths.config}/controller-manager.kubeconfig",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={keys}/service-account.pem",
        f"--root-ca-file={keys}/ca.crt",
        f"--cluster-signing-cert-file={keys}/ca.crt",
        f"--cluster-signing-key-file={keys}/ca.pem",
        f"--service-cluster-ip-range={paths.instance.service_cidr}",
        f"--flex-volume-plugin-dir={paths.kubelet_root}/flexvolume",
        "--secure-port=0",  # its metrics are not used here, so it does not listen
        "--leader-elect=false",
        "--profiling=false",
        "--concurrent-gc-syncs=5",
        # With the default limit of 20 requests a second, a thousand new nodes accepted no pods for two minutes.
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    )
    return ProcessSpec("kube-controller-manager", 1, arguments, memory_mib=600)


def _scheduler(paths: NodePaths) -> ProcessSpec:
    arguments = (f"--config={paths.config}/scheduler.yaml", "--secure-port=0")
    return ProcessSpec("kube-scheduler", 1, arguments, memory_mib=600)


def _kubelet(paths: NodePaths) -> ProcessSpec:
    arguments = (
        f"--config={paths.config}/kubelet.yaml",
        f"--kubeconfig={paths.config}/kubelet.kubeconfig",
        f"--hostname-override={paths.node.name}",
        f"--node-ip={paths.node.ip}",
        f"--root-dir={paths.kubelet_root}",
    )
    return ProcessSpec("kubelet", 1, arguments, memory_mib=100)


def _kube_proxy(paths: NodePaths) -> ProcessSpec:
    return ProcessSpec("kube-proxy", 1, (f"--config={paths.config}/proxy.yaml",), memory_mib=64)


def _csi(paths: NodePaths) -> list[ProcessSpec]:
    return [
        _csi_driver(paths),
        *(ProcessSpec(name, 2, csi.arguments(paths, name), memory_mib=64) for name in csi.CONTROLLERS),
    ]


def _csi_driver(paths: NodePaths) -> ProcessSpec:
    program, arguments = csi.driver_command(paths)
    return ProcessSpec(csi.DRIVER_PROGRAM, 1, arguments, memory_mib=64, program=program)


def _further_node(node: Node) -> ProcessSpec:
    arguments = ("-m", "tensorplane.embedded.cluster.node_process", node.instance.name, str(node.number))
    # KILL, as if the machine had lost its power: the kernel ends its first process with this one, and with that all
    # processes of its PID namespace.
    return ProcessSpec(node.process_name, 1, arguments, memory_mib=64, program=Path(sys.executable), stop_signal="KILL")


def _kwok(paths: NodePaths) -> ProcessSpec:
    # Otherwise it would also read a folder of the user's.
    variables = {"KWOK_WORKDIR": str(paths.config)}
    return ProcessSpec(kwok.NAME, 2, kwok.arguments(paths), memory_mib=512, variables=variables)
