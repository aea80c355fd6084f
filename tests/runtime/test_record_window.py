"""Windows of a topic's records: when they end, and that their files have every record once."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplane.record_window import FILES, LINES, Limits, Window

_MUCH = Limits(1000, 10**6, 60.0)
_RECORDS = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5), st.none() | st.binary(max_size=40)), max_size=40)


def _window(records: list[tuple[int, int, bytes | None]]) -> tuple[Window, dict[tuple[int, int], bytes | None]]:
    """A window with these records, each so many offsets after the one before in its partition."""
    window, at, every = Window(_MUCH), dict.fromkeys(range(4), -1), {}
    for partition, step, value in records:
        at[partition] += step
        window.add(partition, at[partition], value)
        every[partition, at[partition]] = value
    return window, every


@given(_RECORDS)
def test_a_file_per_record_has_its_value(records: list[tuple[int, int, bytes | None]]) -> None:
    window, every = _window(records)
    found = list(window.files(FILES))
    assert len(dict(found)) == len(found)
    assert dict(found) == {f"{partition}/{offset:020d}": value or b"" for (partition, offset), value in every.items()}


@given(_RECORDS)
def test_lines_have_each_record_once_and_are_json(records: list[tuple[int, int, bytes | None]]) -> None:
    window, every = _window(records)
    lines, others = 0, 0
    for path, content in window.files(LINES):
        if path.startswith("no-json/"):
            _, partition, offset = path.split("/")
            assert content == every[int(partition), int(offset)]
            others += 1
        else:
            found = content.decode().split("\n")
            assert found.pop() == ""
            lines += len([json.loads(line) for line in found])
    assert lines + others == len(every) == window.records


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda each: st.lists(each, max_size=3)))
def test_a_value_of_several_lines_is_one_line_with_the_same_meaning(value: object) -> None:
    window, _ = _window([(0, 1, json.dumps(value, indent=2).encode())])
    ((_, content),) = window.files(LINES)
    assert content.count(b"\n") == 1
    assert json.loads(content) == value


@pytest.mark.parametrize(
    "value",
    [
        '{"a": 1}'.encode("utf-16"),
        '{"a": 1}'.encode("utf-16-le"),
        '{"a": 1}'.encode("utf-32"),
        '{"a": 1}'.encode("utf-8-sig"),
        b'"\xed\xa0\x80"',
        b'"\xe9"',
        b"[NaN]",
        b"[" * 10_000,
    ],
    ids=["UTF-16", "UTF-16 without a mark", "UTF-32", "UTF-8 with a mark", "surrogate", "Latin-1", "NaN", "deep"],
)
def test_what_is_no_json_to_others_is_a_file_of_its_own(value: bytes) -> None:
    window, _ = _window([(0, 1, b'"before"'), (0, 1, value), (0, 1, b'"after"')])
    assert dict(window.files(LINES)) == {
        "no-json/0/00000000000000000001": value,
        "0/00000000000000000000.jsonl": b'"before"\n"after"\n',
    }


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (b'{\n"a": 1e400,\r\n"b": 0.12345678901234567890}', b'{ "a": 1e400,  "b": 0.12345678901234567890}\n'),
        (b"1" * 5000, b"1" * 5000 + b"\n"),
        (b'[\n"\\ud800", "a\\nb", "\xc3\xa9"]\n', b'[ "\\ud800", "a\\nb", "\xc3\xa9"]\n'),
    ],
    ids=["numbers", "a long number", "strings"],
)
def test_numbers_and_strings_of_several_lines_stay_as_they_are_written(value: bytes, line: bytes) -> None:
    window, _ = _window([(0, 1, value)])
    assert list(window.files(LINES)) == [("0/00000000000000000000.jsonl", line)]


@pytest.mark.parametrize(
    ("limits", "values", "over"),
    [
        (Limits(2, 100, 9.0), [b"1"], False),
        (Limits(2, 100, 9.0), [b"1", b"2"], True),
        (Limits(9, 3, 9.0), [b"12"], False),
        (Limits(9, 3, 9.0), [b"12", b"345"], True),
        (Limits(9, 3, 9.0), [b"a record that is larger than a window"], True),
    ],
)
def test_the_first_limit_that_is_reached_ends_it(limits: Limits, values: list[bytes], over: bool) -> None:
    window = Window(limits)
    for offset, value in enumerate(values):
        window.add(0, offset, value)
    assert window.is_over == over


def test_its_time_begins_with_its_first_record() -> None:
    now = [100.0]
    window = Window(Limits(9, 100, 5.0), clock=lambda: now[0])
    now[0] = 200.0
    assert (window.is_over, window.seconds_left) == (False, 5.0)
    window.add(0, 0, b"1")
    now[0] = 204.0
    assert (window.is_over, window.seconds_left) == (False, 1.0)
    now[0] = 205.0
    assert window.is_over


def test_it_ends_after_the_last_record_of_each_partition() -> None:
    window, _ = _window([(0, 1, b"1"), (2, 3, b"1"), (0, 4, b"1")])
    assert window.after == {0: 5, 2: 3}
