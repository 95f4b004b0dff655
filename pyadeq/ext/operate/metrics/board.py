"""The board for Grafana, in JSON: the panels of the table, the alerts that fire, and marks as annotations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from pyadeq.ext.operate.metrics.rules import ALERTS, QUANTILES
from pyadeq.ext.operate.metrics.table import BOARD, Metric, Panel

WIDTH: Final = 24
"""Columns of the grid of Grafana."""
ACROSS: Final = 3
"""Panels beside each other."""
HEIGHT: Final = 8
SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
MARKS: Final = "1000 * max by (mark) (adeq_mark_timestamp_seconds)"
"""Grafana counts milliseconds. It takes the value for the time of the annotation."""
FIRING: Final = (
    f'max by (alertname) (ALERTS{{alertstate="firing", alertname=~"{"|".join(one.name for one in ALERTS)}"}})'
)


class Query(NamedTuple):
    """A query of a panel. `$queue` in it is a choice on the board. legend: `{{ }}` is a label."""

    expression: str
    legend: str


class Drawn(NamedTuple):
    """A panel as the board has it."""

    row: str
    title: str
    unit: str
    help: str
    as_list: bool
    queries: tuple[Query, ...]


def panels() -> Iterator[Drawn]:
    """Yield all panels, in the order of the board."""
    firing = Query(FIRING, "{{alertname}}")
    yield Drawn(
        BOARD[0].title,
        "Alerts",
        "short",
        "Alerts that fire. They need the file of adeq metrics --rules.",
        False,
        (firing,),
    )
    for row in BOARD:
        for panel in row.panels:
            queries = tuple(query for one in panel.metrics for query in _queries(one, panel))
            help = "\n\n".join(f"{one.name}: {one.help}" for one in panel.metrics)
            yield Drawn(row.title, panel.title, panel.unit, help, panel.as_list, queries)


def _queries(metric: Metric, panel: Panel) -> Iterator[Query]:
    """Exporters of one installation agree, so the highest value is each one's."""
    labels = metric.labels or ("instance",)
    chosen = '{queue=~"$queue"}' if "queue" in labels else ""
    by = ", ".join(labels)
    own = "" if len(panel.metrics) == 1 else metric.name.removeprefix("adeq_").removesuffix("_total").replace("_", " ")
    legend = " ".join([*([own] if own else []), *(f"{{{{{label}}}}}" for label in labels)])
    if metric.kind == "histogram":
        for quantile in QUANTILES:
            buckets = f"max by ({by}, le) (rate({metric.name}_bucket{chosen}[5m]))"
            yield Query(f"histogram_quantile({quantile}, {buckets})", f"{float(quantile):.0%} {legend}")
    elif metric.kind == "counter":
        yield Query(f"max by ({by}) (rate({metric.name}{chosen}[5m]))", legend)
    elif metric.name.endswith("_timestamp_seconds"):
        yield Query(f"1000 * max by ({by}) ({metric.name})", legend)
    else:
        yield Query(f"max by ({by}) ({metric.name}{chosen})", legend)


def board() -> str:
    """Return the board: a file to import in Grafana."""
    return json.dumps(_board(), indent=2, ensure_ascii=False) + "\n"


def _board() -> dict[str, Any]:
    return {
        "uid": "adeq",
        "title": "adeq",
        "description": "Queues, locks, changes, sessions, rates and events. Written by adeq metrics --board",
        "tags": ["adeq"],
        "schemaVersion": 38,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [_source(), _queue()]},
        "annotations": {"list": [_marks()]},
        "panels": list(_placed()),
    }


def _source() -> dict[str, Any]:
    return {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _queue() -> dict[str, Any]:
    query = "label_values(adeq_tasks, queue)"
    return {
        "name": "queue",
        "label": "Queue",
        "type": "query",
        "datasource": SOURCE,
        "definition": query,
        "query": {"query": query, "refId": "queue"},
        "refresh": 2,  # when the time range changes
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _marks() -> dict[str, Any]:
    return {
        "name": "Deployments",
        "datasource": SOURCE,
        "enable": True,
        "iconColor": "purple",
        "expr": MARKS,
        "step": "60s",
        "titleFormat": "{{mark}}",
        "useValueForTime": True,
    }


def _placed() -> Iterator[dict[str, Any]]:
    """Give each panel its place: rows of three."""
    width, row, column, y = WIDTH // ACROSS, "", 0, 0
    for id, panel in enumerate(panels(), 1):
        if panel.row != row:
            y += HEIGHT if column else 0
            row, column = panel.row, 0
            place = {"h": 1, "w": WIDTH, "x": 0, "y": y}
            yield {"id": 1000 + id, "type": "row", "title": row, "collapsed": False, "panels": [], "gridPos": place}
            y += 1
        yield {"id": id, **_panel(panel), "gridPos": {"h": HEIGHT, "w": width, "x": column * width, "y": y}}
        column += 1
        if column == ACROSS:
            column, y = 0, y + HEIGHT


def _panel(panel: Drawn) -> dict[str, Any]:
    now = {"instant": True, "format": "table"} if panel.as_list else {"range": True}
    return {
        "type": "table" if panel.as_list else "timeseries",
        "title": panel.title,
        "description": panel.help,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit, **({} if panel.as_list else {"min": 0})}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + at),
                "datasource": SOURCE,
                "expr": one.expression,
                "legendFormat": one.legend,
                **now,
            }
            for at, one in enumerate(panel.queries)
        ],
    }
