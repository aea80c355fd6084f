"""Equal lines about many things are one line."""

from __future__ import annotations

from tensorplane.cli.output import aggregated

NAMES = {f"job-{number}" for number in range(9)} | {"is", "models"}


def test_four_lines_that_differ_in_a_name_are_one_in_the_place_of_the_first() -> None:
    given = ["first", *(f"job {name}: add [{name}]" for name in ("job-1", "job-2", "job-3", "job-4", "job-5")), "last"]
    times = "\N{MULTIPLICATION SIGN}"
    assert aggregated.lines(given, NAMES) == [
        "first",
        f"5 {times} job job-1, job-2, job-3 and 2 more: add [NAME]",
        "last",
    ]


def test_lines_that_differ_otherwise_stay() -> None:
    given = [
        *(f"job-{number} has {number} GPUs" for number in range(9)),
        "a is b",
        "a is b",
        "a is c",
        "job-1",
        "job-2",
    ]
    assert aggregated.lines(given, NAMES) == given


def test_one_that_is_another_among_many_equal_ones_stays() -> None:
    given = [f"job-{number}: image a → {'b' if number == 4 else 'c'}" for number in range(9)]
    assert len(found := aggregated.lines(given, NAMES)) == 2
    assert "job-4: image a → b" in found


def test_rows_keep_their_cells() -> None:
    rows = [(f"job-{number}", "1", "") for number in range(9)]
    assert aggregated.rows([*rows, ("models", "a\x1fb")], NAMES) == [
        ("9 \N{MULTIPLICATION SIGN} job-0, job-1, job-2 and 6 more", "1", ""),
        ("models", "a\\x1fb"),
    ]


def test_lines_of_a_kind_that_is_rare_are_first() -> None:
    given = [*(f"job-{number}: {number} GiB" for number in range(9)), "volume models: no longer protected"]
    assert aggregated.rarest_first(given, NAMES) == [given[-1], *given[:-1]]


def test_a_line_about_many_things_is_no_rare_one() -> None:
    many = aggregated.lines([f"job {name}: memory 1 → 2 GiB" for name in sorted(NAMES)], NAMES)
    given = [*many, "volume a: size 1 → 2 GiB"]
    assert aggregated.rarest_first(given, NAMES) == [given[1], given[0]]


def test_four_names_are_all_shown() -> None:
    assert aggregated.names(["a", "b", "c", "d"]) == "a, b, c, d"
    assert aggregated.names(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
