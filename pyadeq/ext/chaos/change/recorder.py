"""The calls of a change domain that the rules need, each recorded."""

from __future__ import annotations

import hashlib
from typing import Any

from pyadeq.asyncio import Adeq, Changes, Result
from pyadeq.ext.chaos.recorder import Recorder
from pyadeq.ids import new_ulid

READS = frozenset({"get", "get_policies", "list", "inbox", "stats", "rules", "configure", "confirm", "migrate"})
"""Calls that no rule asks for."""
IDEMPOTENT = frozenset({"heartbeat", "sweep"})
"""Calls without a rid."""
UNTOLD = frozenset({"parameters", "preview", "output", "factors", "error", "error_details", "reason", "description"})
"""What calls carry and no rule asks for."""


class RecordedChanges(Changes):
    """A change domain whose writing calls are recorded, with whatever method they are made.

    asked has the arguments of the script by their names, and the rid; answer has `status` and the fields of the answer,
    those of each item in `items`. Of the content that `begin` returns only its digest is noted: `content_digest`.
    """

    def __init__(self, recorder: Recorder, adeq: Adeq, domain: str, client: str, durability: str = "memory") -> None:
        plain = adeq.changes(domain)
        super().__init__(adeq, plain.name, plain.base)
        self.client = client
        self.durability = durability
        self._recorder = recorder

    async def call(self, verb: str, /, **arguments: Any) -> Result:
        """Make the call of a script by its name and its arguments. With the rid of an earlier call it is that call."""
        return await self._call(verb, **arguments)

    async def _call(self, verb: str, /, **arguments: Any) -> Result:
        if verb in READS:
            return await super()._call(verb, **arguments)
        if verb not in IDEMPOTENT:
            arguments.setdefault("rid", new_ulid())
        asked = {name: _plain(value) for name, value in arguments.items() if name not in UNTOLD}
        call = super()._call(verb, **arguments)
        return await self._recorder.note(self.client, f"change.{verb}", self.durability, asked, call, _told)


def content_digest(content: dict[str, Any], parameters: bytes) -> str:
    """The digest of the content of a change, as every client can compute it."""
    fields = [content["type"], content["version"], content["description"], parameters, *content["resources"]]
    fields += [content["rollback_strategy"], str(round(content["timeout"] * 1000)), str(content["priority"])]
    texts = [one if isinstance(one, bytes) else str(one).encode() for one in fields]
    return hashlib.sha1(b"".join(b"%d:%b," % (len(text), text) for text in texts)).hexdigest()


def _told(answer: Result) -> dict[str, Any]:
    told = {"status": answer.status, **{name: _plain(value) for name, value in answer.fields.items()}}
    if "content" in told:
        told["content_digest"] = content_digest(answer.content, answer.parameters)
        del told["content"], told["parameters"]
    return told


def _plain(value: Any) -> Any:
    """A value as it is written to a journal."""
    if isinstance(value, Result):
        return {"status": value.status, **{name: _plain(one) for name, one in value.fields.items()}}
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items() if name not in UNTOLD}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.decode(errors="replace") if isinstance(value, bytes) else value
