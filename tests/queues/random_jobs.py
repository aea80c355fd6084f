"""Random jobs of the queues in `fleet.yaml`, and what the rules see of them."""

from __future__ import annotations

import random
from pathlib import Path

import yaml

from tensorplane.components.queues.capacity import PodSet
from tensorplane.stack import StackConfig
from tests.queues.jobs import chief, workers
from tests.queues.model import CPU, Pods, Rules

SETTINGS = Path(__file__).with_name("fleet.yaml")
CARDS = {"t4": 4, "a100-80gb": 4, "h100-80gb": 8}
"""From the oldest to the newest: how many a node has."""


def settings_of_fleet() -> StackConfig:
    """What `fleet.yaml` says."""
    tree = yaml.safe_load(SETTINGS.read_text())["config"]
    named = {key.removeprefix("tensorplane:"): value for key, value in tree.items()}
    return StackConfig.model_validate({**named, "namespace": "tensorplane-dev"}, by_alias=True, by_name=False)


def rules_of(settings: StackConfig) -> list[Rules]:
    """The rules that the settings of the queues come to."""
    return [Rules.of(name, args, list(CARDS)) for name, args in settings.queues.items()]


def as_rules_see(pods: PodSet) -> Pods:
    """What of these pods the rules care for."""
    asked = pods.resources
    if not asked.gpus:
        return Pods(pods.role, round(asked.cpus * 1000) * pods.count, frozenset({CPU}))
    able = {card for card, per_node in CARDS.items() if asked.gpus <= per_node and asked.accelerator in (None, card)}
    return Pods(pods.role, asked.gpus * pods.count, frozenset(able))


def any_pods(chance: random.Random, queue: str) -> list[PodSet]:
    """Of any job; some are larger than their queue will ever take."""
    with_chief = [chief()] if queue in ("research", "production") and chance.random() < 0.3 else []
    if with_chief and chance.random() < 0.2:
        return with_chief
    # The newest cards are asked for most, so that whose they are has often to be settled.
    card = chance.choice(["t4", "a100-80gb", "h100-80gb", "h100-80gb"]) if chance.random() < 0.5 else None
    gpus = chance.choice([1, 2, 4, 4, 4, 4, 8] if card in (None, "h100-80gb") else [1, 2, 4, 4])
    found = [*with_chief, workers(chance.choice([1, 1, 2, 3, 4]), gpus, card=card)]
    if chance.random() < 0.15:
        found.append(workers(1, chance.choice([1, 2]), role="evaluator"))
    return found
