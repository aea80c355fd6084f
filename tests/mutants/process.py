"""Changes of what goes into pods: commands, variables, files, mounts, resources, and what leads pods to machines."""

from __future__ import annotations

from tests.mutants.places import At, each_value, put, value_at
from tests.mutants.structure import Change, World
from tests.mutants.values import VALUES


def _jobs(world: World, kind: str | None = "trainingJob") -> list[str]:
    found = world.tree.get("workloads")
    pairs = found.items() if isinstance(found, dict) else ()
    return [name for name, body in pairs if isinstance(body, dict) and kind in (None, body.get("kind"))]


def command(world: World) -> tuple[At, str] | None:
    if not (jobs := _jobs(world)):
        return None
    at: At = ("workloads", world.chance.choice(jobs), "command")
    made = world.chance.choice(VALUES["commands"])
    put(world.tree, at, list(made))
    return at, f"{made!r:.120}"


def variable(world: World) -> tuple[At, str] | None:
    if not (jobs := _jobs(world)):
        return None
    at: At = ("workloads", world.chance.choice(jobs), "env")
    name = world.chance.choice(list(VALUES["variables"]))
    job = value_at(world.tree, at[:-1])
    env = job.setdefault("env", {})
    if not isinstance(env, dict):
        return None
    env[name] = VALUES["variables"][name]
    return (*at, name), f"{VALUES['variables'][name]!r:.90}"


def path(world: World) -> tuple[At, str] | None:
    """An odd path wherever there is one, or where a volume may have one."""
    found = [
        at for at, value in each_value(world.tree) if at[-1] in ("path", "folder", "prefix") and isinstance(value, str)
    ]
    found += [at for at, _ in each_value(world.tree) if at[0] == "workloads" and len(at) == 4 and at[2] == "volumes"]
    found += [("volumes", name, "path") for name in world.names("volumes")]
    if not found:
        return None
    at = world.chance.choice(found)
    made = world.chance.choice(VALUES["paths"])
    if world.chance.random() < 0.4:
        made = made.lstrip("/") if made.startswith("/") else f"/{made}"
    value_at(world.tree, at[:-1])[at[-1]] = made
    return at, f"{made!r:.90}"


def files(world: World) -> tuple[At, str] | None:
    if not (jobs := _jobs(world)):
        return None
    name = world.chance.choice(jobs)
    target = world.chance.choice(list(VALUES["files"]))
    job = value_at(world.tree, ("workloads", name))
    if not isinstance(job.setdefault("files", {}), dict):
        return None
    job["files"][target] = VALUES["files"][target]
    return ("workloads", name, "files", target), f"{VALUES['files'][target]!r}"


def resources(world: World) -> tuple[At, str] | None:
    """Other resources for a workload, whole or in part."""
    if not (names := _jobs(world, None)):
        return None
    at: At = ("workloads", world.chance.choice(names), "resources")
    body = value_at(world.tree, at[:-1])
    was = body.get("resources") if world.chance.random() < 0.6 else None
    made = {**(was if isinstance(was, dict) else {}), **world.chance.choice(VALUES["resources"])}
    body["resources"] = made
    return at, f"{made!r}"


def hardware(world: World) -> tuple[At, str] | None:
    """Another way to hold, share or place a group's machines."""
    if not (names := world.names("nodeGroups")):
        return None
    name = world.chance.choice(names)
    group = world.tree["nodeGroups"][name]
    if not isinstance(group, dict):
        return None
    made = world.chance.choice(VALUES["machines"])
    group.update(made)
    return ("nodeGroups", name), f"{made!r}"


CHANGES: dict[str, Change] = {
    change.__name__: change for change in (command, variable, path, files, resources, hardware)
}
