"""Metrics for Prometheus. The collector needs the extra `metrics`: pip install "pyadeq[metrics]"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyadeq.ext.operate.metrics.collector import AdeqCollector

__all__ = ["AdeqCollector"]


def __getattr__(name: str) -> Any:
    if name != "AdeqCollector":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pyadeq.ext.operate.metrics.collector import AdeqCollector

    return AdeqCollector
