"""`adeq worker`: processes that run the tasks of a queue, from here and elsewhere."""

from __future__ import annotations

from pyadeq.ext.cli.shared.tree import NOUNS, noun
from pyadeq.ext.cli.worker import control as worker_control
from pyadeq.ext.cli.worker import run as worker_run

app = noun(NOUNS["worker"])


app.command()(worker_run.run)
app.command("quiet")(worker_control.quiet)
app.command("resume")(worker_control.resume)
app.command("stop")(worker_control.stop)
app.command("restart")(worker_control.restart)
app.command()(worker_control.resize)
