"""The tree of commands: options that all of them share are accepted before the noun, before the verb and after it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.shared.common import PLACE
from pyadeq.ext.cli.shared.profiles import profile
from pyadeq.keys import check_name

PLAIN: dict[str, Any] = {"rich_markup_mode": None, "pretty_exceptions_enable": False}
NOUNS = {
    "worker": "Workers: processes that run the tasks of a queue.",
    "queue": "Queues: their contents, mode and settings.",
    "task": "Tasks: enqueue, show and cancel them; claim and end them in scripts.",
    "dead": "Dead tasks: show them, run them again, delete them.",
    "schedule": "Schedules: tasks that are enqueued at certain times.",
    "limit": "Limits: how many tasks run at a time, and start per period.",
    "share": "Fair shares: the weights of users.",
    "lock": "Locks: hold one while a command runs; see who holds and waits.",
    "change": "Changes: put, review and apply them. A reviewer begins with adeq inbox.",
    "flag": "Feature flags: which variant a program gets, and for whom.",
    "archive": "Archives: events, ended tasks and changes, in a folder or a bucket.",
    "migrate": "Migrations: waiting tasks of another queue move into pyadeq, and back; "
    "a queue moves to another server.",
    "token": "Tokens of the REST service: who may do what.",
    "webhook": "Webhooks: signed messages about events, to the URLs of others.",
    "post": "Posts to Zulip, ntfy, Slack and others: dead tasks, and approvals that wait.",
    "profile": "Profiles: names of servers, for --profile.",
    "rate": "Rates: how often something may happen, or how much at a time.",
    "session": "Sessions: who is logged in, and logins to end.",
    "config": "Configs: versioned values of names.",
    "events": "Events: groups that read them, at least once.",
    "scripts": "Scripts: the Lua code of this release.",
}
"""The help of each noun that has a module here, so that the list of commands imports none of them."""
WITH_VALUE = ("--url", "--output", "-o", "--prefix", "--slot", "--codec", "--profile", "--queue", "--domain", "-d")
FLAGS = ("--cluster",)
SHORT = ("-o", "-d")  # the value may follow without a space

Prefix = Annotated[str, typer.Option(envvar="ADEQ_PREFIX", metavar="NAME", help="The start of all keys on the server.")]
Slot = Annotated[
    str | None, typer.Option(envvar="ADEQ_SLOT", metavar="NAME", help="The hash slot that all keys share, if they do.")
]
Cluster = Annotated[bool, typer.Option("--cluster", envvar="ADEQ_CLUSTER", help="The server is a node of a cluster.")]
CodecPath = Annotated[
    str | None,
    typer.Option(
        envvar="ADEQ_CODEC", metavar="MODULE:NAME", help="What signs or encrypts payloads, results and errors."
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        envvar="ADEQ_PROFILE", metavar="NAME", help="The server of a profile in your file, see adeq profile ls --help."
    ),
]


def made_help(plural: str) -> str:
    """The help of a noun whose commands are made from its scripts."""
    return f"{plural.capitalize()}: made from the scripts of this release."


class ReaderGone(Exception):
    """Whoever read our output has closed it, as `head` does."""


class Group(typer.core.TyperGroup):
    """A group of commands."""

    with_value: ClassVar[Sequence[str]] = WITH_VALUE

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Move shared options behind the command."""
        return super().parse_args(ctx, behind_the_command(args, self.with_value))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command, which also accepts the options that say where the queues are."""
        command = super().get_command(ctx, cmd_name)
        return command and with_place(command)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Accept --queue also where the queue is an argument, and the reverse."""
        name, command, rest = super().resolve_command(ctx, args)
        params = command.params if command else []
        if params and params[0].metavar == "QUEUE":
            rest = queue_first(rest)
        elif rest and not rest[0].startswith("-") and takes_only_options(params):
            rest = ["--queue", *rest]
        return name, command, rest


class Root(Group):
    """The group of all nouns. A reader that goes away ends any command without an error."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Parse; --help and --version print here."""
        with reader():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with reader():
            return super().invoke(ctx)


@contextmanager
def reader() -> Iterator[None]:
    """Tell a closed pipe from other errors of the system, before typer makes exit status 1 of both."""
    try:
        yield
    except BrokenPipeError:
        raise ReaderGone from None


def close_output() -> None:
    """Write what is left. Python would complain at exit about a reader that went away."""
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None: it was closed when the command began
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def noun(help: str) -> typer.Typer:
    """A noun, to which verbs are added."""
    app = typer.Typer(cls=Group, help=help, no_args_is_help=True)
    app.callback()(lambda: None)  # a noun with one verb stays a group
    return app


def behind_the_command(args: Sequence[str], with_value: Sequence[str] = WITH_VALUE) -> list[str]:
    """The arguments with shared options that come before the command moved to right behind it."""
    kept: list[str] = []
    moved: list[str] = []
    rest = list(args)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        option, has_value, _ = word.partition("=")
        if word in FLAGS or (option in with_value and has_value) or (word[:2] in SHORT and word not in SHORT):
            moved.append(word)
        elif word in with_value:
            moved += [word, *rest[:1]]
            del rest[:1]
        else:
            kept.append(word)
    return [*kept, rest[0], *moved, *rest[1:]] if rest else kept


def takes_only_options(params: Sequence[Any]) -> bool:
    """Whether a command has no arguments, and the option --queue."""
    options = [one for one in params if one.param_type_name == "option"]
    return len(options) == len(params) and any("--queue" in one.opts for one in options)


def queue_first(args: Sequence[str]) -> list[str]:
    """The arguments with the value of --queue as the first of them."""
    for place, word in enumerate(args):
        if word == "--":
            break
        if word == "--queue" and place + 1 < len(args):
            return [args[place + 1], *args[:place], *args[place + 2 :]]
        if word.startswith("--queue="):
            return [word.removeprefix("--queue="), *args[:place], *args[place + 1 :]]
    return list(args)


def with_place(command: Any) -> Any:
    """A command that also accepts the options that say where the queues are; its help is not made longer."""
    if not hasattr(command, "list_commands") and all(one.name != "prefix" for one in command.params):
        _name_all(command)
        command.params = [*command.params, *_place_options()]
    return command


def _name_all(command: Any) -> None:
    """The usage line has each argument, the option that names the queue, and the options that must be given."""
    for one in command.params:
        name = one.metavar or one.name.upper()
        if one.param_type_name == "argument":
            shown = name if one.required or name.startswith("[") else f"[{name}]"
            one.get_usage_pieces = lambda _, shown=shown: [shown]
        elif one.required or one.default == "default":
            option = one.opts[0]
            command.options_metavar += f" {option} {name}" if one.required else f" [{option} {one.name.upper()}]"


def _place_options() -> list[Any]:
    """Options that change PLACE, and are no arguments of the function behind the command. A profile gives defaults to
    the others, so it is read before them.
    """
    app = typer.Typer(add_completion=False, **PLAIN)
    app.command()(_place)
    options = [one for one in typer.main.get_command(app).params if one.name in _place.__annotations__]
    for one in options:
        one.hidden, one.expose_value = True, False  # type: ignore[attr-defined]
        one.is_eager, one.callback = (True, _set_profile) if one.name == "profile" else (False, _set)
    return options


def _set_profile(ctx: Any, param: Any, value: str | None) -> None:
    """Make a profile the default of all options. An environment that says something else is refused if it was named
    beside the command.
    """
    found = profile(value)
    given = ctx.get_parameter_source(param.name)
    for name in found if given is not None and given.name == "COMMANDLINE" else ():
        if os.environ.get(variable := f"ADEQ_{name.upper()}", str(found[name])) != str(found[name]):
            raise ConfigError(f"--profile {value}: {variable} is set, and says something else; unset {variable}")
    ctx.default_map = found


def _place(
    profile: Profile = None,
    prefix: Prefix = PLACE.prefix,
    slot: Slot = None,
    cluster: Cluster = False,
    codec: CodecPath = None,
) -> None:
    """The options that say where the queues are."""


def _set(ctx: Any, param: Any, value: Any) -> Any:
    if param.name in ("prefix", "slot") and value is not None:
        check_name(f"--{param.name}", value)
    setattr(PLACE, param.name, value)
    return value
