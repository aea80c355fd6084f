"""Configuration files of a node: containerd, the pods' network, kubelet, kube-proxy."""

from __future__ import annotations

import json
from typing import Any

import yaml

from tensorplane.embedded.cluster import network, nodes
from tensorplane.embedded.cluster.node_paths import NodePaths

SANDBOX_IMAGE = "tensorplane.local/pause:1"
_POD_PIDS = 4096
"""Processes and threads that one pod may have."""

# Plugins that these nodes never use; each would take memory, or look for a disk layout that does not exist.
_UNUSED = [
    "io.containerd.differ.v1.erofs",
    "io.containerd.internal.v1.tracing",
    "io.containerd.monitor.container.v1.restart",
    "io.containerd.mount-handler.v1.erofs",
    "io.containerd.nri.v1.nri",
    "io.containerd.snapshotter.v1.blockfile",
    "io.containerd.snapshotter.v1.btrfs",
    "io.containerd.snapshotter.v1.devmapper",
    "io.containerd.snapshotter.v1.erofs",
    "io.containerd.snapshotter.v1.native",
    "io.containerd.snapshotter.v1.zfs",
    "io.containerd.tracing.processor.v1.otlp",
]

# `restrict_oom_score_adj`: root in a small virtual machine may lack CAP_SYS_RESOURCE, and runc fails without it.
# `netns_mounts_under_state_dir`: pods' network namespaces end with the instance's private /run.
_CONTAINERD = """version = 3
root = {root}
state = {state}
imports = []
disabled_plugins = {unused}

[grpc]
  address = {socket}

[debug]
  level = "warn"

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = {sandbox}

[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = [{programs}]
    conf_dir = {cni}
    use_internal_loopback = true

[plugins."io.containerd.internal.v1.opt"]
  path = {opt}

[plugins."io.containerd.image-verifier.v1.bindir"]
  bin_dir = {opt}
"""


def containerd(paths: NodePaths) -> str:
    """containerd's own configuration, in TOML; JSON's strings and lists are TOML's."""
    values = {
        "root": paths.containerd,
        "state": paths.containerd_state,
        "socket": paths.containerd_socket,
        "sandbox": SANDBOX_IMAGE,
        "programs": paths.programs,
        "cni": paths.config / "cni",
        "opt": paths.containerd / "opt",
    }
    return _CONTAINERD.format(
        unused=json.dumps(_UNUSED), **{key: json.dumps(str(value)) for key, value in values.items()}
    )


def cni(paths: NodePaths) -> str:
    """One bridge for all pods, addresses handed out by the node, host ports by nftables."""
    bridge = {
        "type": "bridge",
        "bridge": network.BRIDGE,
        "isDefaultGateway": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            # In the private /run, so that a restart releases all addresses.
            "dataDir": str(paths.instance.run / "addresses"),
            "ranges": [[{"subnet": paths.node.pod_cidr, "gateway": paths.node.ip}]],
        },
    }
    ports = {"type": "portmap", "backend": "nftables", "capabilities": {"portMappings": True}}
    return json.dumps({"cniVersion": "1.0.0", "name": paths.instance.namespace, "plugins": [bridge, ports]}, indent=2)


def kubelet(paths: NodePaths, count: int = 1) -> str:
    """KubeletConfiguration. Anonymous access, the read-only port and the unauthenticated health port are off.

    `count`: the nodes that share this machine.
    """
    server = str(paths.keys / f"{paths.node.of_its_own('kubelet-server')}.pem")
    config: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": paths.node.ip,
        "readOnlyPort": 0,
        "healthzPort": 0,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(paths.keys / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": server,
        "tlsPrivateKeyFile": server,
        "containerRuntimeEndpoint": f"unix://{paths.containerd_socket}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{paths.node.group.namespace}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "oomScoreAdj": 0,  # lowering it takes a capability that this root may lack
        "clusterDomain": "cluster.local",
        "clusterDNS": [paths.instance.dns_ip],
        "resolvConf": "",  # the host's name servers are out of reach from here
        # Webhook servers start only after the kubelet has refreshed their mounted certificate: a minute by default.
        "syncFrequency": "3s",
        "containerLogMaxSize": "5Mi",
        "containerLogMaxFiles": 2,
        # Absolute: with a share of a disk that others fill, it would evict pods and remove unpullable images.
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "1Gi",
            "nodefs.inodesFree": "1%",
            "imagefs.available": "1Gi",
        },
        "imageGCHighThresholdPercent": 100,
        "systemReserved": dict(nodes.reserved(count)),
        # A fork bomb would take all of the machine's process ids; TensorFlow starts some threads per processor.
        "podPidsLimit": _POD_PIDS,
        "volumePluginDir": str(paths.kubelet_root / "flexvolume"),
    }
    return yaml.safe_dump(config, sort_keys=False)


def proxy(paths: NodePaths) -> str:
    """KubeProxyConfiguration. Connection tracking keeps the kernel's limits, which belong to the whole machine."""
    config = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "hostnameOverride": paths.node.name,
        "clusterCIDR": paths.node.pod_cidr,
        "clientConnection": {"kubeconfig": str(paths.config / "proxy.kubeconfig")},
        "bindAddress": paths.node.ip,
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
        "nodePortAddresses": ["primary"],
        "oomScoreAdj": 0,
        # A service's replies come back through the node, which undoes the translation, also between pods of the bridge.
        "nftables": {"minSyncPeriod": "100ms", "masqueradeAll": True},
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
            "udpTimeout": "0s",
            "udpStreamTimeout": "0s",
        },
    }
    return yaml.safe_dump(config, sort_keys=False)
