"""What a pad does, in few words; and what must hold of all that is stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyadeq._core.kernel.nouncalls import Result
from tests.nouns.audit import NounAudit

Told = tuple[str, dict[str, Any]]


class Model:
    def __init__(self) -> None:
        self.now = 0.0
        self.memos: dict[str, dict[str, Any]] = {}
        self.events: list[str] = []

    def put(self, id: str, text: bytes, author: str | None = None, keep_ms: int = 0) -> Told:
        before = self.memos.get(id)
        self.events.append("memo.put")
        expires = self.now + (keep_ms / 1000 or 86_400)
        self.memos[id] = {**(before or {"created": self.now, "rev": 0}), "text": text, "changed": self.now}
        self.memos[id] |= {"expires": expires, "rev": self.memos[id]["rev"] + 1}
        if author:
            self.memos[id]["author"] = author
        return "changed" if before else "created", {"expires": expires}

    def get(self, item: list[dict[str, str]]) -> Told:
        found = [self.memos.get(one["id"]) for one in item]
        return "ok", {"items": [Result("found", {"memo": one}) if one else Result("missing", {}) for one in found]}

    def list(self, limit: int = 20) -> Told:
        order = sorted((memo["expires"], id) for id, memo in self.memos.items())
        return "ok", {"items": [Result("found", {"id": id, "expires": at}) for at, id in order[:limit]]}

    def expire(self, limit: int = 100) -> Told:
        due = sorted((memo["expires"], id) for id, memo in self.memos.items() if memo["expires"] <= self.now)[:limit]
        for _, id in due:
            del self.memos[id]
            self.events.append("memo.expired")
        return "ok", {"expired": len(due), "more": int(len(due) == limit)}


class Audit(NounAudit):
    noun = "memo"

    def rules(self) -> Iterator[str]:
        expiring = self.zset("expiring")
        memos = {id: int(self.hash(f"memo:{id}")["expires_ms"]) for id in self.suffixes("memo")}
        if memos != expiring:
            yield f"memos expire at {memos}, expiring has {expiring}"
        if self.hash("once").keys() != self.zset("once:due").keys():
            yield "once and once:due differ"
