"""`adeq bench`: what a queue costs on this machine and this server, each figure beside that of the bare commands."""

from __future__ import annotations

from pyadeq.ext.prove.bench.figures import Figure, Report
from pyadeq.ext.prove.bench.plots import draw
from pyadeq.ext.prove.bench.run import SUBJECTS, run

__all__ = ["SUBJECTS", "Figure", "Report", "draw", "run"]
