"""The cluster's processes: command line, memory limit and start order of each."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from embedded.cluster import csi, kwok
from embedded.cluster.node_paths import NodePaths
from embedded.cluster.nodes import NODE_NAME, Node


@dataclass(frozen=True)
class Component:
    """One supervised process.

    Processes of stage 1 are clients of the API server and start when it answers. Those of stage 2 start when their RBAC
    is bound, too.
    """

    name: str
    stage: int
    arguments: tuple[str, ...]
    memory_mib: int
    """Go's soft limit for its heap (GOMEMLIMIT): the collector works harder near it; the process never dies of it."""
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


def components(
    at: NodePaths, *, simulated_nodes: bool = False, storage: bool = False, nodes: int = 1
) -> list[Component]:
    """The processes of the control plane and of the first node, in start order; a process for each further node."""
    usual = [
        _etcd(at),
        _containerd(at),
        _apiserver(at),
        _controller_manager(at),
        _scheduler(at),
        _kubelet(at),
        _proxy(at),
        *(_storage(at) if storage else []),
        *(_further(Node(at.instance, number)) for number in range(2, nodes + 1)),
    ]
    return [*map(_for_a_fleet, usual), _kwok(at)] if simulated_nodes else usual


def of_further_node(at: NodePaths, *, storage: bool = False) -> list[Component]:
    """The processes of a node other than the first, which start together, whenever the node starts."""
    kubelet = _kubelet(at)
    # It ends where containerd does not answer.
    waiting = 'until [ -S "$0" ]; do sleep 0.1; done; exec "$@"'
    late = ("-c", waiting, str(at.containerd_socket), *kubelet.command(at.programs))
    kubelet = replace(kubelet, program=Path("/bin/sh"), arguments=late)
    return [_containerd(at), kubelet, _proxy(at), *([_driver(at)] if storage else [])]


def _for_a_fleet(component: Component) -> Component:
    """The process with its settings for thousands of simulated nodes: a larger heap, longer timeouts."""
    match component.name:
        case "etcd":
            return replace(component, memory_mib=1000)
        case "kube-apiserver":
            # During a collection, a request takes ten times as long. With six thousand nodes, 0.7 GiB is live.
            return replace(component, memory_mib=6000, variables={"GOGC": "300"})
        case "kube-controller-manager":
            return replace(component, arguments=(*component.arguments, f"--node-monitor-grace-period={kwok.GRACE}s"))
        case "kube-scheduler":
            # It examines hundreds of nodes for each pod; with 50, that took a sixth of a processor more.
            return replace(component, variables={"GOGC": "200"})
        case _:
            return component


def _etcd(at: NodePaths) -> Component:
    pem, authority = str(at.keys / "etcd.pem"), str(at.keys / "etcd-ca.crt")
    client, peer = "https://127.0.0.1:2379", "https://127.0.0.1:2380"
    arguments = (
        f"--name={NODE_NAME}",
        f"--data-dir={at.etcd}",
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
    return Component("etcd", 0, arguments, memory_mib=100)


def _containerd(at: NodePaths) -> Component:
    arguments = ("--config", str(at.config / "containerd.toml"))
    return Component("containerd", 0, arguments, memory_mib=100)


def _apiserver(at: NodePaths) -> Component:
    keys, config, node = at.keys, at.config, at.instance.node_ip
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
        f"--service-cluster-ip-range={at.instance.service_cidr}",
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
        f"--audit-log-path={at.logs}/audit.log",
        "--audit-log-maxsize=10",
        "--audit-log-maxbackup=1",
        "--allow-privileged=true",  # Pod Security decides; storage drivers need it in their own namespace
        "--profiling=false",
        "--default-watch-cache-size=20",
        "--delete-collection-workers=1",
    )
    # With Kueue's and JobSet's kinds and some jobs, 230 MiB of its heap are live: near its limit it does little but
    # collect, on a whole processor. With less live memory, it takes no more than before.
    # A thousand JobSets with their Workloads are 0.8 GiB live. With a limit below that, the collector never rests.
    return Component("kube-apiserver", 0, arguments, memory_mib=2000)


def _controller_manager(at: NodePaths) -> Component:
    keys = at.keys
    arguments = (
        f"--kubeconfig={at.config}/controller-manager.kubeconfig",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={keys}/service-account.pem",
        f"--root-ca-file={keys}/ca.crt",
        f"--cluster-signing-cert-file={keys}/ca.crt",
        f"--cluster-signing-key-file={keys}/ca.pem",
        f"--service-cluster-ip-range={at.instance.service_cidr}",
        f"--flex-volume-plugin-dir={at.kubelet_root}/flexvolume",
        "--secure-port=0",  # its metrics are not used here, so it does not listen
        "--leader-elect=false",
        "--profiling=false",
        "--concurrent-gc-syncs=5",
        # With the default limit of 20 requests a second, a thousand new nodes accepted no pods for two minutes.
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    )
    return Component("kube-controller-manager", 1, arguments, memory_mib=600)


def _scheduler(at: NodePaths) -> Component:
    arguments = (f"--config={at.config}/scheduler.yaml", "--secure-port=0")
    return Component("kube-scheduler", 1, arguments, memory_mib=600)


def _kubelet(at: NodePaths) -> Component:
    arguments = (
        f"--config={at.config}/kubelet.yaml",
        f"--kubeconfig={at.config}/kubelet.kubeconfig",
        f"--hostname-override={at.node.name}",
        f"--node-ip={at.node.ip}",
        f"--root-dir={at.kubelet_root}",
    )
    return Component("kubelet", 1, arguments, memory_mib=100)


def _proxy(at: NodePaths) -> Component:
    return Component("kube-proxy", 1, (f"--config={at.config}/proxy.yaml",), memory_mib=64)


def _storage(at: NodePaths) -> list[Component]:
    return [_driver(at), *(Component(name, 2, csi.arguments(at, name), memory_mib=64) for name in csi.CONTROLLERS)]


def _driver(at: NodePaths) -> Component:
    program, arguments = csi.driver_command(at)
    return Component(csi.DRIVER_PROGRAM, 1, arguments, memory_mib=64, program=program)


def _further(node: Node) -> Component:
    arguments = ("-m", "embedded.cluster.node_process", node.instance.name, str(node.number))
    # What is in its PID namespace ends with its first process, and that with this one, which asks nobody.
    return Component(node.part, 1, arguments, memory_mib=64, program=Path(sys.executable), stop_signal="KILL")


def _kwok(at: NodePaths) -> Component:
    # Otherwise it would also read a folder of the user's.
    own = {"KWOK_WORKDIR": str(at.config)}
    return Component(kwok.NAME, 2, kwok.arguments(at), memory_mib=512, variables=own)
