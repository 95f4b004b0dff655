"""What a config namespace does, in few words; and what must hold of all that is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyadeq._core.kernel.nouncalls import Result
from tests.nouns.audit import NounAudit

Told = tuple[str, dict[str, Any]]
DAY = 86_400_000
REVS, VERSIONS, MIB = 1000, 100, 1 << 20


@dataclass
class Version:
    """What a name was; value None: removed. at: in ms."""

    version: int
    value: bytes | None
    at: int
    actor: str
    reason: bytes

    def entry(self, **name: str) -> Result:
        facts = {
            **name,
            "version": self.version,
            "at": self.at / 1000,
            "actor": self.actor.encode(),
            "reason": self.reason,
        }
        return Result("removed", facts) if self.value is None else Result("value", {**facts, "value": self.value})


@dataclass
class Model:
    now: float = 0.0
    rev: int = 0
    names: dict[str, list[Version]] = field(default_factory=dict)  # newest first
    revs: list[int] = field(default_factory=list)
    events: list[str] = field(default_factory=list)

    def set(self, item: Sequence[dict[str, Any]], actor: str = "", reason: bytes = b"") -> Told:
        names = [one["name"] for one in item]
        if len({*names}) < len(names) or any(one["remove"] and one["value"] for one in item):
            return "ADEQ_ARG", {}
        before = [self.version(name) for name in names]
        expected = [
            now if one["expect"] in (None, -1) else one["expect"] for one, now in zip(item, before, strict=True)
        ]
        if expected != before:
            pairs = zip(expected, before, strict=True)
            return "conflict", {
                "items": [Result("matches" if wanted == now else "differs", {"version": now}) for wanted, now in pairs]
            }
        items: list[Result] = []
        rev = max(self.rev + 1, self._ms * 1000)
        for one in item:
            value = None if one["remove"] else one["value"] or b""
            if value is None and not self.version(one["name"]):
                items.append(Result("missing", {}))
                continue
            self.names.setdefault(one["name"], []).insert(0, Version(rev, value, self._ms, actor, reason))
            self.events.append("config.removed" if value is None else "config.set")
            items.append(Result("removed" if value is None else "set", {"version": rev}))
        if any(one.status != "missing" for one in items):
            self.rev = rev
            self.revs = [*self.revs, rev][-REVS:]
            self._forget(len(item) + 10)
        return "ok", {"rev": self.rev, "items": items}

    def read(self, item: Sequence[dict[str, str]] = (), since: int = 0, limit: int = 100) -> Told:
        if item:
            if since:
                return "ADEQ_ARG", {}
            return "ok", {"rev": self.rev, "items": [self._entry(one["name"]) for one in item]}
        if since and since not in (self.rev, *self.revs):
            return "full", {"rev": self.rev}
        order = sorted((kept[0].version, name) for name, kept in self.names.items() if kept[0].version > since)
        found = [self._entry(name) for _, name in order[:limit]]
        return "ok", {"rev": self.rev, "items": [one for one in found if since or one.status == "value"]}

    def history(self, name: str, version: int = 0, limit: int = 20) -> Told:
        kept = self.names.get(name, [])
        found = [one.entry() for one in kept if version in (0, one.version)]
        return "ok", {"version": self.version(name), "items": found[:limit]}

    def sweep(self, limit: int = 100) -> Told:
        forgotten = self._forget(limit)
        return "ok", {"forgotten": forgotten, "more": int(forgotten == limit)}

    # what is stored

    @property
    def _ms(self) -> int:
        return round(self.now * 1000)

    def version(self, name: str) -> int:
        kept = self.names.get(name)
        return 0 if kept is None or kept[0].value is None else kept[0].version

    def _entry(self, name: str) -> Result:
        return self.names[name][0].entry(name=name) if name in self.names else Result("missing", {"name": name})

    def _forget(self, limit: int) -> int:
        removed = sorted((kept[0].at, name) for name, kept in self.names.items() if kept[0].value is None)
        old = [name for at, name in removed if at <= self._ms - DAY][:limit]
        for name in old:
            version = self.names.pop(name)[0].version
            self.revs = [rev for rev in self.revs if rev >= version]
        return len(old)


class Audit(NounAudit):
    noun = "config"

    def rules(self) -> Iterator[str]:
        rev = int(self.hash("config").get("rev", 0))
        changed, removed, revs = self.zset("changed"), self.zset("removed"), self.zset("revs")
        stored = {*self.suffixes("value")}  # the server may have lost some
        if extra := {*stored, *self.suffixes("history")} - changed.keys():
            yield f"{sorted(extra)} are stored, changed has them not"
        for name in stored & changed.keys():
            yield from self._name(name, changed[name], name in removed, rev)
        if extra := removed.keys() - changed.keys():
            yield f"removed has {sorted(extra)}, changed has not"
        if any(member != str(score) for member, score in revs.items()) or len(revs) > REVS:
            yield f"revs: {revs}"
        if revs and max(revs.values()) != rev:
            yield f"the rev is {rev}, revs has {max(revs.values())}"
        if self.hash("once").keys() != self.zset("once:due").keys():
            yield "once and once:due differ"

    def _name(self, name: str, version: int, is_removed: bool, rev: int) -> Iterator[str]:
        record = self.hash(f"value:{name}")
        if int(record["version"]) != version or version > rev:
            yield f"{name} has version {record['version']}, changed has {version}, and the rev is {rev}"
        if ("removed" in record, "value" in record) != (is_removed, not is_removed):
            yield f"{name} has {sorted(record)}, and is {'' if is_removed else 'not '}in removed"
        entries = self.client.lrange(f"{self.base}:history:{name}", 0, -1)
        if int(record["size"]) != sum(map(len, entries)) or int(record["size"]) > MIB or len(entries) >= VERSIONS:
            yield f"{name} has {len(entries)} earlier versions of {sum(map(len, entries))} bytes, size {record['size']}"
        versions = [version, *(int(entry.split(b" ", 1)[0]) for entry in entries)]
        if versions != sorted({*versions}, reverse=True):
            yield f"{name} has the versions {versions}"
