"""Each `pulumi` command that the documentation shows has a subcommand and flags of the CLI that is used here."""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tensorplane import toolchain
from tests.support.documented import PAGES, commands, parsed

_USAGE = re.compile(r"^Usage:\n  pulumi ?([a-z -]*?)(?: [\[<(].*)?$", re.MULTILINE)
_FLAG = re.compile(r"^ +(?:(-\w), )?(--[a-z-]+)", re.MULTILINE)
_SUBCOMMAND = re.compile(r"^ +([a-z-]+) +[A-Z\[]", re.MULTILINE)


@dataclass(frozen=True)
class Help:
    """What `pulumi … --help` says: the subcommand that it is about, its flags, and the subcommands below it."""

    path: tuple[str, ...]
    flags: frozenset[str]
    below: frozenset[str]


@functools.cache
def _help(words: tuple[str, ...]) -> Help:
    argv = [str(toolchain.tools().path("pulumi")), *words, "--help"]
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode and len(words) > 0:
        # What is no subcommand of pulumi itself is an error there; deeper, it is its parent's help.
        return _help(())
    usage = _USAGE.search(said := done.stdout)
    assert usage, done
    listed = said[usage.end() :].partition("\nFlags:")[0]
    flags = {flag for pair in _FLAG.findall(said) for flag in pair if flag}
    return Help(tuple(usage[1].split()), frozenset(flags), frozenset(_SUBCOMMAND.findall(listed)))


def _problems(words: tuple[str, ...]) -> Iterator[str]:
    if words[0] == "…":
        return
    before = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
    found = _help(words[:before])
    left = [word for word in words[len(found.path) : before] if re.fullmatch("[a-z-]+", word)]
    if left and found.below:
        yield f"pulumi {' '.join(words)}: no subcommand {left[0]}"
    for word in words:
        flag = word.partition("=")[0]
        if flag.startswith("-") and flag not in found.flags:
            yield f"pulumi {' '.join(words)}: no flag {flag}"


def test_every_pulumi_command_is_one() -> None:
    shown = {each.words[1:] for path in PAGES for each in commands(path.read_text()) if each.program == "pulumi"}
    assert len(shown) > 10
    assert [problem for words in sorted(shown) for problem in _problems(words)] == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("pulumi upp --stack dev", "no subcommand upp"),
        ("pulumi stack outputs", "no subcommand outputs"),
        ("pulumi up --stacks dev", "no flag --stacks"),
        ("pulumi stack output kubeconfig --show-secret", "no flag --show-secret"),
    ],
)
def test_what_is_made_up_is_found(text: str, problem: str) -> None:
    [command] = parsed(text)
    assert any(problem in found for found in _problems(command.words[1:]))
