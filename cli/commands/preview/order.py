"""The sections of the report, in order. A new one is a file in `sections` and an entry in each list that it is for."""

from __future__ import annotations

from tensorplane.cli.commands.preview.section import InHead, OnTerminal, Section
from tensorplane.cli.commands.preview.sections import (
    banner,
    changes,
    cost,
    data_at_risk,
    effects,
    failures,
    in_words,
    interrupts,
    node_groups,
    pipelines,
    policies,
    preemption,
    queues,
    resources,
    runs,
    summary,
    topology,
    values,
    warnings,
)

HEAD: tuple[InHead, ...] = (
    summary,
    interrupts,
    banner,
    data_at_risk,
    policies,
    failures,
    in_words,
    resources,
    cost,
)
"""What a reviewer must not miss."""
MARKDOWN: tuple[Section, ...] = (
    effects,
    runs,
    cost,
    pipelines,
    policies,
    node_groups,
    queues,
    preemption,
    warnings,
    values,
    topology,
    changes,
)
"""The most important first: a reviewer reads from the top."""
TERMINAL: tuple[OnTerminal, ...] = (
    banner,
    changes,
    resources,
    in_words,
    node_groups,
    queues,
    preemption,
    cost,
    pipelines,
    runs,
    effects,
    interrupts,
    topology,
    values,
    warnings,
    summary,
    policies,
    failures,
    data_at_risk,
)
"""The most important last: the end stays on the screen."""
