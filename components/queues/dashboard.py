"""The dashboard of a stack's queues for Grafana: who waits how long, who uses and borrows what, who is stopped."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.base import names
from components.base.labels import labels
from components.namespace import Namespace
from components.queues.panels import ROWS, Panel, Query

# Plain data, not Grafana's own SDK: every user would have to install one that calls itself experimental. The tests read
# the result with it.
_SCHEMA = 39
"""Of Grafana 11; later ones read it too."""
_SIDECAR = {"grafana_dashboard": "1"}
"""By which the sidecar of Grafana's charts finds dashboards."""
_COLUMNS = 24
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WINDOWS = ("15m", "1h", "6h", "1d", "7d")
_WINDOW = "1h"


def declare(
    queues: Sequence[str], namespaces: Sequence[str], namespace: Namespace, opts: pulumi.ResourceOptions
) -> pulumi.Resource:
    """The dashboard as a ConfigMap of the stack's namespace. `namespaces`: those that have its queues."""
    stack = namespace.plain_name
    return k8s.core.v1.ConfigMap(
        "queues-dashboard",
        metadata={
            "name": "queues-dashboard",
            "namespace": namespace.name,
            "labels": {**labels(stack, "queue"), **_SIDECAR},
        },
        # The sidecar puts the files of all stacks into one folder.
        data={f"{stack}-queues.json": json.dumps(of(stack, queues, namespaces), indent=1)},
        opts=opts,
    )


def of(stack: str, queues: Sequence[str], namespaces: Sequence[str]) -> dict[str, Any]:
    """The dashboard in Grafana's classic model. Nothing in it changes while the settings stay."""
    return {
        # Grafana takes 40 characters; two dashboards with one would both be left out.
        "uid": f"queues-{names.digest(stack, 12)}",
        "title": f"Queues of {stack}",
        "description": "Waiting, use of GPUs and preemptions in Kueue's queues, made by tensorplane from the settings.",
        "tags": ["tensorplane", "kueue"],
        "schemaVersion": _SCHEMA,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": []},
        "links": [_others()],
        "templating": {"list": list(_variables(stack, queues, namespaces))},
        "panels": _laid_out(ROWS),
    }


def _others() -> dict[str, Any]:
    return {
        "type": "dashboards",
        "title": "Other stacks",
        "tags": ["tensorplane", "kueue"],
        "asDropdown": True,
        "icon": "external link",
        "includeVars": False,
        "keepTime": True,
        "targetBlank": False,
        "tooltip": "Queues of the other stacks",
        "url": "",
    }


def _variables(stack: str, queues: Sequence[str], namespaces: Sequence[str]) -> Sequence[dict[str, Any]]:
    """Exact names, not a search by prefix: `a-b` may be queue `b` of stack `a`, or another stack's name."""
    source = {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    return (
        {**source, "current": {}, "hide": 0, "refresh": 1},
        _choice("stack", "Stack", [stack], several=False),
        _choice("queue", "Queue", queues, several=True),
        _choice("namespace", "Namespace", namespaces, several=True),
        {
            **_choice("window", "Over the last", _WINDOWS, several=False, chosen=_WINDOW),
            "type": "interval",
            "auto": False,
            "auto_count": 30,
            "auto_min": "10s",
        },
    )


def _choice(
    name: str, label: str, values: Sequence[str], *, several: bool, chosen: str | None = None
) -> dict[str, Any]:
    one = chosen or values[0]
    current = {"text": ["All"], "value": ["$__all"]} if several else {"text": one, "value": one}
    every = [{"text": "All", "value": "$__all", "selected": True}] if several else []
    return {
        "name": name,
        "label": label,
        "type": "custom",
        "query": ",".join(values),
        "options": [*every, *({"text": v, "value": v, "selected": not several and v == one} for v in values)],
        "current": {**current, "selected": True},
        "multi": several,
        "includeAll": several,
        "hide": 0,
    }


def _laid_out(rows: Mapping[str, Sequence[Panel]]) -> list[dict[str, Any]]:
    """The panels from left to right and from above, each row below a heading of its own."""
    found: list[dict[str, Any]] = []
    top = 0
    for title, panels in rows.items():
        heading = {"type": "row", "title": title, "collapsed": False, "panels": []}
        found.append({**heading, "id": len(found) + 1, "gridPos": {"h": 1, "w": _COLUMNS, "x": 0, "y": top}})
        top, left, height = top + 1, 0, 0
        for panel in panels:
            if left + panel.width > _COLUMNS:
                top, left, height = top + height, 0, 0
            at = {"h": panel.height, "w": panel.width, "x": left, "y": top}
            found.append({"id": len(found) + 1, "gridPos": at, **_panel(panel)})
            left, height = left + panel.width, max(height, panel.height)
        top += height
    return found


def _panel(panel: Panel) -> dict[str, Any]:
    steps = [{"color": color, "value": value} for value, color in panel.thresholds]
    shown: dict[str, Any] = {"unit": panel.unit, "min": 0}
    if panel.decimals is not None:
        shown["decimals"] = panel.decimals
    # Without thresholds, each series has a colour of its own.
    shown["color"] = {"mode": "thresholds" if steps and panel.kind != "timeseries" else "palette-classic"}
    shown["thresholds"] = {"mode": "absolute", "steps": steps or [{"color": "green", "value": None}]}
    if panel.kind == "timeseries":
        style = "dashed" if steps else "off"
        shown["custom"] = {"lineWidth": 2, "fillOpacity": 10, "thresholdsStyle": {"mode": style}, "spanNulls": False}
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": shown, "overrides": []},
        "options": _OPTIONS[panel.kind],
        "targets": [
            _target(ref, query, table=panel.kind == "table")
            for ref, query in zip("ABCDEFGH", panel.queries, strict=False)
        ],
        **({"transformations": _table(panel)} if panel.kind == "table" else {}),
    }


def _target(ref: str, query: Query, *, table: bool) -> dict[str, Any]:
    return {
        "refId": ref,
        "datasource": _SOURCE,
        "expr": query.promql,
        "legendFormat": query.legend,
        "instant": table,
        "range": not table,
        "format": "table" if table else "time_series",
    }


def _table(panel: Panel) -> list[dict[str, Any]]:
    """One line for each queue and card, with a column for each query."""
    names = {f"Value #{ref}": query.legend for ref, query in zip("ABCDEFGH", panel.queries, strict=False)}
    told = {"excludeByName": {"Time": True}, "renameByName": names, "indexByName": {}}
    return [{"id": "merge", "options": {}}, {"id": "organize", "options": told}]


_LAST: dict[str, Any] = {"calcs": ["lastNotNull"], "fields": "", "values": False}
_OPTIONS: Mapping[str, dict[str, Any]] = {
    "timeseries": {
        "legend": {"displayMode": "table", "placement": "bottom", "showLegend": True, "calcs": ["lastNotNull", "max"]},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    "stat": {
        "reduceOptions": _LAST,
        "colorMode": "value",
        "graphMode": "area",
        "justifyMode": "auto",
        "orientation": "auto",
        "textMode": "auto",
    },
    "bargauge": {"reduceOptions": _LAST, "displayMode": "basic", "orientation": "horizontal", "showUnfilled": True},
    "table": {"showHeader": True, "cellHeight": "sm"},
}
