"""A worker that also does what `adeq maintain` does, in a thread."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from random import random
from typing import TYPE_CHECKING

from pyadeq import Adeq, Queue
from pyadeq.asyncio import Queue as AsyncQueue
from pyadeq.ext.cli.shared.common import PLACE, RETRY_FOR
from pyadeq.ext.operate.maintain import Maintained, Maintainer

if TYPE_CHECKING:
    from pyadeq.ext.operate.archive import Archive

SOURCE = "adeq worker run"
AnyQueue = Queue | AsyncQueue
PATIENCE = 5.0
"""Seconds that a step has to come to an end when the worker has ended. It may be cut short at any time."""

log = logging.getLogger("pyadeq.maintain")


@contextmanager
def maintaining(every: float, url: str, home: AnyQueue | None, archive: Archive | None) -> Iterator[None]:
    """Take care of the installation until the block ends. home: a queue whose client says where to connect."""
    stopped = threading.Event()
    with ExitStack() as stack:
        if home is None:
            options = {**PLACE.options(), "codec": None, "source": SOURCE, "retry_for": RETRY_FOR}
            adeq = stack.enter_context(Adeq.from_url(url, **options))
        else:
            assert isinstance(home.adeq, Adeq), "adeq worker run refuses others"
            adeq = home.adeq
        maintainer = Maintainer(adeq, archive=archive)

        def run() -> None:
            stopped.wait(every * random())  # so that workers that start together do not all do it at once
            while not stopped.is_set():
                try:
                    maintainer.run(every, stopped, _say, lambda error: log.warning("no care: %s", error))
                except Exception:  # the worker goes on, and so does its care
                    log.exception("no care")
                    stopped.wait(every)

        thread = threading.Thread(target=run, name="adeq-maintain", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join(PATIENCE)


def _say(one: Maintained) -> None:
    if one.error:
        log.warning("no care", extra={"fields": {"care": one.care, "name": one.name, "error": one.error}})
    else:
        log.info("care taken", extra={"fields": {"care": one.care, "name": one.name, **one.done}})
