"""What must hold of all that a change domain stores. For what its scripts do see tests/property/change_model.py."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.nouns.audit import NounAudit

ENDED = ("completed", "failed", "rejected", "cancelled")
STATES = ("draft", "submitted", "reviewing", "approved", "applying", *ENDED)
IN_REVIEW = ("submitted", "reviewing")
BAND = 2**42  # the width of a priority in the score of an inbox
WEIGHTS = {"urgent": 1000, "high": 500, "normal": 100, "low": 0}
NEVER = 2**53 - 1  # the score of a delegation without an end
GRACE_MS = 30_000  # how long the lease of a run is renewed after its time
READ = {"hash": "HGETALL", "set": "SMEMBERS", "zset": "ZRANGE", "string": "GET", "stream": "XLEN"}
KINDS = {
    **dict.fromkeys(("change", "request", "revisions", "userstats", "delegations"), "hash"),
    **dict.fromkeys(("inbox", "state", "by", "away", "givers"), "zset"),
    **dict.fromkeys(("params", "preview", "output"), "string"),
    "contributors": "set",
    "log": "stream",
}
SINGLE = {
    "config": "hash",
    "due": "zset",
    "ended": "zset",
    "policies": "hash",
    "once": "hash",
    "once:due": "zset",
    "delegating": "zset",
    "outbox": "zset",
    "follows": "hash",
}


class Slot:
    """An entry of `slots`: `<slot> <status> <reviewer>[><person>…] <who answered>[><agent>][ ><delegation>…]`."""

    def __init__(self, text: str) -> None:
        number, self.status, people, by, *via = text.split(" ")
        self.by, _, self.sender = by.partition(">")
        self.number = int(number)
        self.reviewer, *self.chain = people.split(">")
        self.via = "".join(via)

    @property
    def people(self) -> list[str]:
        """Who has it or has had it, as reviewers; the first is who has it now."""
        return [self.reviewer, *(f"user:{one}" for one in self.chain)]


class Audit(NounAudit):
    noun = "change"

    def rules(self) -> Iterator[str]:
        self.found = self._read()
        self.changes = {id: texts(one) for id, one in self._below("change:").items()}
        self.slots = {
            id: [Slot(one) for one in change.get("slots", "").split(",") if one] for id, change in self.changes.items()
        }
        yield from self._owners()
        yield from self._indexes()
        yield from self._inboxes()
        yield from self._givers()
        yield from self._requests()
        yield from self._times()
        yield from self._outbox()
        for id, change in self.changes.items():
            yield from (f"{id}: {problem}" for problem in self._record(id, change))
        if texts(self.found.get("once", {})).keys() != {one.decode() for one in self.found.get("once:due", {})}:
            yield "once and once:due differ"

    # what is stored

    def _read(self) -> dict[str, Any]:
        """Every key at once; of a stream only its length."""
        kinds = {one: SINGLE.get(one) or KINDS.get(one.split(":")[0], "") for one in self.names}
        names = [one for one in self.names if kinds[one]]
        with self.client.pipeline(transaction=False) as pipe:
            for one in names:
                rest = (0, -1, "WITHSCORES") if kinds[one] == "zset" else ()
                pipe.execute_command(READ[kinds[one]], f"{self.base}:{one}", *rest)
                pipe.pttl(f"{self.base}:{one}")
            replies = pipe.execute(raise_on_error=False)  # a key of another type is told by the audit of all nouns
        self.ttl: dict[str, int] = dict(zip(names, replies[1::2], strict=True))
        found = dict(zip(names, replies[::2], strict=True))
        for one, value in found.items():
            if isinstance(value, list) and kinds[one] in ("hash", "zset"):
                found[one] = as_pairs(value)
        return {one: value for one, value in found.items() if value or kinds[one] != "hash"}

    def _below(self, prefix: str) -> dict[str, Any]:
        return {one.removeprefix(prefix): value for one, value in self.found.items() if one.startswith(prefix)}

    def _zset(self, name: str) -> dict[str, int]:
        return scores(self.found.get(name, {}))

    # rules

    def _owners(self) -> Iterator[str]:
        """No key without its change, and all that belongs to a change is there."""
        for kind in ("params", "contributors", "log"):
            if self._below(f"{kind}:").keys() != self.changes.keys():
                yield f"{kind} of {sorted(self._below(f'{kind}:'))}, but changes are {sorted(self.changes)}"
        for kind in ("preview", "output"):
            if extra := self._below(f"{kind}:").keys() - self.changes.keys():
                yield f"{kind} of {sorted(extra)}, which are no changes"
        for id, kept in self._below("revisions:").items():
            revs, rev = sorted(map(int, kept)), int(self.changes.get(id, {}).get("rev", 0))
            if not rev or len(revs) > 10 or revs != list(range(rev - len(revs), rev)):
                yield f"revisions:{id} has {revs}, and the change has revision {rev}"
            if self.ttl[f"revisions:{id}"] <= 0:
                yield f"revisions:{id} never expires"
        for id in self._below("preview:"):
            if self.ttl[f"preview:{id}"] <= 0:
                yield f"preview:{id} never expires"
        wanted = {f"{id}/{slot.number}" for id, slots in self.slots.items() for slot in slots}
        if extra := self._below("request:").keys() - wanted:
            yield f"requests {sorted(extra)}, which are in no `slots`"
        for id in wanted - self._below("request:").keys():  # they expire 30 days after the end
            if self.changes[id.split("/")[0]]["state"] not in (*ENDED, "draft"):
                yield f"request:{id} is missing"

    def _indexes(self) -> Iterator[str]:
        wanted: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for id, change in self.changes.items():
            names = [f"state:{change['state']}", f"by:author:{change['author']}"]
            names += [f"by:team:{change['team']}"] if change.get("team") else []
            names += [f"by:resource:{one}" for one in change.get("resources", "").split(",") if one]
            names += [f"by:tag:{one}" for one in change.get("tags", "").split(",") if one]
            names += [f"by:reviewer:{one}" for slot in self.slots[id] for one in slot.people]
            for name in names:
                wanted[name][id] = int(change["created_ms"])
        for id, change in self.changes.items():
            if change["state"] in ENDED:  # retention looks later at one that it had to keep
                wanted["ended"][id] = max(int(change["completed_ms"]), self._zset("ended").get(id, 0))
            if (due := due_of(change)) is not None:
                wanted["due"][id] = due
        for name in self.found.keys() | wanted.keys():
            if name in ("ended", "due") or name.startswith(("state:", "by:")):
                yield from differences(name, self._zset(name), wanted[name])

    def _inboxes(self) -> Iterator[str]:
        wanted: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for id, change in self.changes.items():
            for slot in self.slots[id]:
                if change["state"] == "reviewing" and slot.status == "pending":
                    wanted[f"inbox:{slot.reviewer}"][f"{id}/{slot.number}"] = inbox_score(change)
        for name in wanted.keys() | {one for one in self.found if one.startswith("inbox:")}:
            yield from differences(name, self._zset(name), wanted[name])

        away: defaultdict[str, set[str]] = defaultdict(set)
        for id, slots in self.slots.items():
            for slot in slots:
                for person in slot.chain if slot.status == "pending" else ():
                    away[f"away:{person}"].add(f"{id}/{slot.number}")
                    score = self._zset(f"away:{person}").get(f"{id}/{slot.number}")
                    if self.changes[id]["state"] == "reviewing" and score != inbox_score(self.changes[id]):
                        yield f"{id}/{slot.number} is in away:{person} with the score {score}"
        for name in away.keys() | {one for one in self.found if one.startswith("away:")}:
            if self._zset(name).keys() != away[name]:
                yield f"{name} has {sorted(self._zset(name))}, and should have {sorted(away[name])}"

    def _givers(self) -> Iterator[str]:
        """Who leads requests to a person, until the last of its delegations to this person ends."""
        wanted: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for person, stored in self._below("delegations:").items():
            for name, text in texts(stored).items():
                if not name.startswith("#"):
                    fields = dict(one.split("=", 1) for one in text.split(" "))
                    own, until = wanted[f"givers:{fields['to']}"], int(fields["until_ms"]) or NEVER
                    own[person] = max(own.get(person, 0), until)
        for name in wanted.keys() | {one for one in self.found if one.startswith("givers:")}:
            yield from differences(name, self._zset(name), wanted[name])

    def _requests(self) -> Iterator[str]:
        for id, slots in self.slots.items():
            change = self.changes[id]
            for slot in slots:
                name = f"request:{id}/{slot.number}"
                if name in self.found:
                    request = texts(self.found[name])
                    via = request.get("via", "")
                    if via.count(",") != len(slot.chain) or via.replace(",", ">") != slot.via:
                        yield f"{name}: via is {via!r}, and {slot.chain} have delegated it by {slot.via!r}"
                    for field, wanted in wanted_of(change, slot).items():
                        if request.get(field) != wanted:
                            yield f"{name}: {field} is {request.get(field)!r}, and should be {wanted!r}"
                    if (self.ttl[name] > 0) != (change["state"] in ENDED):
                        yield f"{name} of a change in {change['state']} has a TTL of {self.ttl[name]}"

    def _outbox(self) -> Iterator[str]:
        outbox, follows = self._zset("outbox").keys(), texts(self.found.get("follows", {})).keys()
        entries = {name for name in follows if not name.endswith(" id")}
        if outbox != entries or not {name.removesuffix(" id") for name in follows} <= entries:
            yield f"outbox has {sorted(outbox)}, follows {sorted(follows)}"
        waiting = Counter(one.split(" ")[0] for one in outbox)
        kept = Counter({id: int(change.get("undelivered") or 0) for id, change in self.changes.items()})
        if waiting != kept:
            yield f"outbox has {dict(waiting)}, changes say {dict(kept)}"

    def _times(self) -> Iterator[str]:
        for id, change in self.changes.items():
            number = integer(change)
            if change["state"] == "applying" and not (
                number("started_ms") <= number("deadline_ms") <= number("started_ms") + number("run_ms") + GRACE_MS
            ):
                yield f"{id}: its lease ends at {change['deadline_ms']}, which is not within its run"
            if change["state"] == "approved" and number("until_ms") <= 0:
                yield f"{id}: its approval has no end"

    def _record(self, id: str, change: Mapping[str, str]) -> Iterator[str]:
        number, slots = integer(change), self.slots[id]
        if change["state"] not in STATES:
            yield f"its state is {change['state']}"
        writers = {one.decode() for one in self.found.get(f"contributors:{id}", ())}
        if not {change["author"], change["principal"]} <= writers:
            yield f"its author {change['author']}, for {change['principal']}, is not among the contributors {writers}"
        if self.found.get(f"log:{id}") != min(number("seq"), 1000):
            yield f"its log has {self.found.get(f'log:{id}')} entries after {change.get('seq')} steps"
        if change["state"] == "applying" and not (change.get("token") and change.get("agent") and number("fence")):
            yield "it is applied, and has no token, agent and fence"
        numbers = [slot.number for slot in slots]
        if numbers != sorted(set(numbers)) or len(slots) > 32 or (numbers and numbers[0] < 1):
            yield f"its slots are {numbers}"
        people = Counter(one for slot in slots for one in slot.people if one.startswith("user:"))
        answered = Counter(one for slot in slots for one in (slot.by, slot.sender) if one)
        for one, count in [*people.items(), *answered.items()]:
            if count > 1:
                yield f"{one} has {count} of its requests"
        voters_may_write = change.get("p_contributors_may_vote") == "1"
        for slot in slots:
            if len(slot.chain) > number("p_delegation_depth"):
                yield f"slot {slot.number} was delegated on by {slot.chain}"
            if (slot.by != "") != (slot.status in ("approved", "rejected", "changes_requested", "abstained")):
                yield f"slot {slot.number} is {slot.status}, answered by {slot.by!r}"
            if change["state"] not in IN_REVIEW and slot.status == "pending":
                yield f"slot {slot.number} is pending in {change['state']}"
            written = {slot.by, *(one.removeprefix("user:") for one in slot.people)} & writers
            if written and change["state"] not in ("draft", *ENDED) and not voters_may_write:
                yield f"slot {slot.number} is of the contributors {written}"
        if change["state"] == "reviewing":
            approved = sum(slot.status == "approved" for slot in slots)
            blocked = any(slot.status == "changes_requested" for slot in slots)
            if approved >= number("p_required") and not blocked:
                yield f"{approved} have approved it, and it is not decided"


def wanted_of(change: Mapping[str, str], slot: Slot) -> dict[str, str]:
    """What a request has by the record of its change."""
    chain = slot.chain
    wanted = {
        "status": slot.status,
        "principal": slot.by,
        "reviewed_by": slot.sender or slot.by,
        "reviewer": f"user:{chain[0]}" if chain else slot.reviewer,
        "priority": change["review_priority"],
    }
    if change["state"] in IN_REVIEW:
        wanted |= {name: change[name] for name in ("round", "rev", "digest")}
        if slot.status == "pending":
            wanted["due_ms"] = change["timeout_at_ms"]
    if chain:
        wanted |= {"delegated_to": slot.reviewer, "delegation_chain": ",".join(chain)}
    return wanted


def due_of(change: Mapping[str, str]) -> int | None:
    """The earliest deadline."""
    number = integer(change)
    match change["state"]:
        case "submitted":
            return number("timeout_at_ms")
        case "reviewing":
            times = [number(one) for one in ("timeout_at_ms", "remind_at_ms", "escalate_at_ms")]
            return min(one for one in times if one)
        case "approved":
            return number("until_ms")
        case "applying":
            return number("deadline_ms")
    return None


def inbox_score(change: Mapping[str, str]) -> int:
    number = integer(change)
    urgency = number("risk_score") * 10 + WEIGHTS[change["review_priority"]]
    return urgency * BAND + BAND - 1 - number("timeout_at_ms")


def differences(name: str, found: Mapping[str, int], wanted: Mapping[str, int]) -> Iterator[str]:
    if found != wanted:
        yield f"{name} has {dict(found)}, and should have {dict(wanted)}"


def integer(change: Mapping[str, str]) -> Callable[[str], int]:
    return lambda name: int(change.get(name) or 0)


def texts(fields: Mapping[bytes, bytes]) -> dict[str, str]:
    return {name.decode(): value.decode(errors="replace") for name, value in fields.items()}


def scores(members: Mapping[bytes, Any]) -> dict[str, int]:
    return {member.decode(): int(float(score)) for member, score in members.items()}


def as_pairs(flat: list[Any]) -> dict[bytes, Any]:
    """Names and values, whichever form the client gives them."""
    if flat and isinstance(flat[0], tuple | list):
        return {name: value for name, value in flat}  # noqa: C416
    return dict(zip(flat[::2], flat[1::2], strict=True))
