"""What a registry does, in few words; and what must hold of all that is stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.nouns.audit import NounAudit

Told = tuple[str, dict[str, Any]]


class Model:
    def __init__(self) -> None:
        self.now = 0.0
        self.names: set[str] = set()
        self.began = self.ended = 0.0
        self.by, self.until = "", 0.0

    def add(self, item: list[dict[str, Any]], scan_ms: int = 0) -> Told:
        new = set(map(_stored, item)) - self.names
        self.names |= new
        if scan_ms:
            self.by = ""
            if scan_ms / 1000 > self.began:
                self.began, self.ended = min(scan_ms / 1000, self.now), self.now
        return "ok", {"added": len(new), "full": 0}

    def scan(self, by: str, lease_ms: int = 60_000) -> Told:
        if self.by not in ("", by) and self.until > self.now:
            return "busy", {"until": self.until}
        self.by, self.until = by, self.now + lease_ms / 1000
        return "ok", {}

    def remove(self, item: list[dict[str, Any]]) -> Told:
        gone = self.names & set(map(_stored, item))
        self.names -= gone
        return "ok", {"removed": len(gone)}

    def list(self, limit: int = 1000) -> Told:
        names = sorted(self.names)[:limit]
        cursor = names[-1] if len(names) == limit else ""
        return "ok", {
            "names": names,
            "total": len(self.names),
            "scan": self.began,
            "ended": self.ended,
            "cursor": cursor,
        }


def _stored(item: dict[str, Any]) -> str:
    return f"{item['name']}/{item['tag']}" if item.get("tag") else str(item["name"])


class Audit(NounAudit):
    noun = "registry"

    def rules(self) -> Iterator[str]:
        names = self.zset("names")
        if wrong := {name: score for name, score in names.items() if score}:
            yield f"names have places: {wrong}"
        scan = self.hash("scan")
        if not all(scan[name].isdigit() for name in scan.keys() - {"by"}) or ("by" in scan) != ("until_ms" in scan):
            yield f"a scan has {scan}"
        if int(scan.get("began_ms", 0)) > int(scan.get("ended_ms", 0)):
            yield f"a scan ended before it began: {scan}"
