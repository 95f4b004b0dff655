"""How commands run: each gets a client and what its arguments name, and returns its answer.

    @app.command()
    @with_client
    def pause(adeq: Adeq, queue: ExistingQueue) -> Document:
        \"\"\"Stop leasing tasks until `resume`.\"\"\"
        queue.pause()
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
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args

import typer

from pyadeq.ext.cli.common import (
    DEFAULT_URL,
    FAILED,
    Format,
    Output,
    Url,
    connected,
    print_json,
    print_lines,
)
from pyadeq.ext.cli.tables import print_fields, print_rows

if TYPE_CHECKING:
    from pyadeq import Adeq
    from pyadeq.models.base import Model

Plain: TypeAlias = "Mapping[str, Any] | Model"


@dataclass(frozen=True)
class Table:
    """Rows for people. right: columns of numbers. spare: columns to leave out first, see `print_rows`."""

    columns: Sequence[str]
    rows: Iterable[Sequence[object]]
    right: Sequence[str] = ()
    spare: Sequence[str] = ()

    def show(self) -> None:
        """Print it."""
        print_rows(self.columns, self.rows, right=self.right, spare=self.spare)


@dataclass(frozen=True)
class Document:
    """An answer that is one JSON document.

    value: the document. shown: the same for people: a sentence or a table; None: the fields of the document.
    note: more for people, on stderr. failed: the command exits with 1.
    """

    value: Any
    shown: str | Table | None = None
    note: str = ""
    failed: bool = False

    def show(self, output: Format) -> None:
        """Print it."""
        if output != Format.table:
            print_json(self.value, output)
        elif isinstance(self.shown, str):
            print(self.shown)
        elif self.shown is None:
            print_fields(self.value.items())
        else:
            self.shown.show()


@dataclass(frozen=True)
class Lines:
    """An answer that is a list: a JSON array, or one value a line.

    values: of any number, taken one by one. plain: a value as JSON has it; None: it is such a value.
    columns, row: the table, and the row of a value; row None: the values of its JSON. right, spare: as in `Table`.
    note: more for people, on stderr; none: the same if the list is empty.
    """

    values: Iterable[Any]
    columns: Sequence[str]
    row: Callable[[Any], Sequence[object]] | None = None
    plain: Callable[[Any], Any] | None = None
    right: Sequence[str] = ()
    spare: Sequence[str] = ()
    none: str = ""
    note: str = ""
    failed: bool = False

    def show(self, output: Format) -> None:
        """Print it."""
        if output != Format.table:
            print_lines(map(self.plain or as_plain, self.values), output)
            return
        count = 0

        def counted() -> Iterator[Sequence[object]]:
            nonlocal count
            for count, value in enumerate(self.values, 1):  # noqa: B007  read after the loop
                yield [*as_plain(value).values()] if self.row is None else self.row(value)

        print_rows(self.columns, counted(), right=self.right, spare=self.spare)
        if not count and self.none:
            print(f"\n{self.none}", file=sys.stderr)


Answer: TypeAlias = Document | Lines | None


@dataclass(frozen=True)
class Found:
    """In an annotation: the argument is a name, and the command gets what has it. find: gets the client and a name."""

    find: Callable[[Adeq, str], Any]


def with_client(command: Callable[..., Answer]) -> Callable[..., None]:
    """A command whose first parameter is a client of the server."""
    given, finders = _parameters(command, leave_out=1)

    @wraps(command)
    def run(**values: Any) -> None:
        url, output = values.pop("url"), _output(values, given)
        with connected(url) as adeq:
            for name, find in finders.items():
                values[name] = find(adeq, values[name])
            _show(command(adeq, **values), output)

    return _as_command(run, [*given, _parameter("url", Url, DEFAULT_URL), _parameter("output", Output, Format.table)])


def without_client(command: Callable[..., Answer]) -> Callable[..., None]:
    """A command that asks no server."""
    given, _ = _parameters(command, leave_out=0)

    @wraps(command)
    def run(**values: Any) -> None:
        _show(command(**values), _output(values, given))

    return _as_command(run, [*given, _parameter("output", Output, Format.table)])


def as_plain(value: Plain) -> Mapping[str, Any]:
    """A value as JSON has it."""
    return value if isinstance(value, Mapping) else value.model_dump()


def _show(answer: Answer, output: Format) -> None:
    if answer is None:
        return
    answer.show(output)
    if answer.note and output == Format.table:
        print(f"\n{answer.note}", file=sys.stderr)
    if answer.failed:
        raise typer.Exit(FAILED)


def _output(values: dict[str, Any], given: Sequence[inspect.Parameter]) -> Format:
    wanted: Format = values["output"]
    if all(one.name != "output" for one in given):
        del values["output"]
    return wanted


def _parameters(
    command: Callable[..., Answer], leave_out: int
) -> tuple[list[inspect.Parameter], dict[str, Callable[[Adeq, str], Any]]]:
    """The parameters as typer reads them, and how to find what those with a `Found` name."""
    given, finders = [], {}
    for one in [*inspect.signature(command).parameters.values()][leave_out:]:
        annotation = eval(one.annotation, command.__globals__) if isinstance(one.annotation, str) else one.annotation
        for mark in get_args(annotation)[1:]:
            if isinstance(mark, Found):
                finders[one.name] = mark.find
                annotation = Annotated[(str, *[other for other in get_args(annotation)[1:] if other is not mark])]
        given.append(one.replace(annotation=annotation, kind=inspect.Parameter.KEYWORD_ONLY))
    return given, finders


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _as_command(run: Callable[..., None], given: Sequence[inspect.Parameter]) -> Callable[..., None]:
    unique = {one.name: one for one in given}
    run.__signature__ = inspect.Signature([*unique.values()])  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in unique.values()}
    return run
