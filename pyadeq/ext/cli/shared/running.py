"""How commands run: each gets what its arguments name, and returns its answer.

    @app.command()
    @with_client
    def pause(queue: ThisQueue) -> Document:
        \"\"\"Stop leasing tasks until `resume`.\"\"\"
        queue.admin.pause()
        return Document({"queue": queue.name, "mode": "paused"}, f"queue {queue.name} is paused")

This adds `--url` and `--output`, connects, finds the queue, and prints JSON or text. A command that must know how its
answer is shown, because it prints while it works, names `output` among its parameters.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args, get_origin

import typer

from pyadeq.ext.cli.shared.common import DEFAULT_URL, FAILED, Format, Output, Url, connected, print_json, print_lines
from pyadeq.ext.cli.shared.tables import print_fields, print_rows

if TYPE_CHECKING:
    from pyadeq import Adeq
    from pyadeq.errors import AdeqError
    from pyadeq.models.base import Model

Plain: TypeAlias = "Mapping[str, Any] | Model"
Row: TypeAlias = Callable[[Any], Sequence[object]]


@dataclass(frozen=True)
class Table:
    """Rows for people. right: columns of numbers. spare: columns to leave out first, see `print_rows`."""

    columns: Sequence[str]
    rows: Iterable[Sequence[object]]
    right: Sequence[str] = ()
    spare: Sequence[str] = ()


Shown: TypeAlias = "str | Table | Mapping[str, object] | Callable[[], object] | list[Shown]"
"""What people see: a sentence, rows, names with values, what a function prints, or several of them."""


@dataclass(frozen=True)
class Document:
    """An answer that is one JSON document.

    value: the document. shown: the same for people; None: the fields of the document.
    note: more for people, on stderr. warning: the same in every form of the answer.
    failed: the command exits with 1; an error is printed, too.
    """

    value: Any
    shown: Shown | None = None
    note: str = ""
    warning: str = ""
    failed: bool | AdeqError = False

    def show(self, output: Format) -> None:
        """Print it."""
        if output != Format.table:
            print_json(self.value, output)
        else:
            _print(self.value if self.shown is None else self.shown)


def each(value: Mapping[str, Any], *good: str, columns: Sequence[str] = (), row: Row | None = None) -> Document:
    """An answer whose last field is a list of things, each with a status. It fails unless all statuses are good.

    columns, row: the table; none: the fields of the list.
    """
    things: Sequence[Mapping[str, Any]] = [*value.values()][-1]
    rows = ([cell or "" for cell in one.values()] if row is None else row(one) for one in things)
    failed = any(one["status"] not in good for one in things)
    missing = [str(next(iter(one.values()))) for one in things if one["status"] == "not_found"]
    what, name = next(iter(value.items()))
    note = f"not found in {what} {name!r}: {', '.join(missing)}; --{what} names another {what}" if missing else ""
    return Document(value, Table(columns or [*things[0]], rows), note, failed=failed)


@dataclass(frozen=True)
class Lines:
    """An answer that is a list: a JSON array, or one value a line.

    values: of any number, taken one by one. plain: a value as JSON has it; None: it is such a value.
    columns, row: the table, and the row of a value; row None: the values of its JSON. rows: in place of row, if a value
    may have several. right, spare, styles: see `print_rows`.
    limit: how many values are shown; None: all. People hear if there are more.
    note: more for people, on stderr; none: the same if the list is empty. warning: in every form of the answer.
    """

    values: Iterable[Any]
    columns: Sequence[str]
    row: Row | None = None
    plain: Callable[[Any], Any] | None = None
    rows: Callable[[Any], Iterable[Sequence[object]]] | None = None
    right: Sequence[str] = ()
    spare: Sequence[str] = ()
    styles: Mapping[str, str] | None = None
    limit: int | None = None
    none: str = ""
    note: str = ""
    warning: str = ""
    failed: bool = False

    def show(self, output: Format) -> None:
        """Print it."""
        rest = iter(self.values)
        values = rest if self.limit is None else islice(rest, self.limit)
        if output != Format.table:
            print_lines(map(self.plain or as_plain, values), output)
            return
        count = 0

        def counted() -> Iterator[Sequence[object]]:
            nonlocal count
            for count, value in enumerate(values, 1):  # noqa: B007  read after the loop
                yield from [self._row(value)] if self.rows is None else self.rows(value)

        print_rows(self.columns, counted(), right=self.right, spare=self.spare, styles=self.styles)
        if not count and self.none:
            print(f"\n{self.none}", file=sys.stderr)
        if self.limit is not None and next(rest, None) is not None:
            print(f"\nThere are more than {self.limit:,}: --limit N, or --all", file=sys.stderr)

    def _row(self, value: Any) -> Sequence[object]:
        return [*as_plain(value).values()] if self.row is None else self.row(value)


Answer: TypeAlias = Document | Lines | None


@dataclass(frozen=True)
class Read:
    """An annotation: `read` turns the given value into what the command gets, or raises before the server is asked.

    given: the type as typer reads it; None: that of the annotation.
    """

    read: Callable[[Any], Any]
    given: Any = None


@dataclass(frozen=True)
class Found:
    """An annotation: the argument is a name, and the command gets what has it. find: gets the client and a name."""

    find: Callable[[Adeq, Any], Any]
    given: Any = str


@dataclass(frozen=True)
class Options:
    """An annotation: the parameters of a function are options, and the command gets what the function returns.

    make: it may have a first parameter `adeq`, the client.
    """

    make: Callable[..., Any]


def with_client(command: Callable[..., Answer]) -> Callable[..., None]:
    """A command of a server. Its first parameter may be `adeq`: the client."""
    return with_client_of()(command)


def with_client_of(**options: Any) -> Callable[[Callable[..., Answer]], Callable[..., None]]:
    """Make a decorator that does what `with_client` does, with these options of the client."""

    def made(command: Callable[..., Answer]) -> Callable[..., None]:
        given = _Given(command)

        @wraps(command)
        def run(**values: Any) -> None:
            url, output = values.pop("url"), given.output(values)
            given.read(values)
            with connected(url, **options) as adeq:
                given.find(adeq, values)
                _show(given.call(values, adeq), output)

        shared = [_parameter("url", Url, DEFAULT_URL), _parameter("output", Output, Format.table)]
        return _as_command(run, [*given.parameters, *shared])

    return made


def without_client(command: Callable[..., Answer]) -> Callable[..., None]:
    """A command that asks no server."""
    given = _Given(command)

    @wraps(command)
    def run(**values: Any) -> None:
        output = given.output(values)
        given.read(values)
        _show(given.call(values), output)

    return _as_command(run, [*given.parameters, _parameter("output", Output, Format.table)])


def as_plain(value: Plain) -> Mapping[str, Any]:
    """A value as JSON has it."""
    return value if isinstance(value, Mapping) else value.model_dump()


def _print(shown: Shown) -> None:
    if isinstance(shown, str):
        print(shown)
    elif isinstance(shown, Table):
        print_rows(shown.columns, shown.rows, right=shown.right, spare=shown.spare)
    elif isinstance(shown, Mapping):
        print_fields(shown.items())
    elif isinstance(shown, list):
        for number, one in enumerate(shown):
            if number:
                print()
            _print(one)
    else:
        shown()


def _show(answer: Answer, output: Format) -> None:
    if answer is None:
        return
    answer.show(output)
    for text in (answer.note if output == Format.table else "", answer.warning):
        if text:
            print(f"\n{text}", file=sys.stderr)
    if isinstance(answer.failed, Exception):
        raise answer.failed
    if answer.failed:
        raise typer.Exit(FAILED)


class _Given:
    """The parameters of a function: as typer reads them, and what the function gets in their place."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.parameters: list[inspect.Parameter] = []
        self.readers: dict[str, Callable[[Any], Any]] = {}
        self.finders: dict[str, Callable[[Adeq, Any], Any]] = {}
        self.several: dict[str, _Given] = {}
        own = inspect.signature(function).parameters
        self.gets_client, self.gets_output = "adeq" in own, "output" in own
        for one in own.values():
            if one.name != "adeq":
                self._add(one)

    def _add(self, one: inspect.Parameter) -> None:
        annotation = one.annotation
        if isinstance(annotation, str):
            annotation = eval(annotation, self.function.__globals__)
        kind, *marks = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
        others = []
        for mark in marks:
            match mark:
                case Options(make):
                    self.several[one.name] = several = _Given(make)
                    self.parameters += several.parameters
                    return
                case Read(read, given):
                    self.readers[one.name], kind = read, given or kind
                case Found(find, given):
                    self.finders[one.name], kind = find, given
                case _:
                    others.append(mark)
        annotation = Annotated[(kind, *others)] if others else kind
        self.parameters.append(one.replace(annotation=annotation, kind=inspect.Parameter.KEYWORD_ONLY))

    def output(self, values: dict[str, Any]) -> Format:
        """The form of the answer."""
        wanted: Format = values["output"] if self.gets_output else values.pop("output")
        return wanted

    def read(self, values: dict[str, Any]) -> None:
        """What can be read without the server."""
        for name, read in self.readers.items():
            values[name] = read(values[name])
        for name, several in self.several.items():
            own = {one.name: values.pop(one.name) for one in several.parameters}
            several.read(own)
            values[name] = own if several.gets_client else several.call(own)

    def find(self, adeq: Adeq, values: dict[str, Any]) -> None:
        """What the server knows."""
        for name, find in self.finders.items():
            values[name] = find(adeq, values[name])
        for name, several in self.several.items():
            if several.gets_client:
                several.find(adeq, values[name])
                values[name] = several.call(values[name], adeq)

    def call(self, values: dict[str, Any], adeq: Adeq | None = None) -> Any:
        """What the function returns."""
        return self.function(*([adeq] if self.gets_client else ()), **values)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _as_command(run: Callable[..., None], given: Sequence[inspect.Parameter]) -> Callable[..., None]:
    unique = {one.name: one for one in reversed(given)}  # a command may name `output` itself
    run.__signature__ = inspect.Signature([*reversed(unique.values())])  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in unique.values()}
    return run
