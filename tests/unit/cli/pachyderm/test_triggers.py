"""What starts runs of imported pipelines."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.problems import problems_of
from tests.unit.cli.pachyderm.imported_specs import import_specs, spec_with, tree_of


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        (None, {"new": {}}),
        ({"size": "3KB"}, {"photos": {"datasets": ["photos"], "mib": 0.002861}}),
        ({"size": "1.5mib"}, {"photos": {"datasets": ["photos"], "mib": 1.430511}}),
        ({"commits": 5}, {"photos": {"datasets": ["photos"], "versions": 5}}),
        ({"cronSpec": "@daily"}, {"photos": {"schedule": "0 0 * * *"}}),
        ({"cronSpec": "@daily", "commits": 2, "all": True}, {"photos": {"schedule": "0 0 * * *"}}),
        (
            {"commits": 5, "rateLimitSpec": "0 3 * * *"},
            {"photos": {"datasets": ["photos"], "versions": 5}, "photos-2": {"schedule": "0 3 * * *"}},
        ),
    ],
)
def test_a_trigger_of_an_input_is_one_of_the_pipeline(trigger: Any, expected: dict[str, Any]) -> None:
    made = import_specs(spec_with(input={"pfs": {"repo": "photos", "glob": "/*", "trigger": trigger}}))
    assert made.workloads["a"]["triggers"] == expected
    assert (made.notes, problems_of(tree_of(made))) == ([], [])


def test_a_trigger_of_what_another_stage_makes_says_how_a_branch_is_moved() -> None:
    trigger = {"pfs": {"repo": "a", "glob": "/", "trigger": {"commits": 5}}}
    (note,) = import_specs(spec_with(), spec_with(pipeline={"name": "b"}, input=trigger)).notes
    assert note.field == "input.pfs.trigger"
    assert note.remedy.endswith("`tensorplane data rollback --branch` moves")


def test_an_input_that_propagates_nothing_starts_no_run() -> None:
    quiet = {"pfs": {"repo": "y", "glob": "/", "propagationSpec": {"never": True}}}
    made = import_specs(spec_with(input={"cross": [{"pfs": {"repo": "x", "glob": "/"}}, quiet]}))
    assert made.workloads["a"]["triggers"] == {"new": {"datasets": ["x"]}}


@pytest.mark.parametrize(("trigger", "told"), [({"cronSpec": "@daily"}, True), ({"commits": 5}, False)])
def test_a_schedule_starts_a_run_for_such_an_input_too_which_is_told(trigger: dict[str, Any], told: bool) -> None:
    quiet = {"pfs": {"repo": "y", "glob": "/", "propagationSpec": {"never": True}}}
    other = {"pfs": {"repo": "x", "glob": "/", "trigger": trigger}}
    made = import_specs(spec_with(input={"cross": [other, quiet]}))
    assert ("input.cross[1].pfs.propagationSpec" in [note.field for note in made.notes]) == told


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"repo": "y"}, True),
        ({"repo": "photos"}, True),
        ({"repo": "y", "trigger": {"commits": 5}}, True),
        ({"repo": "photos", "trigger": {"commits": 5}}, False),
        ({"repo": "y", "propagationSpec": {"never": True}}, False),
    ],
)
def test_a_run_that_another_input_starts_reads_the_newest_commit_which_is_told(
    other: dict[str, Any], told: bool
) -> None:
    triggered = {"pfs": {"repo": "photos", "glob": "/", "trigger": {"commits": 5}}}
    made = import_specs(spec_with(input={"cross": [triggered, {"pfs": {"name": "z", "glob": "/", **other}}]}))
    assert ("input.cross[0].pfs.trigger" in [note.field for note in made.notes]) == told
    assert problems_of(tree_of(made)) == []


def test_a_trigger_without_a_condition_is_told() -> None:
    made = import_specs(spec_with(input={"pfs": {"repo": "photos", "glob": "/*", "trigger": {"branch": "new"}}}))
    assert [note.field for note in made.notes] == ["input.pfs.trigger"]
