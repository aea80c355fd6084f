"""Checks of teams' members on GKE, and of the domain of their groups.

Google names members by e-mail address, or as identities of a workforce pool.
"""

import re
from collections.abc import Iterator, Mapping

from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.clusters.gke.settings import GkeSettings

DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")
_EMAIL = re.compile(rf"[^\s@:/A-Z]+@{DOMAIN.pattern}")
_FEDERATED = re.compile(r"user:principal://\S+|group:principalSet://\S+")
_SERVICE_ACCOUNT = re.compile(r"\S+@\S+\.gserviceaccount\.com")


def is_email(name: str) -> bool:
    """Whether this is an e-mail address as GKE and IAM write it, in lower case."""
    return _EMAIL.fullmatch(name) is not None


def is_federated(member: str) -> bool:
    """Whether this is an identity of a workforce pool: `user:principal://…` or `group:principalSet://…`."""
    return _FEDERATED.fullmatch(member) is not None


def in_iam(member: str) -> str:
    """IAM's name of a member, `group:NAME` or `user:NAME`."""
    name = member.partition(":")[2]
    if is_federated(member):
        return name
    return f"serviceAccount:{name}" if _SERVICE_ACCOUNT.fullmatch(name) else member


_DOMAIN = ("cluster", "groupsDomain")


def find_problems(args: GkeSettings, members: Mapping[Key, str]) -> Iterator[Problem]:
    """Every problem of members, a line each."""
    groups: dict[Key, str] = {}
    for path, member in members.items():
        kind, _, name = member.partition(":")
        if is_federated(member):
            continue
        if not is_email(name):
            lower = name.lower()
            near = f" (did you mean {kind}:{lower}?)" if is_email(lower) else ""
            reason = f"{name!r} is not an e-mail address in lower case, by which GKE knows users and groups"
            yield Problem(path, f"{reason}; use one such as {kind}:vision@example.com{near}")
        elif kind == "group":
            groups[path] = name
    yield from _of_domain(args, groups)


def _of_domain(args: GkeSettings, groups: Mapping[Key, str]) -> Iterator[Problem]:
    if groups and args.groups_domain is None:
        first = next(iter(groups.values()))
        domain = first.rpartition("@")[2]
        reason = f"missing, but GKE looks up groups such as {first} only in the domain that it names"
        yield Problem(_DOMAIN, f"{reason}; set {domain}, and add the groups to gke-security-groups@{domain}")
        return
    for path, name in groups.items():
        if name.rpartition("@")[2] != args.groups_domain:
            reason = f"{name} is not a group of {args.groups_domain}, the only domain in which GKE looks up groups"
            remedy = "use a group of that domain, or another cluster.groupsDomain"
            yield Problem(path, f"{reason}; {remedy}", given=(_DOMAIN,))


def of_domain(args: GkeSettings) -> Iterator[Problem]:
    """Problems of the domain itself."""
    if args.groups_domain is not None and not DOMAIN.fullmatch(args.groups_domain):
        nearest = args.groups_domain.rpartition("@")[2].lower()
        near = f" (did you mean {nearest}?)" if DOMAIN.fullmatch(nearest) else ""
        yield Problem(_DOMAIN, f"{args.groups_domain!r} is not a domain; use one such as example.com{near}")
