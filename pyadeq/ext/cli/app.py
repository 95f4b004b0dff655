"""The commands put together, and how their errors end the process."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Annotated, NoReturn

import typer

from pyadeq import __version__
from pyadeq.errors import AdeqError, BadArgument, ConfigError, TransportError
from pyadeq.ext.cli import demo, dlq, doctor, limit, lock, queue, schedule, scripts, share, task, worker
from pyadeq.ext.cli.common import FAILED, PLACE, UNREACHABLE, USAGE
from pyadeq.keys import check_name

app = typer.Typer(
    name="adeq",
    help="Queues and locks as versioned Lua on Redis or Valkey.",
    epilog="Exit status: 0 ok, 1 failed, 2 usage, 3 the server is unreachable.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(worker.app, name="worker")
app.add_typer(queue.app, name="queue")
app.add_typer(task.app, name="task")
app.add_typer(dlq.app, name="dlq")
app.add_typer(schedule.app, name="schedule")
app.add_typer(limit.app, name="limit")
app.add_typer(share.app, name="share")
app.add_typer(lock.app, name="lock")
app.add_typer(scripts.app, name="scripts")
app.command("doctor", short_help="Is the server fit to keep tasks? What to change, why and how.")(doctor.doctor)
app.command("demo", short_help="Real work, one worker killed, nothing lost.")(demo.demo)


def show_version(wanted: bool) -> None:
    """Print the version and exit."""
    if wanted:
        print(f"adeq {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    prefix: Annotated[
        str, typer.Option(envvar="ADEQ_PREFIX", metavar="NAME", help="The start of all keys on the server.")
    ] = PLACE.prefix,
    slot: Annotated[
        str | None,
        typer.Option(envvar="ADEQ_SLOT", metavar="NAME", help="The slot that all of them share, if they do."),
    ] = None,
    cluster: Annotated[
        bool, typer.Option("--cluster", envvar="ADEQ_CLUSTER", help="The server is one of a cluster of several.")
    ] = False,
) -> None:
    """Queues and locks as versioned Lua on Redis or Valkey."""
    PLACE.prefix = check_name("--prefix", prefix)
    PLACE.cluster = cluster
    PLACE.slot = None if slot is None else check_name("--slot", slot)


def run() -> NoReturn:
    """Run the command line. What is expected to go wrong is told in a line, without a traceback."""
    try:
        app(prog_name="adeq")
    except TransportError as error:
        leave(UNREACHABLE, error)
    except (ConfigError, BadArgument) as error:
        leave(USAGE, error)
    except AdeqError as error:
        leave(FAILED, error)
    with suppress(BrokenPipeError):
        sys.stdout.flush()
        sys.exit(0)
    # Whoever read our output has gone; Python would complain about what is left.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def leave(status: int, error: AdeqError) -> NoReturn:
    """Say what went wrong and exit."""
    print(f"adeq: {error}", file=sys.stderr)
    sys.exit(status)
