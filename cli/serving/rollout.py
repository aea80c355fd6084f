"""What the controller of a server's rollouts has decided, and how requests are divided."""

from __future__ import annotations

from dataclasses import dataclass

from tensorplane.agents.rollout import routes
from tensorplane.agents.rollout.state import RolloutState
from tensorplane.cli.access import Access
from tensorplane.driver import canaries
from tensorplane.workloads.model_server.canary.controller_objects import CANARY_SUFFIX


@dataclass(frozen=True)
class Rollout:
    """A server whose new versions a canary tries."""

    state: RolloutState
    stable: int
    """Ready pods of the stable version."""
    canary: int
    weight: int | None = None
    """The canary's percent of the requests of a Gateway; None if none divides them."""

    @property
    def shares(self) -> str:
        """Which part of the requests each version gets; with a Gateway, of the Gateway's."""
        whole = self.stable + self.canary
        if self.state.stable is None or not whole:
            return ""
        of_canary = 100 * self.canary / whole if self.weight is None else self.weight
        of_stable = f"{self.state.stable}: {100 - of_canary:.0f} %"
        if not self.canary or self.state.canary is None:
            return of_stable
        return f"{of_stable}, canary {self.state.canary}: {of_canary:.0f} %"

    @property
    def last_decision(self) -> str:
        """As its Event says it."""
        if not self.state.decisions:
            return ""
        last = self.state.decisions[-1]
        return f"{last.action} {last.version}: {last.reason}"


def of(access: Access, name: str, ready: int) -> Rollout | None:
    """The rollout of a server of the stack; None without a canary. `ready`: its ready pods of the stable version."""
    if (state := canaries.get_state(access.api, access.namespace, name)) is None:
        return None
    path = f"/apis/apps/v1/namespaces/{access.namespace}/deployments/{name}{CANARY_SUFFIX}"
    canary = ((access.api.get(path) or {}).get("status") or {}).get("readyReplicas") or 0
    return Rollout(state, ready, canary, _weight(access, name))


def _weight(access: Access, name: str) -> int | None:
    inside = f"/{routes.API}/namespaces/{access.namespace}"
    found = [access.api.get(f"{inside}/{plural}/{name}") for plural in routes.PLURALS.values()]
    return next((routes.get_weight(route, name) for route in found if route), None)
