"""`adeq worker`: processes that run the tasks of a queue, from here and elsewhere."""

from __future__ import annotations

from pyadeq.ext.cli.shared.tree import NOUNS, noun
from pyadeq.ext.cli.worker import run as worker_run
from pyadeq.ext.cli.worker import steer as worker_steer

app = noun(NOUNS["worker"])


app.command()(worker_run.run)
app.command("quiet")(worker_steer.quiet)
app.command("resume")(worker_steer.resume)
app.command("stop")(worker_steer.stop)
app.command("restart")(worker_steer.restart)
app.command()(worker_steer.resize)
