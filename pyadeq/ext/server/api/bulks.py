"""Bulks: changes of many tasks as an object, with progress and cancel. See `bulk_runs`."""

from __future__ import annotations

from time import time
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Body, Path, Request, Response
from pydantic import BaseModel

from pyadeq.ext.server.api.bulk_runs import BulkRun, Bulks, Stored, Verb, change_dead
from pyadeq.ext.server.api.filters import filter_of, with_filter
from pyadeq.ext.server.api.own_tasks import id_of_key
from pyadeq.ext.server.api.routes import PROBLEMS, by_hand, entry
from pyadeq.ext.server.api.strict import Strict
from pyadeq.ext.server.api.tasks import IdempotencyKey
from pyadeq.ext.server.gate import Access, missing
from pyadeq.ext.server.paths import segment, url
from pyadeq.ext.server.problems import Refused
from pyadeq.ids import new_ulid
from pyadeq.models.queue import Bulk

RIGHTS: Final[dict[Verb, str]] = {"retry": "queue.operate", "abandon": "queue.operate", "cancel": "queue.produce"}
"""What a verb needs. Only a cancel keeps to the tasks of a user."""
MOST_LISTED: Final = 100
BEGIN: Final = "bulk_begin"
LIST: Final = "bulk_list"
Changing = entry(BEGIN)
Observed = entry(LIST)

router = APIRouter()


@with_filter
class BulkFilter(Strict):
    """The tasks that match all given conditions. state: only for a cancel, as all others change dead tasks."""

    state: Literal["ready", "delayed", "blocked", "running", "stalled", "dead"] | None = None


class NewBulk(Strict):
    """verb: `retry` and `abandon` change dead tasks, `cancel` others. dry_run: only count the tasks.

    A cancel needs a state, user, tag or parent. If only the state `ready` is given, the tasks are those of one lane.
    Without a state, it leaves dead tasks as they are.
    """

    verb: Verb
    filter: BulkFilter = BulkFilter()
    dry_run: bool = False


@with_filter
class DeadFilter(Strict):
    """The dead tasks that match all given conditions. dry_run: only count them."""

    dry_run: bool = False


class Counted(BaseModel):
    """How many tasks match. complete: whether all tasks were looked at; if not, more may match."""

    matched: int
    complete: bool


class BulkRunList(BaseModel):
    """The bulks of a queue, the newest first, at most 100."""

    items: list[BulkRun]


Id = Annotated[str, Path(description="The id of the bulk.")]


@by_hand(
    router,
    BEGIN,
    status_code=202,
    response_model=BulkRun,
    responses={200: {"model": Counted, "description": "With `dry_run`: how many tasks match."}, **PROBLEMS},
)
async def begin(
    access: Access, new: NewBulk, request: Request, response: Response, idempotency_key: IdempotencyKey = None
) -> Any:
    """Change all tasks that match a filter and are there now. Answers 202 at once, and works in the background.

    It works in chunks of 500 tasks. If its process ends, another one goes on after 30 seconds: one that starts, or that
    is asked for the bulk. With `dry_run`, the answer is 200 with a count, for which at most 10,000 tasks are looked at.
    The state is kept for a week after the end.
    """
    access = access.with_right(RIGHTS[new.verb], by_user=new.verb == "cancel")
    user = access.scope.user
    filter = {name: value for name, value in new.filter.model_dump().items() if value is not None}
    if new.verb != "cancel" and "state" in filter:
        raise Refused(400, "BAD_REQUEST", "#/filter/state: only a cancel has it; all others change dead tasks")
    if user is not None and filter.setdefault("user", user) != user:
        raise Refused(403, "FORBIDDEN", "#/filter/user: you may cancel tasks of your own user only")
    bulks: Bulks = request.app.state.bulks
    await bulks.check(access.found, new.verb, filter)
    if new.dry_run:
        matched, complete = await bulks.count(access.found, new.verb, filter, access.words(filter))
        return Response(Counted(matched=matched, complete=complete).model_dump_json(), media_type="application/json")
    id = new_ulid() if idempotency_key is None else _id_of(access, idempotency_key)
    bulk = Stored(
        id=id,
        queue=access.name,
        verb=new.verb,
        filter=filter,
        actor=access.principal.name,
        created=time(),
        user=user,
        words=access.words(filter),
        owner="",
    )
    begun = await bulks.begin(bulk, idempotency_key)
    response.headers["Location"] = url(request, f"/v1/queues/{segment(access.name)}/bulks/{segment(id)}")
    return begun.shown(access)


@by_hand(router, "queue_dead_retry_all")
async def retry_dead(access: Access, given: Annotated[DeadFilter | None, Body()] = None) -> Bulk:
    """Make all dead tasks ready again that match the filter and died before now. dry_run only counts them."""
    return await _change_dead(access, "retry", given)


@by_hand(router, "queue_dead_abandon_all")
async def abandon_dead(access: Access, given: Annotated[DeadFilter | None, Body()] = None) -> Bulk:
    """Delete all dead tasks that match the filter and died before now. dry_run only counts them."""
    return await _change_dead(access, "abandon", given)


async def _change_dead(access: Access, verb: Literal["retry", "abandon"], given: DeadFilter | None) -> Bulk:
    filter: Any = {} if given is None else filter_of(given)
    dry_run = given is not None and given.dry_run
    return await change_dead(access.adeq, access.found, verb, filter, access.words(filter), dry_run=dry_run)


@by_hand(router, LIST)
async def list_bulks(access: Access, request: Request) -> BulkRunList:
    """Return the bulks of a queue that run, or have ended within a week, the newest first."""
    bulks: Bulks = request.app.state.bulks
    found = [bulk.shown(access) for bulk in await bulks.all() if _is_visible(access, bulk)]
    return BulkRunList(items=found[:MOST_LISTED])


@by_hand(
    router,
    "bulk_get",
    name="get_bulk",
)
async def get_bulk(access: Access, id: Id, request: Request) -> BulkRun:
    """Return how far a bulk is, and how it has ended."""
    return (await _bulk(access, id, request)).shown(access)


@by_hand(
    router,
    "bulk_cancel",
)
async def cancel(access: Access, id: Id, request: Request) -> BulkRun:
    """End a bulk after its present chunk. What it has changed stays so."""
    verb = (await _bulk(access, id, request)).verb
    access = access.with_right(RIGHTS[verb], by_user=verb == "cancel")
    bulks: Bulks = request.app.state.bulks
    ending = await bulks.cancel(id, access.principal.name)
    if ending is None:
        raise Refused(409, "FINISHED", f"bulk {id!r} has ended")
    return ending.shown(access)


async def _bulk(access: Access, id: str, request: Request) -> Stored:
    """A bulk that the scope may know of."""
    bulks: Bulks = request.app.state.bulks
    found = await bulks.get(id)
    if found is None or not _is_visible(access, found):
        raise missing("bulk", id)
    return found


def _is_visible(access: Access, bulk: Stored) -> bool:
    return bulk.queue == access.name and access.scope.user in (None, bulk.user)


def _id_of(access: Access, key: str) -> str:
    key = key.strip().strip('"')
    if not key:
        raise Refused(400, "BAD_REQUEST", "header Idempotency-Key: it is empty")
    return id_of_key(access, key, [access.name])
