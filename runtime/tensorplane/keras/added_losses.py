"""What layers add to the loss, apart for each replica.

Keras keeps one list for each layer. Replicas of a process compute in turns, from one exchange to the next, so that one
would read what another has added, for example after a masked loss or a synchronized BatchNormalization.
"""

from __future__ import annotations

from typing import Any

from tensorplane.keras.replicas import added_losses

_NAME = "_losses"


def of_each_replica() -> property:
    """In the place of `_losses` of Keras' layers."""

    def get(self: Any) -> list[Any]:
        added = added_losses()
        losses: list[Any] = vars(self).setdefault(_NAME, []) if added is None else added.setdefault(id(self), [])
        return losses

    def put(self: Any, losses: list[Any]) -> None:
        vars(self)[_NAME] = losses

    return property(get, put)
