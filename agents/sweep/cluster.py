"""The trials' JobSets in the cluster, and the ConfigMap with the sweep's results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..api import NOT_FOUND, ApiServer, tolerate
from ..watch import WatchedList
from .decide import Job

MANAGER = "tensorplane-sweep"
_STATE_OF_CONDITION = {"Completed": Job.SUCCEEDED, "Failed": Job.FAILED}


@dataclass
class Cluster:
    """One sweep's objects in its namespace."""

    api: ApiServer
    namespace: str
    sweep: str
    """The workload's name, by which its JobSets are labelled."""
    run: str
    """The sweep's run, which is in its ConfigMap's name."""
    _written_version: str = ""
    """The resourceVersion of the results that this controller has written, or found."""

    def list_jobs(self) -> dict[str, Job]:
        """The state of each JobSet, by name."""
        return {each["metadata"]["name"]: _state(each) for each in self._of_sweep.items()}

    def wait(self, seconds: int) -> None:
        """Waits until a JobSet is another than `list_jobs` has read it, but not longer than this."""
        self._of_sweep.wait(seconds)

    def create(self, job_set: Mapping[str, Any]) -> None:
        """Creates a JobSet by server-side apply, which does nothing if it exists. It is deleted with the results."""
        results = self.api.send("GET", self._results)["metadata"]
        owner: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": results["name"],
            "uid": results["uid"],
        }
        if results.get("ownerReferences"):
            # A cancelled sweep is there until its trials are gone, so that the same one begins without them.
            owner["blockOwnerDeletion"] = True
        metadata = {**job_set["metadata"], "ownerReferences": [owner]}
        path = f"{self._job_sets}/{metadata['name']}?fieldManager={MANAGER}"
        self.api.send("PATCH", path, {**job_set, "metadata": metadata}, content_type=ApiServer.APPLY)

    def delete(self, name: str) -> None:
        """Deletes a JobSet. It stays, as one that is being deleted, until its pods are gone."""
        with tolerate(NOT_FOUND):
            self.api.send("DELETE", f"{self._job_sets}/{name}", {"propagationPolicy": "Foreground"})

    def write_results(self, results: Mapping[str, Any]) -> None:
        """Replaces the results. Raises OSError if somebody has changed them since, maybe a later controller."""
        version = self._written_version or self.api.send("GET", self._results)["metadata"]["resourceVersion"]
        self._written_version = ""
        body = {"metadata": {"resourceVersion": version}, "data": {"results.json": json.dumps(results)}}
        self._written_version = self.api.send("PATCH", self._results, body)["metadata"]["resourceVersion"]

    @property
    def _job_sets(self) -> str:
        return f"apis/jobset.x-k8s.io/v1alpha2/namespaces/{self.namespace}/jobsets"

    @cached_property
    def _of_sweep(self) -> WatchedList:
        return WatchedList(self.api, f"{self._job_sets}?labelSelector=app.kubernetes.io%2Fname%3D{self.sweep}")

    @property
    def _results(self) -> str:
        return f"api/v1/namespaces/{self.namespace}/configmaps/{self.run}-results"


def _state(job_set: Mapping[str, Any]) -> Job:
    if "deletionTimestamp" in job_set["metadata"]:
        return Job.ACTIVE
    conditions = job_set.get("status", {}).get("conditions", ())
    ended = (_STATE_OF_CONDITION.get(each["type"]) for each in conditions if each["status"] == "True")
    return next((state for state in ended if state), Job.ACTIVE)
