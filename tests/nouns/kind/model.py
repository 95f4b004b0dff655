"""What a catalog does, in few words; and what must hold of all that is stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyadeq._core.kernel.nouncalls import Result
from tests.nouns.audit import NounAudit

Told = tuple[str, dict[str, Any]]


class Model:
    def __init__(self) -> None:
        self.now = 0.0
        self.kinds: dict[str, dict[str, Any]] = {}
        self.events: list[str] = []

    def publish(self, item: list[dict[str, Any]]) -> Told:
        self._drop(100)
        return "ok", {"items": [self._publish(**one) for one in item]}

    def _publish(self, id: str, version: int, schema: bytes) -> Result:
        before = self.kinds.get(id)
        if before is None and len(self.kinds) >= 500:
            return Result("full", {})
        if before and before["version"] > version:
            return Result("older", {})
        if not before or (before["version"], before["schema"]) != (version, schema):
            self.events.append("kind.published")
        expires = self.now + 86_400
        self.kinds[id] = {"version": version, "schema": schema, "expires": expires}
        return Result("published", {"expires": expires})

    def list(self, limit: int = 20, id: str = "") -> Told:
        if id:
            is_known = id in self.kinds and self.kinds[id]["expires"] > self.now
            return "ok", {"items": [Result("found", {"id": id, "kind": self.kinds[id]})] if is_known else []}
        order = sorted((one["expires"], id) for id, one in self.kinds.items() if one["expires"] > self.now)
        return "ok", {"items": [Result("found", {"id": id, "kind": self.kinds[id]}) for _, id in order[:limit]]}

    def expire(self, limit: int = 100) -> Told:
        expired = self._drop(limit)
        return "ok", {"expired": expired, "more": int(expired == limit)}

    def _drop(self, limit: int) -> int:
        due = sorted((one["expires"], id) for id, one in self.kinds.items() if one["expires"] <= self.now)[:limit]
        for _, id in due:
            del self.kinds[id]
            self.events.append("kind.expired")
        return len(due)


class Audit(NounAudit):
    noun = "kind"

    def rules(self) -> Iterator[str]:
        expiring = self.zset("expiring")
        kinds = {id: int(self.hash(f"kind:{id}")["expires_ms"]) for id in self.suffixes("kind")}
        if kinds != expiring:
            yield f"kinds expire at {kinds}, expiring has {expiring}"
        if len(kinds) > 500:
            yield f"there are {len(kinds)} kinds"
