"""The calls of a change domain that the rules need, each recorded."""

from __future__ import annotations

import hashlib
from typing import Any

from pyadeq.asyncio import Adeq, Changes, Result
from pyadeq.ext.prove.chaos.noun_recorder import Recorded, told_of


def content_digest(content: dict[str, Any], parameters: bytes) -> str:
    """The digest of the content of a change, as every client can compute it."""
    fields = [content["type"], content["version"], content["description"], parameters, *content["resources"]]
    fields += [content["rollback_strategy"], str(round(content["timeout"] * 1000)), str(content["priority"])]
    texts = [one if isinstance(one, bytes) else str(one).encode() for one in fields]
    return hashlib.sha1(b"".join(b"%d:%b," % (len(text), text) for text in texts)).hexdigest()


def _told(answer: Result) -> dict[str, Any]:
    told = told_of(answer)
    if "content" in told:
        told["content_digest"] = content_digest(answer.content, answer.parameters)
        told["resources"] = list(answer.content["resources"])
        del told["content"], told["parameters"]
    return told


class RecordedChanges(Recorded, Changes, of=Adeq.changes, told=_told):
    """A change domain whose writing calls are recorded, in whatever background they are made.

    Of the content that `begin` returns only its digest and its resources are noted: `content_digest`, `resources`.
    """

    async def call(self, verb: str, /, **arguments: Any) -> Result:
        """Make the call of a script by its name and its arguments. With the rid of an earlier call it is that call."""
        return await self._call(verb, **arguments)
