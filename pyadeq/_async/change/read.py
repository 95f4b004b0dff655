"""Reading changes: one, many, lists by a condition, and counts."""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, TypedDict, Unpack, get_args

from pyadeq._async.change.base import MOST_CHANGES, ChangesBase
from pyadeq._core.change import replies
from pyadeq._core.change.content import content_from
from pyadeq._core.change.people import in_one_form
from pyadeq._core.kernel.options import checked_list, checked_options, unfit
from pyadeq.models.change import Change, ChangeContent, ChangePage, ChangeState, ChangeStats, ChangeSummary

STATES: Final[tuple[str, ...]] = get_args(ChangeState)


class ChangeFilter(TypedDict, total=False):
    """The filter of a list of changes: exactly one of these conditions. reviewer: `user:<id>` or `group:<name>`."""

    state: ChangeState
    author: str
    reviewer: str
    resource: str
    team: str
    tag: str


class Reading(ChangesBase):
    """The part of a change domain for readers."""

    async def get(self, id: str, *, requests: bool = False, log: int = 0, texts: bool = False) -> Change | None:
        """Return a change as it is now; None if it does not exist.

        requests: with its requests. log: with the last entries of its log, at most 1000. texts: with its preview and
        the output of its last run.
        """
        return (await self.get_many([id], requests=requests, log=log, texts=texts))[0]

    async def get_many(
        self, ids: Sequence[str], *, requests: bool = False, log: int = 0, texts: bool = False
    ) -> builtins.list[Change | None]:
        """Return changes as they are now; None for each that does not exist. See `get`."""
        ids = checked_list("ids", ids)
        found: builtins.list[Change | None] = []
        most = min(20, 1000 // max(log, 1)) if requests or log or texts else MOST_CHANGES
        while len(found) < len(ids):
            part = ids[len(found) : len(found) + most]
            answer = await self._call("get", item=part, with_requests=requests, with_log=log, with_texts=texts)
            found += [
                replies.change(id, one, texts=texts, requests=requests, log=log > 0)
                for id, one in zip(part, answer.items, strict=True)
            ]
        return found

    async def get_revision(self, id: str, rev: int) -> ChangeContent | None:
        """Return the content of a revision: the current one or one of the 10 before it. None if it is not kept.

        The contents of earlier revisions are kept for 30 days after the last of them was replaced.
        """
        answer = await self._call("get_revision", id=id, rev=rev)
        return content_from(answer.content) if answer.status == "found" else None

    async def list(self, *, cursor: str = "", limit: int = 20, **by: Unpack[ChangeFilter]) -> ChangePage:
        """Return one page of the changes of a state, an author, a reviewer, a resource, a team or a tag, the newest
        first.
        """
        name, value = _condition(by)
        value = in_one_form({name: value})[name]
        return replies.page(await self._call("list", by=name, value=value, cursor=cursor or None, limit=limit))

    async def iterate(self, **by: Unpack[ChangeFilter]) -> AsyncIterator[ChangeSummary]:
        """Iterate over all changes that `list` finds, page by page."""
        cursor = ""
        while True:
            page = await self.list(cursor=cursor, limit=MOST_CHANGES, **by)
            for change in page.changes:
                yield change
            cursor = page.cursor
            if not cursor:
                return

    async def stats(self) -> ChangeStats:
        """Return how many changes are in each state, and how many wait for a step that is due."""
        return replies.stats(await self._call("stats"))


def _condition(by: Mapping[str, Any]) -> tuple[str, Any]:
    checked_options(by, ChangeFilter.__annotations__, besides=("cursor", "limit"))
    given = {name: value for name, value in by.items() if value is not None}
    if len(given) != 1:
        raise TypeError(
            f"{', '.join(given) or 'nothing'}: one condition is needed: {', '.join(ChangeFilter.__annotations__)}"
        )
    ((name, value),) = given.items()
    if name == "state" and value not in STATES:
        raise unfit("state", value, ", ".join(STATES))
    return name, value
