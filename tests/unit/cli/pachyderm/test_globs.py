"""Glob patterns in the shells of images, against a plain model of what they match in Pachyderm."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tensorplane.cli.pachyderm import datum
from tensorplane.cli.pachyderm.globs import Glob
from tests.support import counts

_SHELLS = ["dash", "bash"]
_NAMES = [
    "a",
    "b",
    "ab",
    "a1.csv",
    "b.csv",
    ".a",
    "..a",
    ".csv",
    "a b",
    "it's",
    "-n",
    "B",
    "7",
    "[a]",
    "$x",
    "~",
    "a\\nb",
]
_PIECES = [
    ("a", "a"),
    ("b", "b"),
    (".csv", r"\.csv"),
    ("'s", "'s"),
    (" ", " "),
    ("$", r"\$"),
    (r"\*", r"\*"),
    (r"\[", r"\["),
    ("]", r"\]"),
    ("*", "[^/]*"),
    ("*", "[^/]*"),
    ("?", "[^/]"),
    ("**", ".*"),
    ("[a-c]", "[a-c]"),
    ("[!a]", "[^a]"),
    ("[a^]", "[^a]"),
    ("[!b/]", "[^b/]"),
    (r"[\]a ]", r"[\]a ]"),
    ("[.0-9]", "[.0-9]"),
    ("[[:digit:]]", "[0-9]"),
    ("[[:alpha:]7]", "[A-Za-z7]"),
    ("[^[:upper:]]", "[^A-Z]"),
]
"""Parts of patterns, and the regular expressions that they are in Pachyderm."""
_GROUPS = [("(", "{}"), ("@(", "{}"), ("?(", "{}?"), ("*(", "{}*"), ("+(", "{}+"), ("{{", "{}")]


def _drawn(draw: random.Random, nested: int = 1) -> tuple[str, str]:
    """A pattern without slashes, and its regular expression."""
    text = expression = ""
    for _ in range(draw.randint(1, 3)):
        if nested and draw.random() < 0.3:
            opened, repeated = draw.choice(_GROUPS)
            ways = [_drawn(draw, nested - 1) for _ in range(draw.randint(1, 2))]
            brace = opened == "{{"
            more = ("," if brace else "|").join(way for way, _ in ways)
            more = f"{{{more}}}" if brace else f"{opened}{more})"
            found = more, repeated.format(f"(?:{'|'.join(way for _, way in ways)})")
        else:
            found = draw.choice(_PIECES)
        # A star before a star or a parenthesis is another sign.
        if not (text[-1:] in ("*", "?") and found[0][0] in "*("):
            text, expression = text + found[0], expression + found[1]
    return text, expression


def _worked_on(glob: str, paths: Sequence[str], shell: str, tmp_path: Path) -> list[bool] | None:
    """Whether a program works on the parts with these files; None if the shell has no such pattern."""
    script = []
    for number, path in enumerate(paths):
        folder = tmp_path / f"{number}" / "x"
        lines = datum.matching(f"{folder}", Glob(glob))
        if lines is None:
            return None
        script += ["(", *lines, f"echo {number}", ")"]
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()
    done = subprocess.run([shell, "-c", "\n".join(script)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    worked = done.stdout.split()
    return [f"{number}" in worked for number in range(len(paths))]


def _datums(expression: str, path: str, split: str) -> bool:
    """Whether a file is in a datum: it matches, or a folder that it is in; only at the top for parts by folder."""
    names = path.split("/")
    above = ["/" + "/".join(names[:count]) for count in range(1, len(names) + 1)]
    return any(re.fullmatch(expression, one, re.DOTALL) for one in (above[:1] if split == "directory" else above))


@pytest.mark.counted
@pytest.mark.parametrize("shell", _SHELLS)
def test_parts_that_the_shell_works_on_are_those_that_match_in_pachyderm(shell: str, tmp_path: Path) -> None:
    draw = random.Random(f"globs {counts.shard()}")
    total = counts.of(quick=60, nightly=3000)
    known = 0
    for number in range(total):
        drawn = [_drawn(draw) for _ in range(draw.randint(1, 2))]
        glob = "".join(f"/{text}" for text, _ in drawn)
        expression = "".join(f"/{each}" for _, each in drawn)
        paths = ["/".join(draw.choices(_NAMES, k=draw.randint(1, 3))) for _ in range(6)]
        worked = _worked_on(glob, paths, shell, tmp_path / f"{number}")
        known += worked is not None
        expected = [_datums(expression, path, Glob(glob).split) for path in paths]
        assert worked in (None, expected), (glob, paths)
    assert known > total / 3


@pytest.mark.parametrize("shell", _SHELLS)
@pytest.mark.parametrize(
    ("glob", "matching", "others"),
    [
        ("/*.csv", ["a.csv", ".hidden.csv", "d.csv/x"], ["a.txt", "d/a.csv"]),
        ("/*", ["a", ".hidden", "..x", "a\nb", "d/e"], []),
        ("/*/", ["a", "d/e"], []),
        ("d/*", ["d/e", "d/.e", "d/e/f"], ["e", "e/d", "d"]),
        ("/*/*", [".d/f", "d/.f"], ["f"]),
        ("/[[:digit:]]*.csv", ["7a.csv"], ["a7.csv", ":.csv"]),
        ("/[a-c]*", ["b"], ["B", "d"]),
        ("/[a!b]", ["c", "!"], ["a", "b"]),
        ("/{a,b}?(.csv)", ["a", "b.csv"], ["c", "a.csv.csv"]),
        ("/(a|b)*.txt", ["a1.txt"], ["c.txt"]),
        ("/it's [ x]*", ["it's  1", "it's x"], ["its x"]),
        ("/$x\\*", ["$x*"], ["$xy"]),
        ("/~*", ["~a"], ["a"]),
        ("/x[!a/]y", ["xby"], ["xay", "x/y"]),
    ],
)
def test_globs_match_the_same_parts(
    glob: str, matching: list[str], others: list[str], shell: str, tmp_path: Path
) -> None:
    worked = _worked_on(glob, [*matching, *others], shell, tmp_path)
    assert worked == [True] * len(matching) + [False] * len(others)


@pytest.mark.parametrize(
    "glob",
    [
        "/*(a|b)*",
        "/+(a)",
        "/!(a)",
        "/^(a)",
        "/**/a.csv",
        "/a@b",
        "/[a",
        "/[]a]",
        "/[z-a]",
        "/[[:nothing:]]",
        "/(a|{b,c})",
        "/{a,b",
        "/{a/b,c}",
        "/a[!b]c",
        "/a)",
        "/[à-é]",
        "/a\\",
        "/(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)",
    ],
)
def test_a_pattern_without_an_equal_is_no_pattern_of_the_shell(glob: str) -> None:
    assert Glob(glob).for_shell("") is None


@pytest.mark.parametrize("shell", _SHELLS)
@pytest.mark.parametrize(
    ("path", "split", "found"),
    [
        (".hidden", "directory", ".hidden"),
        ("a\\nb", "directory", "a\\nb"),
        ("a\n", "directory", "a\n"),
        ("..d/e", "directory", "..d"),
        ("-n", "directory", "-n"),
        (".d/e/..f\n", "file", ".d/e/..f\n"),
        ("a b/*", "file", "a b/*"),
    ],
)
def test_the_variable_of_an_input_has_the_path_of_its_part(
    path: str, split: str, found: str, shell: str, tmp_path: Path
) -> None:
    (tmp_path / "x" / path).parent.mkdir(parents=True)
    (tmp_path / "x" / path).touch()
    script = [*datum.path("x", f"{tmp_path / 'x'}", split, Glob("/*")), 'printf %s "$x"']
    done = subprocess.run([shell, "-c", "\n".join(script)], capture_output=True, text=True, check=True)
    assert done.stdout == f"{tmp_path}/x/{found}"
