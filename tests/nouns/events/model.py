"""What must hold of all that is stored of event groups."""

from __future__ import annotations

from collections.abc import Iterator

from tests.nouns.audit import NounAudit

WEEK = 604_800_000  # ms
FIELDS = {"last", "seen", "read_ms", "lapsed", "lost", "gap", "gap_from", "gap_to", "gap_lost"}


class Audit(NounAudit):
    noun = "events"

    def rules(self) -> Iterator[str]:
        groups = self.zset("events:groups")
        stored = {name: self.hash(f"events:group:{name}") for name in self.suffixes("events:group")}
        if groups.keys() != stored.keys():
            yield f"groups are {sorted(groups)}, stored are {sorted(stored)}"
        held = int(self.hash("events:config").get("held_ms", 0))
        if bool(held) != bool(groups):
            yield f"events are held until {held} by {len(groups)} groups"
        lapse = int(self.hash("events:config").get("lapse_ms", WEEK))
        for name, own in stored.items():
            if int(own.get("read_ms", 0)) + lapse > held:
                yield f"group {name} holds events for longer than {held}: {own}"
        for kind in ("pending", "unacked"):
            for name in self.suffixes(f"events:{kind}"):
                if name not in groups:
                    yield f"events:{kind}:{name}: there is no such group"
        for name, own in stored.items():
            if unknown := own.keys() - FIELDS:
                yield f"group {name} has {sorted(unknown)}"
            pending, unacked = self.zset(f"events:pending:{name}"), self.zset(f"events:unacked:{name}")
            if pending.keys() != unacked.keys():
                yield f"group {name}: pending and unacked differ"
            if len(pending) > 10_000:
                yield f"group {name} has {len(pending)} pending events"
            for id, score in unacked.items():
                if int(id.partition("-")[0]) != score:
                    yield f"group {name}: {id} is at {score}"
                if "gap" not in own and _parts(id) > _parts(own["last"]):  # else the stream may have been deleted
                    yield f"group {name}: {id} was delivered, and is after {own['last']}"
            if len({"gap_from", "gap_to", "gap_lost"} & own.keys()) not in (0, 3):
                yield f"group {name} has a part of a gap: {own}"


def _parts(id: str) -> tuple[int, int]:
    ms, _, number = id.partition("-")
    return int(ms), int(number)
