"""How far a pod of a scorer is, in its log and for Prometheus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tensorplane import metrics
from tensorplane.log import say
from tensorplane.model_client import Result
from tensorplane.reading import NowAndThen


@dataclass
class Progress:
    """Records with results since the start."""

    scored: int = 0
    refused: int = 0
    """Results with an error, among them."""
    _said: int = -1
    """Records with results at the last line."""
    _look: NowAndThen = field(default_factory=NowAndThen)

    def add(self, batch: Sequence[Result]) -> None:
        """Count a batch."""
        refused = sum("error" in result for result in batch)
        self.scored, self.refused = self.scored + len(batch), self.refused + refused
        metrics.SCORED.add(len(batch))
        metrics.REFUSED.add(refused)

    def is_due(self) -> bool:
        """Whether the lag was last looked at some time ago."""
        return self._look.is_due()

    def report(self, lag: int | None) -> None:
        """Publish the lag, and print one line if there is something new. `lag`: None if the brokers do not tell it."""
        if lag is not None:
            metrics.LAG.set(lag)
        if self.scored != self._said:
            self._said = self.scored
            say(scored=self.scored, refused=self.refused, lag="unknown" if lag is None else lag)
