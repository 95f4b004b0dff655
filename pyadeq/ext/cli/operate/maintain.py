"""`adeq maintain`: the periodic care of a whole installation, until a signal ends it."""

from __future__ import annotations

import signal
import threading
from time import time
from typing import Annotated, Any

import typer

from pyadeq.ext.cli.shared.arguments import time_option
from pyadeq.ext.cli.shared.common import (
    DEFAULT_URL,
    FAILED,
    Format,
    Output,
    Url,
    as_json,
    check_url,
    connected,
    iso,
    print_json,
    shown_url,
    unreachable,
)
from pyadeq.ext.operate.maintain import Maintained, Maintainer

MOST = 1000
"""Steps of `--once`, at most: in an installation in use, there is always more to do."""


def maintain(
    every: Annotated[float, time_option("Time between two steps.")] = "1m",  # type: ignore[assignment]
    once: Annotated[bool, typer.Option("--once", help="Do all that is to be done now, and end.")] = False,
    archive: Annotated[
        str | None,
        typer.Option(metavar="PLACE", envvar="ADEQ_ARCHIVE", help="Also archive events there: a folder or a URL."),
    ] = None,
    only: Annotated[list[str] | None, typer.Option(metavar="CARE", help="Only this kind of care. Repeatable.")] = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Do what has to happen without being asked, for all queues, locks, changes, sessions and configs.

    Kinds of care: names, archive, queues, locks, deadlocks, changes, sessions, configs, events. Any number of processes
    may do it at the same time, and each may be killed at any time. It prints a line for what it has done. With --once,
    it exits with 1 if something was refused.
    """
    place = None
    if archive is not None:
        from pyadeq.ext.operate.archive import Archive

        place = Archive(archive)
    check_url(url)
    stopped = threading.Event()
    if not once:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stopped.set())
    with connected(url, codec=None) as adeq:
        maintainer = Maintainer(adeq, archive=place, only=only)
        if once:
            _once(maintainer, output)
            return
        if output == Format.table:
            print(f"taking care of {shown_url(url)}, every {every:g} s", flush=True)
        else:
            print(as_json({"url": shown_url(url), "every": every}), flush=True)
        maintainer.run(
            every,
            stopped,
            lambda one: _say(one, output),
            lambda error: typer.echo(f"adeq: {unreachable(url, error)}", err=True),
        )


def _once(maintainer: Maintainer, output: Format) -> None:
    rows: list[Maintained] = []
    failed = False
    for _ in range(MOST):
        more = False
        for one in maintainer.step():
            more = more or one.more
            failed = failed or one.error is not None
            if one.done or one.error:
                rows.append(one)
                if output != Format.json:
                    _say(one, output)
        if not more:
            break
    if output == Format.json:
        print_json([_plain(one) for one in rows])
    elif not rows and output == Format.table:
        print("nothing was to be done")
    if failed:
        raise typer.Exit(FAILED)


def _say(one: Maintained, output: Format) -> None:
    if output == Format.table:
        said = one.error or ", ".join(f"{number:,} {what.replace('_', ' ')}" for what, number in one.done.items())
        print(f"{iso(time())} {one.care} {one.name}: {said}", flush=True)
    else:
        print(as_json(_plain(one)), flush=True)


def _plain(one: Maintained) -> dict[str, Any]:
    now = time()
    return {"time": now, "time_iso": iso(now), **one._asdict()}
