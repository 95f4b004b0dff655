"""The command line, composed of its commands, and how errors end the process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar, NoReturn

import typer
from typer.core import TyperCommand

from pyadeq import __version__, library
from pyadeq.errors import AdeqError, BadArgument, ConfigError, TransportError
from pyadeq.ext.cli.shared.common import DEFAULT_URL, FAILED, PLACE, UNREACHABLE, USAGE, Format, Output, Url
from pyadeq.ext.cli.shared.made_facts import made
from pyadeq.ext.cli.shared.tree import (
    NOUNS,
    PLAIN,
    Cluster,
    CodecPath,
    Prefix,
    Profile,
    ReaderGone,
    Root,
    Slot,
    close_output,
    made_help,
    with_place,
)

HERE = Path(__file__).parent
ROOMS = ("operate", "outgoing", "prove", "change")
"""The folders here that have more than the commands of one noun."""


class Commands(Root):
    """Commands and nouns, each imported when it is used: none has to wait for what others need."""

    verbs: ClassVar = {
        "init": "Write a task, a worker, a test and an AGENTS.md, to start from.",
        "inbox": "List the changes that wait for your answer, the most urgent first.",
        "annotate": "Record a moment that charts show, such as a deployment.",
        "dev-server": "Run a private server that your terminals share.",
        "serve": "Serve the REST interface of queues, locks, changes and all else.",
        "metrics": "Export metrics for Prometheus.",
        "send": "Send webhooks and posts.",
        "maintain": "Do what has to happen without being asked, for a whole installation.",
        "doctor": "Check a server's settings and say what to change, why and how.",
        "after-restore": "After a restore of old data: end all sessions and tokens, and raise the fences.",
        "chaos": "Test whether this deployment loses anything when it fails.",
        "bench": "Measure the cost of a task, a worker's throughput and latency.",
        "bindings": "Write a client for another language.",
        "demo": "Run real work, kill a worker, and prove that nothing is lost.",
    }
    nouns = (
        "worker",
        "queue",
        "task",
        "dead",
        "schedule",
        "limit",
        "share",
        "lock",
        "change",
        "flag",
        "archive",
        "migrate",
        "token",
        "webhook",
        "post",
        "profile",
    )
    """Nouns in the order of the help. The other nouns of the manifest follow. If such a noun has no module here, its
    commands are made from the manifest."""
    last = "scripts"
    listed = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands in the order of the help."""
        others = [word for word in library().manifest["nouns"] if word not in (*self.nouns, self.last)]
        return [*self.verbs, *self.nouns, *others, self.last]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list of commands in the help."""
        with self._only_listed():
            super().format_commands(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """The commands that begin like this."""
        with self._only_listed():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _only_listed(self) -> Iterator[None]:
        """Answer with commands that have a name and a help, and import none of them."""
        self.listed = True
        try:
            yield
        finally:
            self.listed = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of this name; None if there is none."""
        if cmd_name not in self.list_commands(ctx):
            return None
        if self.listed:
            return TyperCommand(cmd_name, help=help_of(cmd_name), short_help=self.verbs.get(cmd_name))
        return command_of(cmd_name)


def help_of(name: str) -> str:
    """The help of a command or a noun, as far as lists show it."""
    if name in Commands.verbs:
        return Commands.verbs[name]
    return NOUNS[name] if module_of(name) or name in made() else made_help(library().manifest["nouns"][name]["plural"])


@cache
def module_of(name: str) -> str | None:
    """The module of a command or noun, if it has one of its own. It is not imported."""
    word = name.replace("-", "_")
    for path in (f"{word}/app", word, *(f"{room}/{word}" for room in ROOMS)):
        if (HERE / f"{path}.py").exists():
            return f"pyadeq.ext.cli.{path.replace('/', '.')}"
    return None


@cache
def command_of(name: str) -> Any:
    """The command of this name, or the group of a noun; to put it together takes longer than most calls."""
    module: Any = import_module(module_of(name) or f"pyadeq.ext.cli.shared.{'made' if name in made() else 'generated'}")
    alone = typer.Typer(**PLAIN)
    if help := Commands.verbs.get(name):
        alone.command(name, short_help=help)(getattr(module, name.replace("-", "_")))
    else:
        group = module.app if module_of(name) else module.Commands(name).app
        if name in made():
            import_module("pyadeq.ext.cli.shared.made").add_made(group, name)
        alone.add_typer(group, name=name)
    return with_place(typer.main.get_group(alone).commands[name])


app = typer.Typer(
    name="adeq",
    cls=Commands,
    help="Task queues and locks on Redis or Valkey. The options below may also come after the command.",
    epilog="Exit status: 0 ok, 1 failed, 2 usage, 3 the server is unreachable.",
    no_args_is_help=True,
    **PLAIN,
)


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
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
    prefix: Prefix = PLACE.prefix,
    slot: Slot = None,
    cluster: Cluster = False,
    codec: CodecPath = None,
    profile: Profile = None,
) -> None:
    """Queues and locks as versioned Lua on Redis or Valkey. These options may also come after the command."""


def run() -> NoReturn:
    """Run the command line. An expected error is one line, without a traceback."""
    try:
        app(prog_name="adeq")
    except ReaderGone:
        sys.exit(0)
    except TransportError as error:
        leave(UNREACHABLE, error)
    except (ConfigError, BadArgument) as error:
        leave(USAGE, error)
    except AdeqError as error:
        leave(FAILED, error)
    finally:
        close_output()
    sys.exit(0)


def leave(status: int, error: AdeqError) -> NoReturn:
    """Say what went wrong and exit."""
    print(f"adeq: {error}", file=sys.stderr)
    sys.exit(status)
