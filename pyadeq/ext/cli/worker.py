"""`adeq worker`: processes that run the tasks of a queue, from here and elsewhere."""

from __future__ import annotations

import typer

from pyadeq.ext.cli import worker_look, worker_run, worker_steer

app = typer.Typer(help="Workers: processes that run the tasks of a queue.", no_args_is_help=True)


@app.callback()
def noun() -> None:
    """Workers: processes that run the tasks of a queue."""


app.command()(worker_run.run)
app.command()(worker_look.ls)
app.command()(worker_look.show)
app.command()(worker_steer.quiet)
app.command()(worker_steer.resume)
app.command()(worker_steer.stop)
app.command()(worker_steer.restart)
app.command()(worker_steer.resize)
