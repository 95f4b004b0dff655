"""The numbers of one worker for Prometheus: its health, as its health port reports it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

KIND = CONTENT_TYPE_LATEST


class HealthCollector(Collector):
    """The metrics of a worker at one moment. Times are in seconds. health: the fields of a Health."""

    def __init__(self, health: Mapping[str, Any]) -> None:
        self._health = health

    def collect(self) -> Iterator[Any]:
        """Yield the metrics."""
        health = self._health
        slots = GaugeMetricFamily("adeq_worker_slots", "Tasks that run (busy) or could run (free).", labels=["state"])
        slots.add_metric(["busy"], health["running"])
        slots.add_metric(["free"], max(0, health["concurrency"] - health["running"]))
        yield slots
        yield GaugeMetricFamily("adeq_worker_taking", "Whether the worker takes tasks.", health["mode"] == "run")
        yield GaugeMetricFamily(
            "adeq_worker_loop_age_seconds", "Time since the event loop last moved.", health["loop_age"]
        )
        if health["server_age"] != math.inf:
            yield GaugeMetricFamily(
                "adeq_worker_server_age_seconds", "Time since the last good answer of the server.", health["server_age"]
            )
        ended = CounterMetricFamily("adeq_worker_attempts", "Attempts that have ended.", labels=["outcome"])
        ended.add_metric(["done"], health["done"] - health["failed"])
        ended.add_metric(["failed"], health["failed"])
        yield ended
        yield CounterMetricFamily(
            "adeq_worker_put_aside",
            "Times that a task was put aside because the worker does not know its kind or version.",
            health["put_aside"],
        )
        yield CounterMetricFamily(
            "adeq_worker_ignored_arguments",
            "Arguments of tasks that were ignored because the function does not have them.",
            health["ignored_arguments"],
        )
        yield CounterMetricFamily(
            "adeq_worker_loop_blocks", "Times that a blocked event loop was reported.", health["loop_blocks"]
        )


def exposition(health: Mapping[str, Any]) -> bytes:
    """Return the metrics as text."""
    registry = CollectorRegistry()
    registry.register(HealthCollector(health))
    return generate_latest(registry)
