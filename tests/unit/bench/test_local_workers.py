"""Programs of figures run with the environment that jobs have."""

from __future__ import annotations

from bench import local_workers
from tensorplane import launch


def test_programs_have_the_memory_settings_of_the_launcher() -> None:
    assert local_workers.MALLOC == launch.MALLOC
    assert {name: int(local_workers.environment()[name]) for name in launch.MALLOC} == launch.MALLOC
