"""Keys of joins: patterns and endings as regular expressions of names."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from tensorplane.workloads.pipeline.join_key import JoinKey


@pytest.mark.parametrize(
    ("key", "name", "found"),
    [
        ("(*).tar.gz", "a.tar.gz", ("a",)),
        ("(*).tar.gz", "a.b.tar.gz", ("a.b",)),
        ("(*).tar.gz", "atar.gz", None),
        ("(*).tar.gz", "x/a.tar.gz", None),
        ("(**).csv", "x/a.csv", ("x/a",)),
        ("(*)/*", "a/1.csv", ("a",)),
        ("(*)/*", "a/b/1.csv", None),
        ("*_SHOP(*).csv", "sales_SHOP7.csv", ("7",)),
        ("(*)-(?).{jpg,png}", "a-b-1.png", ("a-b", "1")),
        ("(*)-(?).{jpg,png}", "a-b-1.gif", None),
        ("[!a-c]([0-9]*)", "d1x", ("1x",)),
        ("[!a-c]([0-9]*)", "a1x", None),
        ("[]x](*)", "]a", ("a",)),
        (r"[a\]b](*)", "]b", ("b",)),
        (r"[a\]b](*)", "ab]", ("b]",)),
        (r"[a\]b](*)", r"\b", None),
        (r"[\\](*)", r"\b", ("b",)),
        (r"[a\-c](*)", "-b", ("b",)),
        (r"[a\-c](*)", "bb", None),
        (r"[\!a](*)", "!b", ("b",)),
        (r"[\^a](*)", "^b", ("b",)),
        (r"[!\]](*)", "ab", ("b",)),
        (r"[!\]](*)", "]b", None),
        ("(*)_[[:digit:]].csv", "a_1.csv", ("a",)),
        ("(*)_[[:digit:]].csv", "a_1].csv", None),
        ("([[:alpha:]_]*)", "_b", ("_b",)),
        ("([![:upper:][:digit:]]*)", "b1", ("b1",)),
        ("([^[:upper:][:digit:]]*)", "1b", None),
        ("([[:punct:]])*", "]x", ("]",)),
        ("([[:punct:]])?", "/x", None),
        ("([![:space:]])", "\t", None),
        ("[[.](*)", "[a", ("a",)),
        ("[[:](*)", ":a", ("a",)),
        (r"\*\*\*(*)-(*)-(*)-(*)", "***1-2-3-4", ("1", "2", "3", "4")),
        (r"\(*\)(*)", "(1)a", ("a",)),
        ("(*)", "a\nb", ("a\nb",)),
        ({"endings": [".gz", ".tar.gz"]}, "a.tar.gz", ("a",)),
        ({"endings": [".gz", ".tar.gz"]}, "a.b.gz", ("a.b",)),
        ({"endings": [".gz", ".tar.gz"]}, ".gz", None),
        ({"endings": [".jpg"]}, "a.jpeg", None),
    ],
)
def test_a_key_takes_from_a_name_what_it_says(key: object, name: str, found: tuple[str, ...] | None) -> None:
    matched = re.fullmatch(JoinKey.model_validate(key).regex, name)
    assert (matched and matched.groups()) == found


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("(a", "a pattern without an unclosed ("),
        ("a)", "a pattern without an unopened )"),
        ("((a))", "a pattern without ( inside ("),
        ("({a,b})", "a pattern without { inside ("),
        ("{(a),b}", "a pattern without ( inside {"),
        ("(a}", "a pattern without an unopened }"),
        ("(*)[", "a pattern without an unclosed ["),
        ("(a[b)", "a pattern without an unclosed ["),
        (r"(*)[a\]", "a pattern without an unclosed ["),
        ("(*)\\", "a pattern without a backslash at its end"),
        ("(*)*-*-**-*", "a pattern with at most 4 stars (more take too long to match)"),
        ("(*)[b-a]", "a pattern without [b-a], which is empty or in the wrong order"),
        ("(*)[:digit:]", "a pattern in which [:digit:] is inside brackets"),
        ("(*)[[:number:]]", "a pattern without [:number:], which is no character class"),
        ("(*)[[=a=]]", "a pattern without [=a=], which is no character class"),
        ("(*)[[.a.]]", "a pattern without [.a.], which is no character class"),
        (r"\(*\)", "a pattern with the key in parentheses, such as (*).tar.gz"),
        ({}, "one of pattern and endings"),
        ({"pattern": "(*)", "endings": [".x"]}, "one of pattern and endings"),
        ({"endings": [".x/y"]}, "an ending of names that begins with a dot"),
    ],
)
def test_a_key_that_cannot_be_read_is_refused_with_the_reason(key: object, reason: str) -> None:
    with pytest.raises(ValidationError) as refused:
        JoinKey.model_validate(key)
    assert f"use {reason}" in str(refused.value)
