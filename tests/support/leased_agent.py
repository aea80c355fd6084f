"""An agent with a Lease that lasts two seconds, which acts once for each line of its input, and watches while it waits:
`ADDRESS ACCOUNT POD RECONCILE_TIMEOUT`. The line `hang` is a reconcile without an end; after `read`, the reconcile
reads, and acts at the next line."""

from __future__ import annotations

import http.client
import ssl
import sys
import threading
from pathlib import Path

from tensorplane.agents import lease
from tensorplane.agents.api import ApiServer
from tensorplane.agents.leader_election import ElectedLeader, Timing
from tensorplane.agents.lease import Lease
from tests.support import plain_http

NAMESPACE, NAME = "team", "agent.usage"


def main(address: str, account: str, pod: str, reconcile_timeout: str) -> None:
    ssl.create_default_context = lambda cafile: None  # type: ignore[assignment, misc]
    http.client.HTTPSConnection = plain_http.connection  # type: ignore[assignment, misc]
    lease.DURATION_SECONDS, lease.DEADLINE_SECONDS = 2, 1.2
    server = ApiServer(address, Path(account))
    leader = ElectedLeader(
        Lease(server, NAMESPACE, NAME, pod),
        Timing(renew_period=0.1, retry_period=0.05, reconcile_timeout=float(reconcile_timeout)),
        watch=lambda: server.send("GET", f"watched/{pod}"),
    )
    leader.begin()
    for line in sys.stdin:
        with leader.reconciling():
            if line == "hang\n":
                threading.Event().wait()
            if line == "read\n":
                leader.api.send("POST", f"reads/{pod}", {})
                sys.stdin.readline()
            leader.api.send("POST", f"acts/{pod}", {})
    # Nobody tells it more: it lives until it is stopped.
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
