"""Metrics for Prometheus. They need the extra `metrics`: pip install "pyadeq[metrics]"."""

from __future__ import annotations

from pyadeq.ext.metrics.collector import AdeqCollector

__all__ = ["AdeqCollector"]
