"""What a change domain has stored at the end of a run, in the form that the rules read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from pyadeq.asyncio import Adeq, Result
from pyadeq.ext.prove.chaos.history import AioClient, History, Records, aio_read_entries, count_trimmed

AT_ONCE = 100  # entries of a call
RECORDS = 20  # changes of a call, with their requests
STATES = ("draft", "submitted", "reviewing", "approved", "applying", "completed", "failed", "rejected", "cancelled")
NOBODY = "chaos:reader"  # who has no request, and reads the inboxes of groups


async def read_changes(adeq: Adeq, client: AioClient, domain: str, history: History) -> Records:
    """Read the stream of a domain, its records, statistics and inboxes."""
    base = adeq.noun("change", domain).base
    records = Records(await aio_read_entries(client, base), await count_trimmed(client, base, history, "change domain"))
    reader = _Reader(adeq, domain)
    ids = {entry.ids[0] for entry in records.entries if entry.event.startswith("change.")}
    for state in STATES:
        ids |= {one.id async for one in reader.pages("list", by="state", value=state)}
    changes = {id: record async for id, record in reader.records(sorted(ids))}
    names = {str(reviewer) for record in changes.values() for _, _, reviewer, _ in record["requests"]}
    voters = {entry.words["by"] for entry in records.entries if entry.event == "change.answered"}
    people = voters | {name.removeprefix("user:") for name in names if name.startswith("user:")}
    settings = (await reader.call("configure")).settings
    records.final = {
        "domain": domain,
        "follow_queue": settings.get("follow_queue") or "",
        "lock_domain": (settings.get("lock_domain") or "") if adeq.slot else "",  # elsewhere nobody verifies locks
        "outbox": (await reader.call("outbox", limit=0)).left,
        "changes": changes,
        "states": (await reader.call("stats")).states,
        "policies": {
            f"{one.name}@{one.policy['version']}": _fields(one.policy)
            for one in (await reader.call("get_policies")).items
        },
        "people": {person: await reader.statistics(person) for person in sorted(people)},
        "inboxes": {name: await reader.inbox(name) for name in sorted(names)},
    }
    # Inboxes hide what is overdue. A change that became overdue while they were read may be in one and not in another.
    async for id, record in reader.records(sorted(changes)):
        changes[id]["due_meanwhile"] = record["overdue"] != changes[id]["overdue"]
    return records


class _Reader:
    def __init__(self, adeq: Adeq, domain: str) -> None:
        self._adeq = adeq
        self._calls = adeq.noun("change", domain).calls

    async def call(self, verb: str, **arguments: Any) -> Result:
        found: Result = await self._adeq.send(self._calls.build(verb, **arguments))
        return found

    async def pages(self, verb: str, **arguments: Any) -> AsyncIterator[Result]:
        cursor = None
        while cursor != "":
            page = await self.call(verb, cursor=cursor, limit=AT_ONCE, **arguments)
            cursor = _text(page.cursor)
            for one in page.items:
                yield one

    async def records(self, ids: Sequence[str]) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        for start in range(0, len(ids), RECORDS):
            some = ids[start : start + RECORDS]
            found = await self.call("get", item=some, with_requests=True)
            for id, one in zip(some, found.items, strict=True):
                if one.status == "found":
                    yield id, _record(one)

    async def statistics(self, person: str) -> dict[str, int]:
        """How many requests a person has approved and rejected."""
        stats = (await self.call("inbox", user=person, limit=1)).stats
        letters = {"approved": "a:", "rejected": "r:"}
        return {
            word: sum(count for name, count in stats.items() if name.startswith(letter))
            for word, letter in letters.items()
        }

    async def inbox(self, reviewer: str) -> dict[str, Any]:
        """What a person or a group is shown."""
        kind, _, name = reviewer.partition(":")
        who: dict[str, Any] = {"user": name} if kind == "user" else {"user": NOBODY, "groups": [name]}
        shown = [[one.id, one.slot] async for one in self.pages("inbox", **who)]
        return {"shown": shown, "pending": (await self.call("inbox", limit=1, **who)).pending}


def _record(one: Result) -> dict[str, Any]:
    change = one.change
    requests = [
        [request.slot, request.request["status"], request.reviewer, request.request.get("principal") or ""]
        for request in one.requests
    ]
    return {
        "state": change["state"],
        "rev": change["rev"],
        "round": change.get("round") or 0,
        "overridden_rev": change.get("overridden_rev") or 0,
        "overdue": one.overdue,
        "requests": requests,
    }


def _fields(policy: dict[str, Any]) -> dict[str, Any]:
    return {name: list(one) if isinstance(one, tuple) else _text(one) for name, one in policy.items()}


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
