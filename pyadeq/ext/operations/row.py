"""A row of the table of operations: where it is, what it does, and who may do it. Nothing here knows a server."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal, get_args

FOLDERS: Final = {
    "queue": "queues",
    "lock": "locks",
    "change": "changes",
    "session": "sessions",
    "rate": "rates",
    "config": "configs",
}
"""The folder of a noun's objects in paths, below /v1."""
WRITERS: Final = frozenset({"queue.produce", "queue.work"})
"""Rights with which one puts tasks into a queue or takes them out."""
_NOUNS: Final = {folder: noun for noun, folder in FOLDERS.items()} | {
    "flags": "config",
    "events": "events",
    "tokens": "",
    "webhooks": "",
}
_LEFT_OUT: Final = {"self", "progress", "retry_for", "rid", "expect", "caller"}
"""Arguments that are functions, or that a caller of another process has no use for. `expect` is `If-Match`, and
`caller` is who has authenticated.
"""
_ACTORS: Final = frozenset({"actor", "agent"})

ByUser = Literal["refused", "own", "all"]
"""What a token for one user may do with an operation: nothing; with the records of this user, and others do not exist;
or the same as others, because the records belong to no user. In changes, it acts as its user.
"""


@dataclass(frozen=True)
class Command:
    """The command of an operation, made from the method and this.

    usage: its words, then what it takes in this order, in capitals: `task run-now QUEUE ID...`. `...` stands for any
    number: the command makes a call for each, unless the method takes a list. `[USER]` may be left out. The other
    arguments of the method are options, and so is the name of the noun's object if it is not in the usage. Their
    help is that of the method's docstring. A word that is no argument chooses what is shown of a list: what has this
    field, or `[START]`, what begins so.
    help: the help of the command; "": the first paragraph of the method's docstring.
    method: if the operation of the service is by hand.
    good: the statuses with which all is well, separated by spaces. With another one, the command exits with 1. A
    method that returns True means the first of them, and False `not_found`; `done` is the first of them, too.
    fails: when that is, in words: `a task is not dead`.
    text: the answer for people, with the fields of the answer and the arguments in braces, `{ended:session}` with the
    word. Without, they are a table. An answer that is a number has the name that is in braces here.
    columns: of that table, if the answer is a list, separated by spaces; the last are left out first if all are too
    wide. ask: what is asked before, unless with --yes.
    """

    usage: str
    help: str = ""
    method: Callable[..., Any] | None = None
    good: str = ""
    fails: str = ""
    text: str = ""
    columns: str = ""
    ask: str = ""


@dataclass(frozen=True)
class Button:
    """The button of an operation, on the board's page of what it is about.

    states: in which it is there. said: what the page says afterwards, with the status in braces.
    ask: what is asked before. leads: below the noun's object, where the page goes if its subject is gone.
    """

    title: str
    states: tuple[str, ...]
    said: str
    kind: Literal["main", "danger", ""] = ""
    ask: str = ""
    leads: str = ""


@dataclass(frozen=True)
class Operation:
    """An operation at a path, and who may do it.

    at: the HTTP method and the path below /v1, as in `GET /queues/{queue}/stats`.
    method: of the class of the noun's object, or of one of its areas; None: a function by hand.
    needs: one of these rights, separated by spaces. A word without a point is a role in the noun.
    also: a further right that one needs, such as `events.follow`.
    by_user: what a token for one user may do with it, see `ByUser`.
    person: the argument that names the person whose record it is. Others need `actor.any`.
    feeds: whether it puts tasks into a queue, so that it is refused in the queues of the service itself. So is all that
    needs only the roles of producers and workers.
    area: the attribute of the object that has the method: `limits`.
    refused: words that the method answers, and the status of the problem that they are here.
    says: what to tell people about such words, with the fields of the answer and the path in braces.
    create: whether the noun's object need not exist before.
    name: of the operation, if it is not area and method. by hand: with the word before it, as in `task_enqueue`.
    without: arguments that it does not have.
    seen: the method's first argument is a revision of a change: the id is in the path, rev and digest in the body.
    required: options that the method cannot do without.
    one_of: options of which it needs exactly one.
    about: the word for the record in the path that it is about, if that is not the noun's object: `task`. With
    by_user="own", the record must be one of the user's.
    command: of the command line. button: of the board.
    etag: the answer has an ETag of its content, and `If-None-Match` gets 304.
    """

    at: str
    method: Callable[..., Any] | None = None
    needs: str = ""
    area: str = ""
    refused: Mapping[str, int] = field(default_factory=dict)
    says: Mapping[str, str] = field(default_factory=dict)
    create: bool = False
    name: str = ""
    without: tuple[str, ...] = ()
    seen: bool = False
    by_user: ByUser = "refused"
    person: str = ""
    feeds: bool = False
    also: str = ""
    required: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    etag: bool = False
    about: str = ""
    command: Command | None = None
    button: Button | None = None

    def at_terminal(self, usage: str, help: str = "", **more: Any) -> Operation:
        """Return this operation with a command."""
        return replace(self, command=Command(usage, help, **more))

    @cached_property
    def verb(self) -> str:
        """The method of HTTP: GET, POST, PUT, PATCH or DELETE."""
        return self.at.split()[0]

    @cached_property
    def path(self) -> str:
        """The path below /v1, such as `/queues/{queue}/tasks`."""
        return self.at.split()[1]

    @cached_property
    def noun(self) -> str:
        """What it is about, by its path. `events` are those of the noun in the path."""
        return _NOUNS.get(self.path.split("/")[1].partition(":")[0], "queue")

    @cached_property
    def rights(self) -> tuple[str, ...]:
        """The rights of which one is needed. Those of events are of the noun in the path."""
        noun = "{noun}" if self.noun == "events" else self.noun
        return tuple(word if "." in word else f"{noun}.{word}" for word in self.needs.split())

    def columns(self) -> dict[str, Any]:
        """Return the columns that say who may do it, for the description of the service."""
        return {
            "rights": [*self.rights],
            "also": self.also,
            "by_user": self.by_user,
            "acts": self.acts,
            "person": self.person,
            "feeds": self.feeds or WRITERS.issuperset(self.rights),
        }

    @cached_property
    def acts(self) -> bool:
        """Whether it stores an actor, who is the principal; another one needs `actor.any`. A lock has none."""
        return self.method is not None and self.noun == "change" and bool(_ACTORS.intersection(self.arguments))

    @cached_property
    def id(self) -> str:
        """`queue_limits_set`: what the description of the service, and so generated clients, call it."""
        return f"{self.about or self.noun}_{self.word}" if self.method else self.name

    @cached_property
    def word(self) -> str:
        """The name of the operation in a word. For a method, it has the area and the method: `limits_set`."""
        if self.name or not self.method:
            return self.name
        return "_".join([*self.area.split("."), self.method.__name__]).strip("_")

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature of the method, with evaluated annotations."""
        assert self.method
        return inspect.signature(self.method, eval_str=True)

    @cached_property
    def arguments(self) -> dict[str, tuple[Any, Any]]:
        """The arguments of a method: type and default, `...` if there is none. Those of a TypedDict are one by one.

        Who acts need not be given: it is who asks.
        """
        found: dict[str, tuple[Any, Any]] = {}
        needed = set(self.required)
        if self.seen:
            found |= {"id": (str, ...), "rev": (int, ...), "digest": (str, ...)}
        for name, parameter in self.signature.parameters.items():
            if name in _LEFT_OUT or (self.seen and name == "seen"):
                continue
            kind, default = parameter.annotation, parameter.default
            if parameter.kind == inspect.Parameter.VAR_KEYWORD:
                for options in get_args(kind):
                    for key, value in typing.get_type_hints(options).items():
                        if key in _LEFT_OUT:
                            continue
                        found[key] = (value, ... if key in needed | options.__required_keys__ else None)
            else:
                found[name] = (kind, ... if default is inspect.Parameter.empty else default)
        for name in _ACTORS.intersection(found):
            found[name] = (str | None, None)
        return {name: of for name, of in found.items() if name not in self.without}
