"""A stack's file is read as Pulumi reads it: yaml.v3's scalars, its refusals, and nothing ends in a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tensorplane import stack_file
from tensorplane.stack_file import ENCRYPTED, StackFile, Unreadable, file_problems

SPELLINGS: dict[str, Any] = {
    "yes": "yes",
    "no": "no",
    "on": "on",
    "n": "n",
    "true": True,
    "FALSE": False,
    "tRue": "tRue",
    "~": None,
    "": None,
    "22:00": "22:00",
    "190:20:30": "190:20:30",
    "1_000": 1000,
    "0755": 493,
    "0o17": 15,
    "0x1F": 31,
    "-0b11": -3,
    "08": 8,
    "1.10": 1.1,
    "1.0": 1,
    ".5": 0.5,
    "1e3": 1000,
    "1e400": "1e400",
    "_1": "_1",
    "+": "+",
    "1.2.3": "1.2.3",
    "2026-13": "2026-13",
    "=": "=",
    "'1.10'": "1.10",
    '"no"': "no",
    "!!str 5": "5",
    "[1, no]": [1, "no"],
    "{no: 1, 3: 2}": {"no": 1, "3": 2},
    "{<<: {a: 1, b: 1}, b: 2}": {"a": 1, "b": 2},
    "{secure: 1}": {"secure": 1},
    "{secure: abcd}": ENCRYPTED,
    "{a: {secure: abcd}, secure: x}": {"a": ENCRYPTED, "secure": "x"},
}
"""What Pulumi makes of values. `tests/hosts/test_reading.py` asks it."""


def read(folder: Path, text: str | bytes) -> StackFile:
    file = folder / "Pulumi.dev.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return stack_file.read(file)


def problems(folder: Path, text: str | bytes) -> list[str]:
    """The lines about a file."""
    try:
        found = read(folder, text)
        return file_problems.lines(found.name, found.problems)
    except Unreadable as error:
        return [str(error)]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_value_is_what_pulumi_makes_of_it(tmp_path: Path, spelling: str) -> None:
    found = read(tmp_path, f"config:\n  tensorplane:x:\n    k: {spelling}\n")
    assert not found.problems
    made = found.config["tensorplane:x"]["k"]
    assert made == SPELLINGS[spelling]
    assert type(made) is type(SPELLINGS[spelling])


def test_a_scalar_of_its_own_is_a_text(tmp_path: Path) -> None:
    text = "config:\n  a: 1.10\n  tensorplane:b: no\n  tensorplane:config:c: true\n  d:\n"
    expected = {"tensorplane:a": "1.1", "tensorplane:b": "no", "tensorplane:c": "true", "tensorplane:d": ""}
    assert read(tmp_path, text).config == expected


def test_numbers_whose_text_is_lost_are_remembered(tmp_path: Path) -> None:
    found = read(tmp_path, "config:\n  x:\n    a: {b: 1.10, c: 1.5, d: '1.10'}\n    e: [0755]\n")
    assert found.rewritten == {("tensorplane:x", "a", "b"): "1.10", ("tensorplane:x", "e", "0"): "0755"}


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("{a: 1, a: 2}", "line 3: the key 'a' is set twice; remove one"),
        ("{a: {x: 1}, a: {y: 2}}", "line 3: the key 'a' is set twice; write the keys of both below one"),
        ("{1: a, '1': b}", "line 3: the key '1' is set twice; remove one"),
        ("{1.5: a}", "line 3: Pulumi reads the key '1.5' as another value; quote it"),
        ("{0x10: a}", "line 3: Pulumi reads the key '0x10' as another value; quote it"),
        ("{~: a}", "line 3: Pulumi reads the key '~' as another value; quote it"),
        ("2026-01-02", "line 3: Pulumi reads the value '2026-01-02' as another value; quote it"),
        (".inf", "line 3: Pulumi reads the value '.inf' as another value; quote it"),
        (".NaN", "line 3: Pulumi reads the value '.NaN' as another value; quote it"),
        ("18446744073709551616", "line 3: Pulumi reads the value '18446744073709551616' as another value"),
        ("!!float 5", "line 3: the value has a tag; remove it"),
        ("!!set {a, b}", "line 3: the value has a tag; remove it"),
        ("!!python/object/apply:os.system [id]", "line 3: the value has a tag; remove it"),
        ("1.0e+300", "line 3: Pulumi reads the value '1.0e+300' as another value; use a smaller number, or quote it"),
    ],
)
def test_what_pulumi_refuses_or_rewrites_is_a_line(tmp_path: Path, value: str, line: str) -> None:
    (found,) = problems(tmp_path, f"config:\n  tensorplane:x:\n    k: {value}\n")
    assert found.startswith(f"Pulumi.dev.yaml: {line}")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "Pulumi.dev.yaml: the file has no settings; add config:"),
        ("# nothing\n", "Pulumi.dev.yaml: the file has no settings; add config:"),
        ("- a\n", "Pulumi.dev.yaml: the file is not a map"),
        (
            "{}\n",
            "Pulumi.dev.yaml: config is missing; put the settings below it, or run `pulumi up` if a program declares"
            " them",
        ),
        ("config: []\n", "Pulumi.dev.yaml: config is not a map; put the settings below it"),
        ("config: {x: 1, tensorplane:x: 2}\n", "Pulumi.dev.yaml: 'tensorplane:x': the key is set twice, with and"),
        (
            "config: {x: *y}\n",
            "Pulumi.dev.yaml, line 1: '*y}' is an undefined alias; quote it if it is text",
        ),
        ("config: {x: &y [*y]}\n", "Pulumi.dev.yaml, line 1: an alias contains itself"),
        ("config: {? [a] : b}\n", "Pulumi.dev.yaml, line 1: a key must be text; quote it, or the value if it is a"),
        (
            "config:\n  a: {{ size }}\n",
            "Pulumi.dev.yaml, line 2: a key must be text; quote it, or the value if it is a",
        ),
        ("%YAML 3.0\n---\nconfig: {}\n", "Pulumi.dev.yaml, line 1: the %YAML directive names a version other than"),
        ("config: {<<: 1}\n", "Pulumi.dev.yaml, line 1: << takes a map, or a list of maps"),
        ("config: {a: [}\n", "Pulumi.dev.yaml, line 1: a value is missing here, or a bracket before it"),
        ("config: {}\n---\nconfig: {}\n", "Pulumi.dev.yaml, line 2: a second document begins with ---"),
        ("config: {a: \x07}\n", "Pulumi.dev.yaml, line 1: a control character (U+0007); remove it"),
        ("config: {a: é}\n".encode("latin-1"), "Pulumi.dev.yaml: the file is not UTF-8; save it as UTF-8"),
        ("config: {}\n".encode("utf-16"), "Pulumi.dev.yaml: the file is not UTF-8; save it as UTF-8"),
        (f"config: {'{a: ' * 900}1{'}' * 900}", "Pulumi.dev.yaml, line 1: nested deeper than 100 levels"),
        (f"config: {'[' * 200_000}", "Pulumi.dev.yaml, line 1: nested deeper than 100 levels"),
    ],
)
def test_a_file_that_makes_no_sense_is_one_line(tmp_path: Path, text: str | bytes, line: str) -> None:
    (found,) = problems(tmp_path, text)
    assert found.startswith(line)
    assert len(found) < 200


@pytest.mark.parametrize(
    ("below", "line", "said"),
    [
        ("  a:\n\tb: 1\n", 3, "a tab; YAML indents with spaces"),
        ("  a: @x\n", 2, "text that starts with @ must be quoted; quote it"),
        ("  a:\n   \u00a0b: 1\n    c: 1\n", 3, "a no-break space (U+00A0); type a space"),
        ("  a:\n    b:\u00a01\n    c: 1\n", 3, "a no-break space (U+00A0); type a space"),
        ("  a: 1 # so:\u00a0x\n  b: c: d\n", 3, "a second `: ` in one line; quote the value, or start a new line"),
        ("  a:\n    cpu: {}\n   gpu: {}\n", 4, "its indentation matches no line above; indent it like its sibling"),
        ("  a:\n    - x\n    b: 1\n", 4, "its indentation matches no line above; indent it like its sibling"),
        ('  a: "x" y\n', 2, "'y' follows a complete value; quote the whole value, or remove it"),
        ("  a:1\n  b: 2\n", 2, "'a:1' is not `KEY: VALUE`; write a colon and a space after the key"),
        ("  a: 1\n  b\n  c: 1\n", 3, "'b' is not `KEY: VALUE`; write a colon and a space after the key"),
        ("  a: 1\n    b: 2\n", 3, "it is indented below 'a' of line 2, which already has a value; indent it like"),
        (
            "  a: {}\nencryptionsalt: v1:x:y\n  squares:\n    kind: x\n",
            4,
            "it is indented below 'encryptionsalt' of line 3, which already has a value; "
            "move the settings of `config:` above that line",
        ),
        ('  a: "x\n  b: 1\n', 2, "the quote that starts here is not closed"),
        ("  a: {x: 1\n  b: 1\n", 3, "a comma is missing before ': 1', or the { of line 2 is not closed"),
        ("  a: - x\n", 2, "a list item `- ` must start a line; put it on a line of its own, or write [a, b]"),
    ],
)
def test_parser_errors_are_reported_with_their_remedy(tmp_path: Path, below: str, line: int, said: str) -> None:
    (found,) = problems(tmp_path, f"config:\n{below}")
    assert found.startswith(f"Pulumi.dev.yaml, line {line}: {said}")


@pytest.mark.parametrize("text", ["v1:abc:def", "hunter2 in clear", "v1:AAAA", "v1:AAAA:AAA", "v2:AAAA:AAAA", "''"])
def test_a_secret_that_pulumi_did_not_encrypt_is_a_fault_without_its_text(tmp_path: Path, text: str) -> None:
    (line,) = problems(tmp_path, f"config:\n  tensorplane:x:\n    max: {{secure: {text}}}\n")
    assert line == (
        "Pulumi.dev.yaml: line 3: the value of `secure` in 'tensorplane:x.max' is not encrypted by Pulumi; "
        "store it with: pulumi config set --secret --path 'tensorplane:x.max' VALUE"
    )


@pytest.mark.parametrize("text", ["v1:lP6+mzLgAAsyIDLw:Zi1bhw==", "AAABAKx4d0pQ"])
def test_what_pulumi_encrypted_is_no_fault(tmp_path: Path, text: str) -> None:
    assert problems(tmp_path, f"config:\n  tensorplane:x:\n    max: {{secure: {text}}}\n") == []


def test_aliases_that_multiply_end(tmp_path: Path) -> None:
    rows = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    rows += [f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    (line,) = problems(tmp_path, "config:\n  " + "\n".join(rows))
    assert "more than 100,000 values" in line


def test_a_folder_for_a_file(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.dev.yaml").mkdir()
    with pytest.raises(Unreadable, match=r"^Pulumi\.dev\.yaml: Is a directory$"):
        stack_file.read(tmp_path / "Pulumi.dev.yaml")


def test_a_byte_order_mark_is_no_matter(tmp_path: Path) -> None:
    assert read(tmp_path, b"\xef\xbb\xbfconfig: {a: b}\n").config == {"tensorplane:a": "b"}


@pytest.mark.parametrize("at", ["\ufefftensorplane:a: b", "tensorplane:\ufeffa: b", "a: \ufeffb", "a: b\ufeff"])
def test_a_byte_order_mark_inside_is_named_and_does_no_harm(tmp_path: Path, at: str) -> None:
    found = read(tmp_path, f"# a mark in a comment, \ufeff, is none\nconfig:\n  {at}\n")
    assert file_problems.lines(found.name, found.problems) == [
        "Pulumi.dev.yaml: line 3: an invisible byte order mark (U+FEFF); remove it"
    ]
    assert found.config == {"tensorplane:a": "b"}


def test_one_mistake_in_many_lines_is_one_line_with_some_of_them(tmp_path: Path) -> None:
    text = "".join(f"    k{number}: {{1.50: a}}\n" for number in range(700))
    assert problems(tmp_path, f"config:\n  tensorplane:x:\n{text}") == [
        "Pulumi.dev.yaml: lines 3, 4, 5 and 697 more: Pulumi reads the key '1.50' as another value; quote it"
    ]


def test_what_is_shown_is_short_and_on_one_line(tmp_path: Path) -> None:
    (line,) = problems(tmp_path, f'config: {{x: {{"a\\n\\e{"b" * 5000}": 1, "a\\n\\e{"b" * 5000}": 2}}}}')
    assert len(line) < 200
    assert line.isprintable()


def test_as_many_values_are_read_as_are_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "config:\n  tensorplane:x: [1, 2, 3]\n"
    most = next(most for most in range(20) if _read_with(most, tmp_path, text, monkeypatch))
    assert _read_with(most + 1, tmp_path, text.replace("3", "3, 4"), monkeypatch)
    assert not _read_with(most, tmp_path, text.replace("3", "3, 4"), monkeypatch)


def _read_with(most: int, folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(stack_file, "_MOST_VALUES", most)
    return problems(folder, text) == []
