"""A dataset's history: commits, differences, branches, labels; and deleting what no version has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tensorplane.cli.commands.data import remote
from tensorplane.cli.commands.data.remote import DatasetOptions, Remote
from tensorplane.cli.commands.data.transfer import ID_DIGITS
from tensorplane.cli.output.tables import table
from tensorplane.components.base import quantities
from tensorplane.components.base.plural import number_of
from tensorplane.components.base.problems import legible
from tensorplane.core import terminal
from tensorplane.core.errors import UserError

_MAIN = "main"


def log(opts: DatasetOptions, *, limit: int, as_json: bool) -> None:
    """Prints the newest commits."""
    with remote.opened(opts, read_only=True) as dataset:
        found = dataset.ask("log", {"reference": opts.reference or _MAIN, "limit": limit})
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        terminal.console().print(commits(found))


def commits(found: Iterable[Mapping[str, Any]]) -> Table:
    """A row per commit. A version whose files retention has deleted is in brackets."""
    rows = []
    for each in found:
        made = each["commit"]
        version = made["version"][:ID_DIGITS]
        rows.append(
            [
                made["id"][:ID_DIGITS],
                version if each["kept"] else f"({version})",
                ", ".join(map(legible, each["names"])),
                datetime.fromtimestamp(made["time"], UTC).strftime("%Y-%m-%d %H:%M:%S"),
                legible(made["author"]),
                f"{made['files']:,}",
                quantities.size(made["size"]),
                _changed(made["changed"]),
                legible(made["message"]),
            ]
        )
    headings = ["commit", "version", "names", "time (UTC)", "author", "files", "size", "changes", "message"]
    least = ["version", "author", "size", "time (UTC)"]
    return table(headings, rows, right=("files", "size"), unwrapped=("commit", "version", "time (UTC)"), least=least)


def _changed(changed: Mapping[str, int]) -> str:
    signs = (("+", "added"), ("~", "changed"), ("-", "removed"))
    return " ".join(f"{sign}{changed[key]:,}" for sign, key in signs if changed[key]) or "none"


def files(opts: DatasetOptions, pattern: str, *, as_json: bool) -> None:
    """Prints the files of a version whose paths match the pattern."""
    with remote.opened(opts, read_only=True) as dataset:
        found = dataset.ask("files", {"reference": opts.reference or _MAIN})["files"]
    is_chosen = _pattern(pattern).fullmatch
    chosen = {path: found[path] for path in sorted(found) if is_chosen(path)}
    if as_json:
        print(json.dumps(chosen, indent=2))
        return
    for line in file_lines(chosen):
        terminal.console().print(Text(line), soft_wrap=True)


def _pattern(text: str) -> re.Pattern[str]:
    """Paths with any text for `*` and any character for `?`; everything else is meant as it is written."""
    return re.compile("".join({"*": ".*", "?": "."}.get(each) or re.escape(each) for each in text), re.DOTALL)


def file_lines(found: Mapping[str, Sequence[Any]]) -> list[str]:
    """A line per file with its size, and one with how many there are."""
    sizes = {path: quantities.size(each[1]) for path, each in found.items()}
    width = max(map(len, sizes.values()), default=0)
    total = f"{len(found):,} {'file' if len(found) == 1 else 'files'}"
    total += f", {quantities.size(sum(each[1] for each in found.values()))}"
    return [*(f"{size:>{width}}  {legible(path)}" for path, size in sizes.items()), total]


def diff(opts: DatasetOptions, before: str | None, *, as_json: bool) -> None:
    """Prints the files that differ."""
    after = opts.reference or _MAIN
    with remote.opened(opts, read_only=True) as dataset:
        found = dataset.ask("diff", {"before": before or _earlier(dataset, after), "after": after})
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        for line in lines(found):
            terminal.console().print(Text(line), soft_wrap=True)


def _earlier(dataset: remote.Remote, after: str) -> str | None:
    """The commit before a reference; None before the first."""
    parents = dataset.ask("log", {"reference": after, "limit": 1})[0]["commit"]["parents"]
    return parents[0] if parents else None


def lines(found: Iterable[Sequence[Any]]) -> list[str]:
    """A line per file: + added, - removed, ~ changed, with the sizes."""
    made = []
    for path, old, new in found:
        sizes = " -> ".join(quantities.size(each[1]) for each in (old, new) if each)
        made.append(f"{'~' if old and new else '+' if new else '-'} {legible(path)} ({sizes})")
    return made or ["no file differs"]


def branch(opts: DatasetOptions, name: str | None, *, delete: bool, as_json: bool) -> None:
    """Creates, deletes or lists branches."""
    if name is None:
        if delete:
            raise UserError("--delete: names no branch; name the one to delete")
        with remote.opened(opts, read_only=True) as dataset:
            found = dataset.ask("branches")
        print(json.dumps(found, indent=2)) if as_json else terminal.console().print(_names(found))
        return
    with remote.opened(opts, read_only=False) as dataset:
        made = dataset.ask("branch", {"name": name, "reference": opts.reference or _MAIN, "delete": delete})
    _say(opts, name, made, "deleted")


def _names(found: Mapping[str, Mapping[str, Any]]) -> Table:
    rows = [
        [
            legible(name),
            kind,
            each["id"][:ID_DIGITS],
            each["version"][:ID_DIGITS],
            f"{each['files']:,}",
            legible(each["message"]),
        ]
        for kind, section in (("branch", "branches"), ("label", "labels"))
        for name, each in found[section].items()
    ]
    return table(["name", "kind", "commit", "version", "files", "message"], rows, right=("files",))


def label(opts: DatasetOptions, name: str, *, move: bool, delete: bool) -> None:
    """Labels a commit, or removes the label."""
    request = {"name": name, "reference": opts.reference or _MAIN, "move": move, "delete": delete}
    with remote.opened(opts, read_only=False) as dataset:
        made = dataset.ask("label", request)
    _say(opts, name, made, "removed")


def rollback(opts: DatasetOptions, about: Mapping[str, Any]) -> None:
    """Makes an earlier version the newest again."""
    if not opts.reference:
        raise UserError(f"{opts.dataset}: names no version; add one, such as {opts.dataset}@main~1")
    with remote.opened(opts, read_only=False) as dataset:
        made = dataset.ask("rollback", {**dataset.write_request(opts.dataset), **about, "reference": opts.reference})
    _say(opts, about["branch"], made, "")


def _say(opts: DatasetOptions, name: str, made: Mapping[str, Any] | None, gone: str) -> None:
    target = f"commit {made['id'][:ID_DIGITS]}, version {made['version'][:ID_DIGITS]}" if made else gone
    terminal.console().print(Text(f"{opts.dataset}@{name}: {target}"), soft_wrap=True)


def collect_from(opts: DatasetOptions, *, now: bool) -> None:
    """Deletes it, and says how much that was."""
    if opts.reference:
        raise UserError(f"{opts.dataset}@{opts.reference}: collect takes a whole dataset; remove the reference")
    with remote.opened(opts, read_only=False) as dataset:
        collect(dataset, opts, terminal.console(), now=now)


def collect(dataset: Remote, opts: DatasetOptions, console: Console, *, now: bool) -> None:
    """The same for a dataset in a pod."""
    deleted = dataset.ask("collect", {**dataset.write_request(opts.dataset), "now": now})
    line = f"{opts.dataset}: deleted {quantities.size(deleted['bytes'])}: {number_of(deleted['objects'], 'content')}"
    if deleted["versions"]:
        line += f", {number_of(deleted['versions'], 'folder')} of versions"
    if not now:
        line += "; what was written or read in the last 24 hours stays (--now deletes what no kept version has)"
    console.print(Text(line), soft_wrap=True)
