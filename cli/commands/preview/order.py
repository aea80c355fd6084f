"""The sections of the report, in order. A new section is a file in `sections` and an entry in each list."""

from __future__ import annotations

from cli.commands.preview.section import Section
from cli.commands.preview.sections import (
    banner,
    changes,
    consequences,
    cost,
    faults,
    kept_data,
    node_groups,
    policies,
    preemption,
    queues,
    runs,
    summary,
    values,
    warnings,
)

MARKDOWN: tuple[Section, ...] = (
    banner,
    summary,
    faults,
    policies,
    cost,
    node_groups,
    queues,
    preemption,
    runs,
    consequences,
    kept_data,
    changes,
    warnings,
    values,
)
"""The most important first: a reviewer reads from the top."""
TERMINAL: tuple[Section, ...] = (
    banner,
    changes,
    node_groups,
    queues,
    preemption,
    cost,
    runs,
    consequences,
    kept_data,
    values,
    warnings,
    summary,
    policies,
    faults,
)
"""The most important last: the end stays on the screen."""
