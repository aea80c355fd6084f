"""Checks of the EKS add-ons in the settings."""

import re
from collections.abc import Iterator

from tensorplane.components import versions
from tensorplane.components.base.problems import Problem, did_you_mean
from tensorplane.components.clusters.eks.settings import EksSettings

ADDONS_BEFORE_NODES = ("vpc-cni", "kube-proxy", "eks-pod-identity-agent")
ADDONS_AFTER_NODES = ("coredns", "aws-ebs-csi-driver", "snapshot-controller", "eks-node-monitoring-agent")
ADDONS_OF_VOLUMES = ("aws-efs-csi-driver", "aws-fsx-csi-driver", "aws-mountpoint-s3-csi-driver")
"""Installed if a volume requires them; without a version in the settings, EKS chooses one."""
DEFAULT = "default"
"""Value for the default version of EKS."""

_VERSION = re.compile(r"v1\.(\d{1,4})\.\d+-eksbuild\.\d+|v\d+\.\d+\.\d+-eksbuild\.\d+")
_EXAMPLE = "v1.14.3-eksbuild.3"
_PROXY = "kube-proxy"
_PROXY_BEHIND = 3


def find_problems(args: EksSettings) -> Iterator[Problem]:
    """Every problem, a line each."""
    known = (*ADDONS_BEFORE_NODES, *ADDONS_AFTER_NODES, *ADDONS_OF_VOLUMES)
    for name, version in args.addons.items():
        path = ("cluster", "addons", name)
        written = _VERSION.fullmatch(version)
        if name not in known:
            yield Problem(path, f"unknown add-on; choose one of {', '.join(known)}{did_you_mean(name, known)}")
        elif not written and version != DEFAULT:
            like = _pinned(args, name) or _EXAMPLE
            yield Problem(path, f"{version!r} is not a version of an EKS add-on; use {DEFAULT}, or one such as {like}")
        elif name == _PROXY and written:
            yield from _skew(path, args, written)


def _skew(path: tuple[str, ...], args: EksSettings, written: re.Match[str]) -> Iterator[Problem]:
    """Problem of a kube-proxy that is newer than the API server, or more than three minor versions older."""
    minors = re.findall(r"^1\.(\d{1,4})$", args.version)
    if not minors:
        return
    newest = int(minors[0])
    if written[1] is None or not newest - _PROXY_BEHIND <= int(written[1]) <= newest:
        near = _pinned(args, _PROXY) or DEFAULT
        reason = (
            f"{written[0]} does not work with Kubernetes {args.version}; use v1.{newest - _PROXY_BEHIND} to v1.{newest}"
        )
        yield Problem(path, f"{reason}, such as {near}", given=(("cluster", "version"),))


def _pinned(args: EksSettings, name: str) -> str | None:
    return versions.EKS_ADDONS.get(args.version, {}).get(name)
