"""`adeq worker`: processes that run the tasks of a queue, from here and elsewhere."""

from __future__ import annotations

from pyadeq.ext.cli import worker_run, worker_steer
from pyadeq.ext.cli.tree import NOUNS, noun

app = noun(NOUNS["worker"])


app.command()(worker_run.run)
app.command("quiet")(worker_steer.quiet)
app.command("resume")(worker_steer.resume)
app.command("stop")(worker_steer.stop)
app.command("restart")(worker_steer.restart)
app.command()(worker_steer.resize)
