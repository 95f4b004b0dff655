"""What starts a worker's process again in its place, and when: at a restart, or when its source changes."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from pyadeq.errors import AdeqError
from pyadeq.ext.cli.shared.tree import close_output

FOLDER = os.getcwd()
POLL = 0.5  # seconds
LEFT_OUT = ("__pycache__", "node_modules", "site-packages")
Times = dict[str, int]

log = logging.getLogger("pyadeq.worker")


def start_again() -> None:
    """Replace this process by a new one with the same arguments. It does not return."""
    logging.shutdown()
    close_output()
    os.chdir(FOLDER)
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def source_times() -> Times:
    """When each Python file under the working directory was changed, but for hidden folders and installed packages."""
    times = {}
    for folder, folders, files in os.walk(FOLDER):
        folders[:] = [
            one
            for one in folders
            if one not in LEFT_OUT and one[0] != "." and not os.path.exists(os.path.join(folder, one, "pyvenv.cfg"))
        ]
        for path in (os.path.join(folder, one) for one in files if one.endswith(".py")):
            with suppress(OSError):  # it was deleted meanwhile
                times[path] = os.stat(path).st_mtime_ns
    return times


def wait_for_change(before: Times, ended: threading.Event) -> bool:
    """Wait until a source file has changed, and log which. Returns False if it ended before."""
    while not ended.wait(POLL):
        if changed := dict(before.items() ^ source_times().items()):
            name = os.path.relpath(min(changed), FOLDER)
            log.info("the source has changed: starting again", extra={"fields": {"file": name}})
            return True
    return False


@contextmanager
def watching_source(before: Times, changed: Callable[[], object]) -> Iterator[None]:
    """Call this once, from another thread, if a source file changes until the block ends."""
    ended = threading.Event()

    def watch() -> None:
        if wait_for_change(before, ended):
            changed()

    thread = threading.Thread(target=watch, name="adeq-reload", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()


@contextmanager
def reloading(wanted: bool) -> Iterator[Times | None]:
    """If wanted, yield the times of the source files. After an error, wait for a change and start again."""
    before = source_times() if wanted else None
    try:
        yield before
    except Exception as error:
        if before is None:
            raise
        log.error("%s", error, exc_info=not isinstance(error, AdeqError))
        log.info("waiting for a change of the source")
        wait_for_change(before, threading.Event())
        start_again()
