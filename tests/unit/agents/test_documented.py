"""The table of agents in the documentation has the rights that the stacks give them: `UPDATE_GOLDEN=1` writes it."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from tensorplane.components.agent.health import OUTAGES
from tests.support import goldens
from tests.support.rendering import PROJECT

PAGE = PROJECT / "docs/agents.md"
_TABLE = re.compile(r"(?<=<!-- AGENTS: BEGIN -->\n).*(?=<!-- AGENTS: END -->)", re.DOTALL)

Row = Mapping[str, Any]
Rights = Mapping[tuple[str, str, bool], set[str]]
"""Verbs by where they hold, the resource, and whether only of objects with certain names."""


def table() -> str:
    """A row for each agent, by name."""
    found = _rights()
    rows = [("agent", "may", "while it does not work"), ("---",) * 3]
    rows += [(f"`{name}`", _text(found.get(name, {})), outage) for name, outage in sorted(OUTAGES.items())]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _text(rights: Rights) -> str:
    parts = [
        f"{', '.join(sorted(verbs))} `{resource}` ({'by name, ' if named else ''}{where})"
        for (where, resource, named), verbs in sorted(rights.items())
    ]
    return "<br>".join(parts) or "nothing: it has no token"


def _rights() -> dict[str, Rights]:
    found: dict[str, dict[tuple[str, str, bool], set[str]]] = defaultdict(lambda: defaultdict(set))
    for stack in goldens.STACKS:
        rows = goldens.rows(stack)
        for program, account in _accounts(rows):
            for where, rule in _rules(rows, account):
                for resource in rule["resources"]:
                    found[program][where, resource, bool(rule.get("resourceNames"))].update(rule["verbs"])
    return dict(found)


def _accounts(rows: list[goldens.Row]) -> Iterator[tuple[str, str]]:
    """The programs of a stack's agents, and their service accounts."""
    for pod in _pods(rows):
        command = pod["containers"][0].get("command") or []
        if command[:2] == ["python3", "-m"] and str(command[2]).startswith("agents."):
            yield str(command[2]).removeprefix("agents."), str(pod.get("serviceAccountName", ""))


def _pods(rows: list[goldens.Row]) -> Iterator[Row]:
    for row in rows:
        if row["type"] == "kubernetes:batch/v1:CronJob":
            yield row["inputs"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        elif row["type"] in ("kubernetes:apps/v1:Deployment", "kubernetes:batch/v1:Job"):
            yield row["inputs"]["spec"]["template"]["spec"]


def _rules(rows: list[goldens.Row], account: str) -> Iterator[tuple[str, Row]]:
    """Where each rule of an account holds, and the rule."""
    for row in rows:
        if _kind(row) not in ("RoleBinding", "ClusterRoleBinding"):
            continue
        subjects = row["inputs"].get("subjects") or ()
        if all(one.get("name") != account for one in subjects):
            continue
        reference, place = row["inputs"]["roleRef"], row["inputs"]["metadata"].get("namespace")
        where = "cluster" if reference["kind"] == "ClusterRole" else "namespace"
        for role in rows:
            about = role["inputs"].get("metadata", {})
            if (_kind(role), about.get("name"), about.get("namespace")) == (
                reference["kind"],
                reference["name"],
                place,
            ):
                yield from ((where, rule) for rule in role["inputs"]["rules"])


def _kind(row: goldens.Row) -> str:
    return str(row["type"]).rpartition(":")[2]


def test_the_table_is_of_the_rights_that_agents_have() -> None:
    text, wanted = PAGE.read_text(), table()
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(text := _TABLE.sub(lambda _: wanted, text))
    assert _TABLE.findall(text) == [wanted], "out of date: UPDATE_GOLDEN=1 pytest tests/unit/agents/test_documented.py"


def test_each_agent_that_acts_alone_may_write_its_lease_and_no_other() -> None:
    for stack in goldens.STACKS:
        rows = goldens.rows(stack)
        leases = {row["inputs"]["metadata"]["name"] for row in rows if _kind(row) == "Lease"}
        written = {
            name
            for row in rows
            for rule in (row["inputs"].get("rules") or () if _kind(row) == "Role" else ())
            if "leases" in rule["resources"] and "patch" in rule["verbs"]
            for name in rule["resourceNames"]
        }
        assert written == leases
