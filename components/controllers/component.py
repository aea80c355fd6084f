"""A controller in the cluster, installed from its chart."""

from __future__ import annotations

from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components.base import encrypted, outputs
from tensorplane.components.clusters.component import Cluster
from tensorplane.components.versions import Chart

_SECONDS_TO_READY = 600


class Controller(pulumi.ComponentResource):
    """One controller. Custom resources that depend on it can be created once it exists."""

    def __init__(
        self,
        chart: Chart,
        values: dict[str, Any],
        *,
        cluster: Cluster,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        props = outputs.Controller(version=chart.version, image=f"{chart.image}:{chart.image_tag}")
        super().__init__(outputs.CONTROLLER, chart.name, dict(props), opts)
        self.namespace = chart.namespace
        location = cluster.args.chart(chart)
        fetched = location["chart"] == chart.reference
        k8s.helm.v3.Release(
            chart.name,
            name=chart.name,
            namespace=chart.namespace,
            create_namespace=True,
            chart=location["chart"],
            version=location.get("version"),
            repository_opts={"repo": chart.repository} if fetched and chart.repository else None,
            values=values,
            timeout=_SECONDS_TO_READY,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs(encrypted.concealed(dict(outputs.Controller(version=chart.version))))
