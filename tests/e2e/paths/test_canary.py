"""A canary gets a part of the requests until its gate promotes it or rolls it back."""

from __future__ import annotations

import time

from tests.e2e.canary_server import CanaryServer
from tests.e2e.half_models import half as half_model


def test_a_canary_is_promoted_or_rolled_back_by_its_gate(half: CanaryServer) -> None:
    good = half.next_version()
    with half.clients() as clients:
        half.publish(half_model(2), good)
        assert half.decided("Promoted", good)["measured"]["errorRate"] == 0
        half.settled(good)
    assert not clients.failed

    bad = half.next_version()
    # Its gate cannot decide before clients come.
    half.publish("failing", bad)
    half.decided("CanaryStarted", bad)
    tried = f"version {bad} with about 50 % of the requests; its gate waits for errorRate of 40 requests"
    assert half.tried() == tried
    half.kill_controller()
    with half.clients() as clients:
        assert "errors in" in half.decided("RolledBack", bad)["reason"]
        half.settled(good)
        at = time.monotonic()
        half.answers(clients, 2)
    assert not [each for each in clients.failed if each.at > at], "no request fails but those that it answered"
