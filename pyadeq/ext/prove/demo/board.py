"""The demo of the board: an installation with something on each page, and two workers that parse files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from itertools import count, islice
from pathlib import Path
from typing import Final

from pyadeq import Adeq, EmbeddedServer
from pyadeq.asyncio import Adeq as AsyncAdeq
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.operations.rights import all_rights
from pyadeq.ext.prove.demo.plan import QUEUE, Plan, make_plan
from pyadeq.ext.prove.demo.scene import fill
from pyadeq.ext.prove.demo.workers import Workers
from pyadeq.ext.server.application import app
from pyadeq.ext.server.authentication import Tokens
from pyadeq.ext.server.board.logins import Logins
from pyadeq.ext.server.serving import Server, listening, place_of
from pyadeq.ext.server.tokens import new_token

HOST: Final = "127.0.0.1"
WORKERS: Final = 2
BATCH: Final = 20
"""Tasks at once. The next ones come when as many have ended."""
PACE: Final = 0.5
"""Seconds between two looks at the queue."""


def run_board(say: Callable[[str], None], *, keep: Path | None = None, limit: int | None = None) -> None:
    """Serve the board until a signal ends it. say: tells the link. keep: where the data stays. limit: of files.

    Raises AdeqError if the server does not start.
    """
    plan = make_plan(limit)
    server = EmbeddedServer(keep)
    try:
        server.start()
    except ConfigError as error:
        raise AdeqError(str(error)) from error
    with server, Adeq.from_url(server.url, source="adeq demo") as adeq:
        fill(adeq)
        with Workers(server.url, QUEUE, WORKERS):
            asyncio.run(_serve(server.url, plan, say))


async def _serve(url: str, plan: Plan, say: Callable[[str], None]) -> None:
    service = Server()
    with listening(place_of(HOST, 0)) as at:
        async with AsyncAdeq.from_url(url, source="adeq demo") as adeq:
            id, _, token = new_token("ann", sorted(all_rights()), lifetime=None)
            tokens = Tokens(adeq, more={id: token})
            logins = Logins(adeq, tokens)
            link = f"http://{HOST}:{at.getsockname()[1]}/login?code={await logins.code(id)}"
            say(f"Board    {link}")
            say("         The link logs in once. Two workers parse the files of Python's library. Ctrl-C ends all.")
            feeding = asyncio.create_task(_feed(adeq, plan))
            await service.serve(app(adeq, authenticate=tokens, hosts=[HOST], logins=logins), at)
            feeding.cancel()
            with suppress(asyncio.CancelledError):
                await feeding


async def _feed(adeq: AsyncAdeq, plan: Plan) -> None:
    """Enqueue the files, round by round, as fast as the workers parse them."""
    queue = adeq.queue(QUEUE)
    tasks = (one.model_copy(update={"id": f"{number}/{one.id}"}) for number in count(1) for one in plan.tasks)
    while True:
        if (await queue.inspect.overview()).ready <= BATCH:
            await queue.enqueue_many(list(islice(tasks, BATCH)))
        await asyncio.sleep(PACE)
