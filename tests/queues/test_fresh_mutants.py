"""What the stacks of accepted mutants send to a cluster, as the API server and the controllers' webhooks see it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tensorplane.core.errors import ApiError
from tensorplane.core.gvk import GVK
from tests.mutants import fresh, oracle
from tests.queues.jobs import Jobs
from tests.support import counts
from tests.unit.conftest import environment

__all__ = ["environment"]
pytestmark = [pytest.mark.counted, pytest.mark.nightly("a stack is built for each mutant")]

COUNT = counts.of(quick=60, nightly=5000)
SEED = counts.seed()
_SPACE = "mutants"
"""A namespace in the place of those that the stacks would make."""


def test_the_api_server_takes_what_accepted_mutants_come_to(jobs: Jobs, tmp_path: Path) -> None:
    jobs.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _SPACE}}, manager="test")
    try:
        server, wrong, accepted = _Server(jobs), [], 0
        for mutant in fresh.mutants(COUNT, SEED):
            found = oracle.outcome(mutant, tmp_path)
            if found.made:
                accepted += 1
                refused = [why for one in oracle.objects(found.made) if (why := server.refusal(one))]
                wrong += [f"{mutant}\n    {why}" for why in refused if not oracle.is_reviewed(mutant, found, why)]
        print(
            f"{accepted} of {COUNT} accepted, {len(server.answers)} objects; not known here: {sorted(server.unknown)}"
        )
        assert wrong == []
        assert accepted > COUNT / 20
    finally:
        jobs.api.delete(GVK("", "v1", "Namespace"), _SPACE)


class _Server:
    """The cluster's API server, asked once for each object."""

    def __init__(self, jobs: Jobs) -> None:
        self._api = jobs.api
        self.answers: dict[str, str] = {}
        self.unknown: set[str] = set()
        """Kinds of which the cluster has no definition."""

    def refusal(self, one: dict[str, Any]) -> str:
        """Why the server would not have the object; empty where it would."""
        at = dict(one["metadata"])
        if "namespace" in at:
            at["namespace"] = _SPACE
        if "name" not in at:
            at["generateName"] = "mutant-"
        sent = {**one, "metadata": at}
        key = json.dumps(sent, sort_keys=True)
        if key not in self.answers:
            self.answers[key] = self._ask(sent)
        return self.answers[key]

    def _ask(self, sent: dict[str, Any]) -> str:
        name = f"{sent['kind']} {sent['metadata'].get('name', '')}"
        try:
            # By its kind, whether it is in a namespace or not.
            self._api.resource(GVK.of(sent))
        except ApiError:
            self.unknown.add(f"{sent['apiVersion']} {sent['kind']}")
            return ""
        try:
            self._api.create(sent, manager="test", dry_run=True)
        except ApiError as error:
            # It is looked at before it is compared with what is there.
            return "" if error.status == 409 else f"{name}: {error}"
        return ""
