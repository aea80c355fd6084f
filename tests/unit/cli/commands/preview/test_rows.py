"""Rows of many resources: what they have in common is told once, and nothing is merged that differs."""

from __future__ import annotations

from collections.abc import Callable

from tensorplane.cli.commands.preview import properties, render
from tensorplane.cli.commands.preview.report import Change, Report
from tensorplane.cli.commands.preview.rows import common_apart, rarest_first, rows, together
from tests.hosts.preview_events import detailed

MANY = 40
JOB_SET = "kubernetes:jobset.x-k8s.io/v1alpha2:JobSet"
LONG = "registry.example/team/" + "x" * 60


def _change(number: int, image: str, steps: str = "1") -> Change:
    """A job's next run, with an image."""
    name = f"job-{number:02}"
    runs = [f"{name}-{digest}" for digest in (f"{number:08x}", f"{number + 99:08x}")]
    old, new = (
        {
            "name": run,
            "hosts": f"{run}-0.{run}:2222,{run}-1.{run}:2222,{run}-2.{run}:2222",
            "image": tag,
            "steps": count,
        }
        for run, tag, count in zip(runs, ("a:1", image), ("1", steps), strict=True)
    )
    differ = {key: "update" for key in old if old[key] != new[key]}
    step = {"op": "replace", "type": JOB_SET, "old": {"inputs": old}, "new": {"inputs": new}}
    found = tuple(properties.of({**step, "detailedDiff": detailed(**differ)}))
    return Change("replace", JOB_SET.removeprefix("kubernetes:"), name, found)


def _table(image: Callable[[int], str], **more: str) -> list[str]:
    changes = [_change(number, image(number), **(more if number == 7 else {})) for number in range(MANY)]
    text = render.markdown(Report("dev", changes=tuple(changes))).partition("## Every changed resource")[2]
    return [line for line in text.splitlines() if line.startswith("| replace")]


def test_tags_that_differ_have_rows_of_their_own_after_one_with_what_all_have_in_common() -> None:
    first, *others = _table(lambda number: f"a:2-{number}")
    assert "| 40 jobset.x-k8s.io/v1alpha2:JobSet **job-00, job-01, job-02 and 37 more** | " in first
    assert "`name` (replaces): " not in first, "it replaces nothing here"
    assert '`name`: `"NAME-DIGEST"` → `"NAME-DIGEST"`' in first
    assert first.endswith("<br>in rows of their own: `image` |")
    assert [row.rpartition("**")[2] for row in others] == [
        f' | `image`: `"a:1"` → `"a:2-{number}"`<br>the rest as of all 40 |' for number in range(MANY)
    ]


def test_equal_ones_of_those_that_differ_share_a_row() -> None:
    _, *others = _table(lambda number: f"a:{number // 2 + 2}")
    assert len(others) == MANY // 2
    assert "| 2 jobset.x-k8s.io/v1alpha2:JobSet **job-38, job-39** | " in others[-1]


def test_long_values_that_are_cut_alike_are_not_merged() -> None:
    cut = {each.new for change in (_change(n, f"{LONG}:{n}") for n in range(9)) for each in change.properties}
    assert sum(value.endswith("x…") for value in cut) == 1, "they look equal"
    found = list(together(rows([_change(number, f"{LONG}:{number}") for number in range(MANY)])))
    assert len(found) == MANY
    assert len(list(together(rows([_change(number, f"{LONG}:1") for number in range(MANY)])))) == 1


def test_the_odd_one_is_before_what_the_others_have_in_common() -> None:
    first, second, *_ = _table(lambda number: f"a:2-{number}", steps="900")
    assert "**job-07** | `steps`: " in first
    assert "| 39 jobset.x-k8s.io/v1alpha2:JobSet **job-00, " in second


def test_nothing_is_lost_between_the_rows_of_many() -> None:
    changes = [_change(number, f"a:{number // 3 + 2}", "2" if number % 5 else "3") for number in range(MANY)]
    found = list(common_apart(rarest_first(list(together(rows(changes))))))
    paths: dict[str, set[str]] = {}
    for row in found:
        for name in row.names:
            paths.setdefault(name, set()).update(each.path for each in row.properties)
    assert paths == {change.name: {each.path for each in change.properties} for change in changes}


def test_a_comment_on_forty_jobs_with_tags_of_their_own_is_short() -> None:
    changes = tuple(_change(number, f"a:2-{number}") for number in range(MANY))
    assert len(render.markdown(Report("dev", changes=changes)).encode()) < 12_000
