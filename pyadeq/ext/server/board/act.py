"""The pages that links of posts lead to: a dead task, and one button that retries or abandons it.

Programs that look at links send GETs, which change nothing. The button asks for a login, or the link has a code that
works once, see `pyadeq.ext.outgoing.posts.codes`. A person with a code sees what the post said, and no more.
"""

from __future__ import annotations

from typing import Final, Literal

from fastapi import Request, Response

from pyadeq import tiers
from pyadeq.asyncio import Adeq, TaskView
from pyadeq.ext.outgoing.posts.codes import REALM, Allowed, begin, end, is_for, is_of
from pyadeq.ext.server.api import tasks as api
from pyadeq.ext.server.attempts import Attempts, address_of
from pyadeq.ext.server.board.forms import read_form
from pyadeq.ext.server.board.page import pages, render
from pyadeq.ext.server.gate import Gate, enter, missing
from pyadeq.ext.server.problems import Refused
from pyadeq.models.session import Session

Verb = Literal["retry", "abandon"]
PATH: Final = "/act/{verb}/{queue:adeq_segment}/{id:adeq_segment}"
DONE: Final = {
    "retried": "The task is ready again.",
    "abandoned": "The task is deleted.",
    "conflict": "Another task has the same unique key or scope now. Nothing was changed.",
    "not_dead": "The task is not dead any more. Nothing was changed.",
    "not_found": "The task does not exist any more.",
}
ACTED: Final = ("retried", "abandoned")
BUSY: Final = "another click of this link is carried out now; load the page again in a minute"
USED: Final = "this link was used already, or is too old; find the task on the board"

router = pages()


@router.get(PATH)
async def ask(request: Request, verb: Verb, queue: str, id: str, code: str = "") -> Response:
    """Show the task, and the button."""
    if code:
        await _session(request, Allowed(verb, queue, id), code)
        found = await _task(request.app.state.gate, queue, id)
    else:
        found = await api.task_of(await enter(request, "queue", queue, "queue.operate"), id)
    return await _page(request, verb, queue, tiers.shown(found), code=code)


@router.post(PATH)
async def act(request: Request, verb: Verb, queue: str, id: str) -> Response:
    """Do it, by a code. With a login, the form of the page is a request of the API.

    The code is used up only after it has done something. If that fails, the person can click again. Of two clicks at
    once, one acts: `begin` lets one of them in. If the task has died again since the post, the code does nothing.
    """
    gate: Gate = request.app.state.gate
    wanted, code = Allowed(verb, queue, id), (await read_form(request)).get("code", "")
    session = await begin(gate.adeq, await _session(request, wanted, code))
    if session is None:
        raise Refused(409, "CODE_BUSY", BUSY)
    status = "not_dead"
    try:
        found = await _task(gate, queue, id)
        if is_of(session, found):
            status = await _act(gate.adeq, session.user, wanted)
    finally:
        await end(gate.adeq, session, acted=status in ACTED)
    request.app.state.looks.forget()
    return await _page(request, verb, queue, tiers.shown(found), said=DONE[status])


async def _page(request: Request, verb: str, queue: str, task: TaskView, *, code: str = "", said: str = "") -> Response:
    return await render(request, "act.html", verb=verb, name=queue, task=task, code=code, done=said)


async def _session(request: Request, wanted: Allowed, code: str) -> Session:
    """The session of a code. It is not used up. Refused if it does not allow this."""
    attempt = address_of(request), REALM
    attempts: Attempts = request.app.state.attempts
    if wait := attempts.wait(attempt):
        raise Refused(429, "TOO_MANY_ATTEMPTS", "too many wrong codes", headers={"Retry-After": str(wait)})
    gate: Gate = request.app.state.gate
    found = await gate.adeq.sessions(REALM).get(code[:200], touch=False) if code else None
    if found is None or not is_for(found, wanted):
        attempts.failed(attempt)
        raise Refused(403, "CODE_USED", USED)
    return found


async def _task(gate: Gate, queue: str, id: str) -> TaskView:
    found = await gate.find("queue", queue, False)
    task: TaskView | None = None if found is None else await found.get(id)
    if task is None:
        raise missing("task", id)
    return task


async def _act(adeq: Adeq, actor: str, wanted: Allowed) -> str:
    """Retry or abandon the task, with the actor as the source of the event. Returns the status."""
    async with Adeq(adeq.client, prefix=adeq.prefix, slot=adeq.slot, source=actor) as acting:
        queue = acting.partitioned(wanted.queue) if adeq.slot is None else acting.queue(wanted.queue)
        if wanted.verb == "retry":
            return str((await queue.dead.retry(wanted.id)).status)
        return str(await queue.dead.abandon(wanted.id))
