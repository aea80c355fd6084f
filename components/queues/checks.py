"""Checks of queues, cohorts and teams: quotas that cannot be met or borrowed, unknown names, shared namespaces."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from tensorplane.components.base.problems import Key, Note, Problem, did_you_mean, unknown_name
from tensorplane.components.namespace.rules import namespace_owner
from tensorplane.components.node_groups.labels import CPU
from tensorplane.components.queues import cohort, quota
from tensorplane.components.queues.flavors import ANY, Flavor
from tensorplane.components.queues.quota import Quota
from tensorplane.components.queues.settings import ALONE, CohortArgs, QueueArgs, TeamArgs
from tensorplane.components.teams import team as teams_team

_NO_GROUPS = (("nodeGroups",),)
_KINDS, _TAINTS = 64, 8
"""Kueue's limits: flavors of a ClusterQueue, taints of a ResourceFlavor (maxItems of its CRDs in v0.18.4)."""


def find_problems(
    queues: Mapping[str, QueueArgs],
    cohorts: Mapping[str, CohortArgs],
    teams: Mapping[str, TeamArgs],
    flavors: Mapping[str, Flavor] | None,
) -> Iterator[Problem]:
    """Every problem. `flavors` is None if node groups failed validation; checks of flavors are then skipped."""
    yield from _cohorts(cohorts)
    for name, args in queues.items():
        at = ("queues", name)
        yield from _shape(at, args)
        yield from _names(at, args, cohorts, teams)
        if flavors is not None:
            yield from _kinds(at, args, flavors)
    if flavors is not None:
        yield from _taints(flavors) if queues else ()
        yield from _sums(queues, flavors)
        quotas = {name: quota.of(args, flavors) for name, args in queues.items()}
        yield from _reach(queues, quotas)
        yield from _team_gpus(queues, quotas, teams)
    yield from _namespaces(teams)


def notes(
    queues: Mapping[str, QueueArgs], teams: Collection[str], **sections: Collection[str] | None
) -> Iterator[Note]:
    """Notes about sections that only apply to queues, in a stack without queues, and about teams without one."""
    if not queues:
        for name, given in {"teams": teams, **sections}.items():
            if given:
                yield Note((name,), "is set but there are no queues, so it has no effect; declare queues, or remove it")
        return
    queued = {name for args in queues.values() for name in args.teams}
    for name in [each for each in teams if each not in queued]:
        yield Note(("teams", name), "no queue has the team, so its jobs cannot be queued; add it to teams of a queue")


def _shape(at: Key, args: QueueArgs) -> Iterator[Problem]:
    if bool(args.cpus) != bool(args.memory_gib):
        missing, given = ("memoryGib", "cpus") if args.cpus else ("cpus", "memoryGib")
        yield Problem((*at, missing), f"missing, but {given} is set; set both, or neither")
    if not any((args.cpus, args.memory_gib, *args.gpus.values(), *args.may_borrow.values())):
        yield Problem(at, "has no quota; set cpus and memoryGib, or gpus, or mayBorrow")
    for kind, count in args.lends.items():
        own = args.cpus if kind == CPU else args.gpus.get(kind, 0)
        if count > own:
            remedy = f"set {own:g} or less" if own else "remove it"
            reason = f"is {count}, but the queue's nominal quota is {own:g}; {remedy}"
            yield Problem((*at, "lends", kind), reason, given=((*at, "gpus"), (*at, "lends", kind)))


def _names(
    at: Key, args: QueueArgs, cohorts: Mapping[str, CohortArgs], teams: Mapping[str, TeamArgs]
) -> Iterator[Problem]:
    if args.cohort == ALONE:
        for key, given in (("mayBorrow", args.may_borrow), ("lends", args.lends)):
            if given:
                yield Problem(
                    (*at, key), f"is set, but cohort {ALONE} shares nothing; set another cohort, or remove it"
                )
        if args.weight is not None:
            yield Problem((*at, "weight"), f"is set, but cohort {ALONE} shares nothing; remove it")
    elif args.cohort is not None and args.cohort not in cohorts:
        yield unknown_name((*at, "cohort"), "cohort", args.cohort, [*cohorts, ALONE])
    for name in args.teams:
        if name not in teams:
            yield unknown_name((*at, "teams"), "team", name, teams)


def _kinds(at: Key, args: QueueArgs, flavors: Mapping[str, Flavor]) -> Iterator[Problem]:
    gpus = [name for name, flavor in flavors.items() if flavor.is_gpu or name == ANY]
    with_cores = [CPU for flavor in flavors.values() if not flavor.is_gpu]
    if not with_cores and (args.cpus or args.memory_gib):
        reason = "is set, but every node group has an accelerator; declare one without, or remove it"
        yield Problem((*at, "cpus"), reason, given=_NO_GROUPS)
    both = (("gpus", args.gpus), ("mayBorrow", args.may_borrow))
    any_gpus = next((f"{key} {{{ANY}: {counts[ANY]}}}" for key, counts in both if counts.get(ANY)), None)
    if ANY in flavors and any_gpus and not (args.cpus or args.may_borrow.get(CPU)):
        reason = f"missing, but {any_gpus} is set, and pods with GPUs also request CPUs"
        yield Problem((*at, "cpus"), f"{reason}; set cpus and memoryGib", given=_NO_GROUPS)
    for key, counts, known in (
        ("gpus", args.gpus, gpus),
        ("mayBorrow", args.may_borrow, [*gpus, *with_cores]),
        ("lends", args.lends, [*gpus, *with_cores]),
    ):
        for name in counts:
            if name not in known:
                yield _unknown_kind((*at, key, name), name, known)
    if (count := len(quota.of(args, flavors))) > _KINDS:
        reason = f"uses {count} flavors, but a Kueue ClusterQueue has at most {_KINDS}; split it into several queues"
        yield Problem(at, reason, given=_NO_GROUPS)


def _taints(flavors: Mapping[str, Flavor]) -> Iterator[Problem]:
    for flavor in flavors.values():
        if len(flavor.taints) > _TAINTS:
            reason = f"flavor {flavor.name} has {len(flavor.taints)} taints, including those of its nodes"
            limit = f"but a Kueue ResourceFlavor has at most {_TAINTS}; set fewer"
            yield Problem(("nodeGroups",), f"{reason}, {limit}", given=_NO_GROUPS)


def _unknown_kind(at: Key, name: str, known: Sequence[str]) -> Problem:
    if name == ANY:
        reason = f"{ANY} is for stacks without nodeGroups; use one of {', '.join(known) or 'no GPUs'}"
    elif ANY in known:
        reason = (
            f"no nodeGroups are declared, so accelerators are unknown; use {' or '.join(known)}, or declare nodeGroups"
        )
    elif not known:
        reason = "no node group has GPUs; remove it, or declare a group with GPUs"
    else:
        reason = f"unknown accelerator; choose one of {', '.join(known)}{did_you_mean(name, known)}"
    return Problem(at, reason, given=_NO_GROUPS, lacks=_NO_GROUPS[0] if ANY in known else ("nodeGroups", name))


def _sums(queues: Mapping[str, QueueArgs], flavors: Mapping[str, Flavor]) -> Iterator[Problem]:
    """Quotas above the capacity of the full node groups: Kueue would admit jobs whose pods stay pending."""
    for name, flavor in flavors.items():
        if flavor.is_gpu and flavor.gpus_max is not None:
            held = {queue: float(args.gpus.get(name, 0)) for queue, args in queues.items()}
            yield from _too_much("gpus", f"of {name}", held, flavor.gpus_max, detail=name)
        if not flavor.is_gpu and flavor.cpus_max is not None:
            cores = {queue: args.cpus for queue, args in queues.items()}
            yield from _too_much("cpus", "cores", cores, flavor.cpus_max)
        if not flavor.is_gpu and flavor.memory_gib_max is not None:
            memory = {queue: args.memory_gib for queue, args in queues.items()}
            yield from _too_much("memoryGib", "GiB", memory, flavor.memory_gib_max)


def _too_much(key: str, unit: str, held: Mapping[str, float], most: float, detail: str = "") -> Iterator[Problem]:
    total = sum(held.values())
    if total <= most:
        return
    holders = {queue: count for queue, count in held.items() if count}
    largest = max(holders, key=lambda queue: holders[queue])
    parts = ", ".join(f"{queue} {count:g}" for queue, count in holders.items())
    rest = most - (total - holders[largest])
    remedy = f"set {rest:g} or less here" if rest > 0 else "lower them"
    reason = f"the queues' quotas are {total:g} {unit} ({parts}), but the node groups have at most {most:g}"
    at = ("queues", largest, key, *([detail] if detail else []))
    others = tuple(("queues", queue) for queue in holders)
    yield Problem(at, f"{reason}; {remedy}, or raise max of a node group", given=(*_NO_GROUPS, *others))


def _reach(queues: Mapping[str, QueueArgs], quotas: Mapping[str, list[Quota]]) -> Iterator[Problem]:
    """Borrowing limits above what the other queues lend."""
    lends = cohort.root_cohort(queues, quotas)
    for name, args in queues.items():
        if args.cohort == ALONE:
            continue
        for flavor, kind in ((held.flavor, kind) for held in quotas[name] for kind in held.flavor.quota_keys):
            if not args.may_borrow.get(kind):
                continue
            most = lends.borrowable(name, flavor.name).of_key(kind)
            if most == 0:
                reason = f"is {args.may_borrow[kind]}, but no queue of its cohort lends {kind}; remove it"
            elif args.may_borrow[kind] > most:
                lenders = lends.lenders(name, flavor.name).items()
                parts = ", ".join(f"{queue} {lent.of_key(kind):g}" for queue, lent in lenders if lent.of_key(kind))
                reason = (
                    f"is {args.may_borrow[kind]}, but the other queues lend {most:g} ({parts}); set {most:g} or less"
                )
            else:
                continue
            given = (*_NO_GROUPS, ("queues",), ("cohorts",))
            yield Problem(("queues", name, "mayBorrow", kind), reason, given=given)


def _team_gpus(
    queues: Mapping[str, QueueArgs], quotas: Mapping[str, list[Quota]], teams: Mapping[str, TeamArgs]
) -> Iterator[Problem]:
    """Limits of teams above what their queues offer, which would limit nothing."""
    for name, args in teams.items():
        most = teams_team.gpus_at_most(queues, quotas, name)
        if args.gpus is not None and args.gpus > most:
            remedy = f"set {most} or less" if most else "give a queue of the team GPUs"
            reason = f"is {args.gpus}, but the queues of team {name} offer {most}; {remedy}, or remove it"
            yield Problem(("teams", name, "gpus"), reason, given=(*_NO_GROUPS, ("queues",)))
        if args.budget and not most:
            reason = f"is set, but the queues of team {name} have no GPUs; give a queue of the team GPUs, or remove it"
            yield Problem(("teams", name, "budget"), reason, given=(*_NO_GROUPS, ("queues",)))


def _cohorts(cohorts: Mapping[str, CohortArgs]) -> Iterator[Problem]:
    for name, args in cohorts.items():
        at = ("cohorts", name)
        if name == ALONE:
            yield Problem(at, f"{ALONE} is reserved for queues without a cohort; use another name")
        if args.parent is not None and args.parent not in cohorts:
            yield unknown_name((*at, "parent"), "cohort", args.parent, cohorts)
        elif circle := _circle(name, cohorts):
            yield Problem(
                (*at, "parent"),
                f"the cohorts form a cycle ({' in '.join(circle)}); set a parent that is not inside this cohort",
                lacks=("cohorts", *sorted(set(circle))),
            )


def _circle(name: str, cohorts: Mapping[str, CohortArgs]) -> list[str]:
    """The cycle of parents that contains this cohort; empty if there is none."""
    chain = [name]
    while (parent := cohorts[chain[-1]].parent) is not None and parent in cohorts:
        if parent in chain:
            return [*chain, parent] if parent == name else []
        chain.append(parent)
    return []


def _namespaces(teams: Mapping[str, TeamArgs]) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for name, args in teams.items():
        other = first.setdefault(args.namespace or name, name)
        if owner := namespace_owner(args.namespace or name):
            at = ("teams", name, "namespace") if args.namespace else ("teams", name)
            yield Problem(at, f"{args.namespace or name} is {owner}; use a namespace of the team's own")
        elif other != name:
            reason = f"namespace {args.namespace or name} belongs to team {other}; use another"
            yield Problem(("teams", name, "namespace"), reason, given=(("teams", other),))


def of_stacks_namespace(teams: Iterable[tuple[str, TeamArgs]], namespace: str) -> Iterator[Problem]:
    """Teams in the stack's own namespace, which already has every queue."""
    for name, args in teams:
        # A team with the name of the stack's namespace would replace it in maps by owner.
        if namespace in (name, args.namespace or name):
            yield Problem(
                ("teams", name),
                f"{namespace} is the namespace of the stack, which already has every queue; use another",
            )
