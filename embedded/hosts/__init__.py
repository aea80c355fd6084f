"""What makes the plain `pulumi` command work in this project: language host, launchers, policy environment, shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embedded.hosts.launchers import install, install_command
from embedded.hosts.shell import activate

if TYPE_CHECKING:
    from embedded.tasks import Task

__all__ = ["activate", "install", "install_command", "policy_task"]


def policy_task() -> Task:
    """The task "policy environment": makes policies/.venv hold what policies/requirements.txt says."""
    # Imported here because the language host's process passes through this module on each `pulumi` command.
    from embedded.hosts.policy_environment import task

    return task()
