"""The text of an exception, as it is stored: from the user's code on."""

from __future__ import annotations

import contextlib
from os.path import dirname, sep
from traceback import TracebackException

AROUND = (
    f"{dirname(dirname(dirname(__file__)))}{sep}",
    contextlib.__file__,
    f"{dirname(contextlib.__file__)}{sep}asyncio{sep}",
)
"""Files of code that calls the user's."""


class RemoteError(Exception):
    """The cause of an exception from a child process: the text of its traceback there."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"


def traceback_of(error: BaseException) -> str:
    """Return the traceback of an exception without the frames of pyadeq that called the user's code. An exception of
    pyadeq's own that no user's code has raised, such as for a payload that does not fit, has no traceback.
    """
    if isinstance(error.__cause__, RemoteError):
        return error.__cause__.text
    found = TracebackException(type(error), error, error.__traceback__, compact=True)
    ours = next((n for n, frame in enumerate(found.stack) if not frame.filename.startswith(AROUND)), None)
    if ours is not None:
        del found.stack[:ours]
    elif type(error).__module__.startswith("pyadeq."):
        return "".join(found.format_exception_only())
    return "".join(found.format())
