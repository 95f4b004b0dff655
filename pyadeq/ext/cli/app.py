"""The commands put together, and how their errors end the process."""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from pyadeq import __version__
from pyadeq.errors import AdeqError, BadArgument, ConfigError, TransportError
from pyadeq.ext.cli import demo, queue, scripts, worker
from pyadeq.ext.cli.common import FAILED, UNREACHABLE, USAGE

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
app.add_typer(scripts.app, name="scripts")
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
) -> None:
    """Queues and locks as versioned Lua on Redis or Valkey."""


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
    sys.exit(0)


def leave(status: int, error: AdeqError) -> NoReturn:
    """Say what went wrong and exit."""
    print(f"adeq: {error}", file=sys.stderr)
    sys.exit(status)
