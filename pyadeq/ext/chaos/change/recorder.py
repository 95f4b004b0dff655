"""The calls of a change domain that the rules need, each recorded."""

from __future__ import annotations

import hashlib
from typing import Any

from pyadeq._core.kernel.nouncalls import Result, script_of
from pyadeq.asyncio import Adeq
from pyadeq.ext.chaos.recorder import Recorder
from pyadeq.ids import new_ulid

UNTOLD = frozenset({"parameters", "preview", "output", "factors", "error", "error_details", "reason", "description"})
"""What calls carry and no rule asks for."""


class RecordedChanges:
    """A change domain whose calls are recorded.

    asked has the arguments of the call by their names, and its rid; answer has `status` and the fields of the answer,
    those of each item in `items`. Of the content that `begin` returns only its digest is noted: `content_digest`.
    """

    def __init__(self, recorder: Recorder, adeq: Adeq, domain: str, client: str, durability: str = "memory") -> None:
        self.changes = adeq.noun("change", domain)
        self.client = client
        self.durability = durability
        self._adeq = adeq
        self._recorder = recorder

    async def call(self, verb: str, **arguments: Any) -> Result:
        """Make a call, by the name of its script and its arguments."""
        if any(argument.name == "rid" for argument in script_of("change", verb).args):
            arguments.setdefault("rid", new_ulid())
        call = self._adeq.send(self.changes.calls.build(verb, **arguments))
        asked = {name: _plain(value) for name, value in arguments.items() if name not in UNTOLD}
        return await self._recorder.note(self.client, f"change.{verb}", self.durability, asked, call, _told)

    async def read(self, verb: str, **arguments: Any) -> Result:
        """Make a call that changes nothing. It is not recorded."""
        found: Result = await self._adeq.send(self.changes.calls.build(verb, **arguments))
        return found


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
