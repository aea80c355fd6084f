"""What is wrong with the settings of an AKS cluster, its network apart."""

import importlib.util
import re
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pulumi

from components import allowed_cidrs, catalog, offered
from components.faults import Fault, did_you_mean
from components.model import is_name

if TYPE_CHECKING:
    from components.cluster.aks import Aks

_SDK = "pulumi_azure_native"
_NAME_LIMIT = 54
_NAME_NEEDS = f"lower-case letters, digits and dashes, beginning with a letter, at most {_NAME_LIMIT} characters"
_VERSION = re.compile(r"1\.(\d{2})(?:\.(\d+))?", re.ASCII)
_NODES_BEHIND = 3
ZONES = ("1", "2", "3")
# learn.microsoft.com/azure/azure-resource-manager/management/tag-resources#limitations; storage accounts take 128.
_TAG_KEY_LIMIT, _TAG_VALUE_LIMIT, _TAGS_LIMIT = 128, 256, 40
_RESERVED_TAGS = ("microsoft", "azure", "windows", "aks-managed-", "hidden-")


def faults(args: "Aks") -> Iterator[Fault]:
    """Every fault, a line each."""
    if importlib.util.find_spec(_SDK) is None:
        reason = "aks needs Azure's SDK, which most stacks do without: python -m pip install -r requirements-aks.txt"
        yield Fault(("cluster", "kind"), reason)
    yield from _name(args)
    yield from _region(args)
    if args.subscription and not _is_uuid(args.subscription):
        need = "need a subscription's id, such as 3f2504e0-4f89-41d3-9a0c-0305e82c3301 (az account list)"
        yield Fault(("cluster", "subscription"), f"got {args.subscription!r}, {need}")
    yield from _versions(args)
    yield from _zones(args)
    yield from _maps(args)
    if not args.network.subnet:
        yield from allowed_cidrs.unreachable(args.endpoint, network="VNet", existing="network.subnet")


def _name(args: "Aks") -> Iterator[Fault]:
    name = args.cluster_name
    if not is_name(name) or len(name) > _NAME_LIMIT:
        found = f"got {name!r}" if args.name else f"missing, and stack {pulumi.get_stack()!r} would make it {name}"
        yield Fault(("cluster", "name"), f"{found}; need {_NAME_NEEDS}")


def _region(args: "Aks") -> Iterator[Fault]:
    known = catalog.regions("aks")
    if known and args.region not in known:
        plain = args.region.lower().replace(" ", "")
        near = did_you_mean(plain, known)
        yield Fault(("cluster", "region"), f"no location {args.region!r}, have {', '.join(sorted(known))}{near}")


def _versions(args: "Aks") -> Iterator[Fault]:
    control, nodes = _minor(args.version), _minor(args.node_version or args.version)
    for key, found, value in (("version", control, args.version), ("nodeVersion", nodes, args.node_version)):
        if value and found is None:
            yield Fault(("cluster", key), f"got {value!r}, need a Kubernetes version, such as 1.35 or 1.35.2")
    if control is None or nodes is None:
        return
    for key, value, number in (("version", args.version, control), ("nodeVersion", args.node_version, nodes)):
        if value and (wrong := offered.problem("aks", number)):
            yield Fault(("cluster", key), f"{value} {wrong}")
            return
    given = (("cluster", "version"),)
    if not 0 <= control - nodes <= _NODES_BEHIND:
        reason = f"got {args.node_version} with version {args.version}, need 1.{control - _NODES_BEHIND} to 1.{control}"
        yield Fault(("cluster", "nodeVersion"), reason, given=given)
    elif args.node_version and control == nodes and _patch(args.node_version) > _patch(args.version) >= 0:
        reason = f"got {args.node_version}, and the control plane's version is {args.version}: need {args.version}"
        yield Fault(("cluster", "nodeVersion"), reason, given=given)
    for key, value in (("version", args.version), ("nodeVersion", args.node_version or "")):
        if args.upgrades == "patch" and _patch(value) >= 0:
            minor = value.rsplit(".", 1)[0]
            reason = f"got {value}, and upgrades is patch, which would leave it: need {minor}, or upgrades: none"
            yield Fault(("cluster", key), reason, given=(("cluster", "upgrades"),))


def _minor(version: str) -> int | None:
    found = _VERSION.fullmatch(version)
    return int(found[1]) if found else None


def _patch(version: str) -> int:
    """The patch release; -1 where the version leaves it open, which is the latest."""
    found = _VERSION.fullmatch(version)
    return int(found[2]) if found and found[2] else -1


def _zones(args: "Aks") -> Iterator[Fault]:
    known = catalog.zones("aks", args.region) or ZONES
    zones = args.zones or ()
    for zone in zones:
        if zone not in known:
            yield Fault(("cluster", "zones"), f"got {zone!r}, need {', '.join(known)}{did_you_mean(zone, known)}")
    if len(set(zones)) != len(zones):
        yield Fault(("cluster", "zones"), f"got {', '.join(zones)}, need each zone once")


def _maps(args: "Aks") -> Iterator[Fault]:
    for name, group in args.admins.items():
        if not _is_uuid(group):
            need = "need the object id of an Entra group, such as 3f2504e0-4f89-41d3-9a0c-0305e82c3301"
            yield Fault(("cluster", "admins", name), f"got {group!r}, {need}")
    yield from _tags(args)


def _tags(args: "Aks") -> Iterator[Fault]:
    path = ("cluster", "tags")
    if len(args.tags) > _TAGS_LIMIT:
        reason = f"{len(args.tags)} of them, and Azure takes 50, some of which are tensorplane's and AKS'"
        yield Fault(path, f"{reason}; leave at most {_TAGS_LIMIT}")
    for key, value in args.tags.items():
        if key.lower().startswith(_RESERVED_TAGS):
            yield Fault((*path, key), "a tag that Azure sets: need another key")
        elif re.search(r"[<>%&\\?/]", key):
            yield Fault((*path, key), "not a tag in Azure: need a key without < > % & \\ ? /")
        for what, text, limit in (("key", key, _TAG_KEY_LIMIT), ("value", value, _TAG_VALUE_LIMIT)):
            if len(text) > limit:
                yield Fault((*path, key), f"the {what} has {len(text)} characters; Azure takes at most {limit}")


def _is_uuid(value: str) -> bool:
    try:
        return str(uuid.UUID(value)) == value.lower()
    except ValueError:
        return False
