"""What must hold of all that a queue stores, between any two calls: nothing is lost, nothing is left behind.

For lock domains see audit_locks.py, for other nouns nouns/audit.py.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from pyadeq._core.kernel.manifest import library
from pyadeq.keys import PATTERNS
from tests.audit_locks import LockAudit
from tests.nouns.audit import NounAudit, names_below
from tests.nouns.found import own
from tests.stored import Stored

_WORDS = "|".join(library().manifest["nouns"])
BASE = re.compile(rf"[^{{]*\{{(?:(?P<noun>{_WORDS}):[^}}]+\}}|[^}}]+\}}:(?P<in_slot>{_WORDS}):[^:]+)")
STAMPS = re.compile(r"[{:]config:_(?:webhooks|posts)\.stamps\}?!operate$")  # see pyadeq/ext/outgoing/stamps.py
KINDS = re.compile(
    r"config|copied|counters|events(?::.+)?|lanes|delayed|blocked|leases|running|finished|dead|deadlines|once|once:due|workers|ends"
    r"|history:minutes|history:hours|schedules|limits|limit:lines|rates|weights|(?:task|payload|result|log|ended_runs|steps|reply|ready|wake|worker|control|by:user"
    r"|by:tag|children|dependents|order|schedule|runs|holding|waiting|shares):(?P<suffix>.+)"
)
CLOSED = b"9007199254740991"  # the layout that queue.copy notes until the copy is complete
HELD = re.compile(r"\S+ \d+ [^ |]+(?P<flags>[^|]*)\|\d+ \d+ \d+ \d+ (?P<fence>\d+) \S+")
RULE = re.compile(r"\d+ (?:queue|reject|cancel_newest|cancel_oldest) \d+(?:\.\d{6})? [1-9]\d*")
MOST_WEIGHT = 100_000  # percent
LOOK_MS = 5_000  # no line of a limit is looked at later than that, unless the limit is full
NOTE = re.compile(r"[cf] (?P<ended>\S+) (?:- 0|\S+ \d+) (?P<place>\d+)|[ot] \S+ (?:- 0|\S+ \d+) \d+")
BAND = 2**48  # the width of a priority in a score
NEVER = 2**53 - 1  # ms: the score of a schedule that is not due by itself
MOST_OPEN = 64  # tasks that a schedule's policy looks at
PLAN = {
    "timing", "envelope", "payload", "overlap", "catch_up_ms", "jitter_ms",
    "rev", "next_ms", "created_ms", "changed_ms",
}  # fmt: skip
SETS = ("delayed", "blocked", "leases", "finished", "dead")


def audit_server(client: Any, damaged: Iterable[str] = ()) -> list[str]:
    """What is wrong with any queue, lock domain and so on of a server, but for those that a test has damaged."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    found: list[str] = []
    for key in client.scan_iter(count=1000):
        name = key.decode()
        if STAMPS.search(name):
            continue
        if match := BASE.match(name):
            names[match[0]].add(name.removeprefix(f"{match[0]}:"))
        else:
            found.append(f"{name}: no key of a queue, lock domain or other noun")
    bases = sorted(names.keys() - set(damaged))
    return found + [problem for base in bases for problem in audit(client, base, names[base])]


def audit(client: Any, base: str, names: Iterable[str] | None = None) -> list[str]:
    """What is wrong with one of a noun. names: of its keys, where they are known."""
    match = BASE.match(base)
    assert match, base
    noun = match["noun"] or match["in_slot"]
    kinds: dict[str, Any] = {"queue": Audit, "lock": LockAudit}
    kind = kinds.get(noun) or own(noun, "model", "Audit", type("Audit", (NounAudit,), {"noun": noun}))
    found = kind(client, base, names)
    problems = [*found.problems()]
    if noun != "events" and "events:groups" in found.names:
        groups = own("events", "model", "Audit", NounAudit)
        problems += groups(client, base, found.names).rules()
    return [f"{base}: {problem}" for problem in problems]


class Audit:
    """All that is stored of a queue, read at once; nobody must be using it meanwhile."""

    def __init__(self, client: Any, base: str, names: Iterable[str] | None = None) -> None:
        self.client, self.base = client, base
        self.now_ms = 0  # of a queue with a test clock, where it is known
        self.names = sorted(names_below(client, base) if names is None else names)
        self.stored = Stored(client, base, self.names)
        self.records = {id: self._hash(f"task:{id}") for id in self._suffixes("task")}
        self.tasks = {id: record for id, record in self.records.items() if "created_ms" in record}
        stubs = {id: record for id, record in self.records.items() if "gone" in record}
        self.links = {id for id, record in stubs.items() if "link" in record}  # to the children of what was removed
        self.places: defaultdict[str, list[str]] = defaultdict(list)
        for name in self.names:
            if name in SETS or name.startswith("ready:"):
                for id in self._zset(name):
                    self.places[id].append(name)

    def problems(self) -> Iterator[str]:
        yield from (f"{name}: unknown" for name in self.names if not KINDS.fullmatch(name))
        if self.client.hget(f"{self.base}:config", "layout_min") == CLOSED:
            return  # a copy, of which only a part is there
        yield from self._membership()
        yield from self._leases()
        yield from self._left_behind()
        yield from self._steps()
        yield from self._indexes()
        yield from self._once()
        yield from self._hints()
        yield from self._replies()
        yield from self._chains()
        yield from self._limits()
        yield from self._shares()
        yield from self._schedules()

    def _membership(self) -> Iterator[str]:
        for id in sorted(self.tasks.keys() | self.places.keys()):
            if id not in self.tasks:
                yield f"{id} is in {self.places[id]}, but there is no such task"
            elif len(self.places[id]) != 1:
                yield f"task {id} is in {self.places[id]}"
            elif self.places[id][0] not in (*SETS, f"ready:{self.tasks[id].get('lane', 'any')}"):
                yield f"task {id} of lane {self.tasks[id].get('lane', 'any')} is in {self.places[id]}"
        lanes = self.stored.members("lanes")
        if lanes != set(self._suffixes("ready")):
            yield f"lanes has {sorted(lanes)}, tasks are in {self._suffixes('ready')}"

    def _leases(self) -> Iterator[str]:
        running, leases = self._hash("running").keys(), self._zset("leases").keys()
        if running != leases:
            yield f"running has {sorted(running)}, leases {sorted(leases)}"
        for id, due in self._zset("deadlines").items():
            if not any(place.startswith(("ready:", "delayed", "blocked")) for place in self.places[id]):
                yield f"deadlines has {id} at {due}, which is in {self.places[id]}"

    def _left_behind(self) -> Iterator[str]:
        for id in self.records.keys() - self.tasks.keys():
            if self._ttl(f"task:{id}") == -1 and id not in self.links:
                yield f"task {id} is a stub that never goes: {self.records[id]}"
        for id in self.links:
            kids = self._zset(f"children:{id}").keys()
            if not kids or (len(kids) == 1 and kids <= self.links):
                yield f"the link {id} has {sorted(kids)} as its children: {self.records[id]}"
        for kind in ("payload", "result", "log", "ended_runs", "steps"):
            for id in set(self._suffixes(kind)) - self.tasks.keys():
                yield f"{kind}:{id} has no task"
        known = self._zset("workers").keys()
        for name in self._suffixes("worker"):
            if name not in known and self._ttl(f"worker:{name}") == -1:
                yield f"worker:{name} is not in workers, and never goes"

    def _steps(self) -> Iterator[str]:
        """Each durable task has the steps of which its record speaks, numbered without gaps."""
        for id, record in self.records.items():
            count, size = map(int, record.get("durable", "0 0").split())
            found = self._hash(f"steps:{id}") if count else {}
            places = sorted(int(entry.split(" ")[0]) for entry in found.values())
            kept = sum(
                len(name.encode()) + len(entry.partition("\n")[2].encode()) + 32 for name, entry in found.items()
            )
            # Some may have been evicted.
            if not set(places) <= set(range(1, count + 1)) or (len(places) == count and kept != size):
                yield f"task {id} has {count} steps of {size} bytes, and stored are {places} of {kept}"

    def _indexes(self) -> Iterator[str]:
        wanted: defaultdict[str, set[str]] = defaultdict(set)
        for id, record in self.tasks.items():
            tags = [f"by:tag:{tag}" for tag in record.get("tags", "").split(",") if tag]
            owners = [f"by:user:{record[n]}" for n in ["user"] if n in record]
            parents = [f"children:{record[n]}" for n in ["parent"] if n in record]
            for index in tags + owners + parents:
                wanted[index].add(id)
        for id in self.links:
            wanted[f"children:{self.records[id]['link']}"].add(id)
        there = {name for name in self.names if name.startswith(("by:", "children:"))}
        for index in sorted(there | wanted.keys()):
            if (ids := self._zset(index).keys()) != wanted[index]:
                yield f"{index} has {sorted(ids)}, the tasks are {sorted(wanted[index])}"

    def _once(self) -> Iterator[str]:
        once, due = self._hash("once"), self._zset("once:due").keys()
        timed = {field for field in once if field.startswith(("key:", "rid:", "done:", "purged:"))}
        if timed != due:
            yield f"once has {sorted(timed)}, once:due {sorted(due)}"
        waiting = {"ready", "delayed", "blocked"}
        for kind, states in (("unique", waiting | {"leases"}), ("scope", waiting)):
            for field in (field for field in once if field.startswith(f"{kind}:")):
                id = once[field]
                place = "".join(self.places[id]).partition(":")[0]
                if self.tasks.get(id, {}).get(kind) != field.partition(":")[2] or place not in states:
                    yield f"once has {field} for {id}, which is in {self.places[id]}: {self.tasks.get(id)}"

    def _hints(self) -> Iterator[str]:
        for lane in self._suffixes("wake"):
            if len(self.stored.entries(f"wake:{lane}")) > 1:
                yield f"wake:{lane} has more than one token"
            if f"ready:{lane}" not in self.names and self._ttl(f"wake:{lane}") == -1 and "delayed" not in self.names:
                yield f"wake:{lane} is a token for nothing that never goes"
        for name in self._suffixes("control"):
            if len(self.stored.entries(f"control:{name}")) > 1:
                yield f"control:{name} has more than one token"
            if self._ttl(f"control:{name}") == -1:
                yield f"control:{name} never goes"

    def _replies(self) -> Iterator[str]:
        """What is left for those who wait for a task says how it ended; it goes at its time, and not before."""
        yield from (f"reply:{id} never goes" for id in self._suffixes("reply") if self._ttl(f"reply:{id}") == -1)
        config = self._hash("config")
        now = self.now_ms or (config.get("clock") == "server" and int(self.client.time()[0]) * 1000)
        ended = self._zset("finished") | self._zset("dead")
        for id, record in self.tasks.items():
            if "reply" not in record or id not in ended:
                continue
            left = self.client.get(f"{self.base}:reply:{id}")
            if left is None:
                if now and now < ended[id] + int(config.get("reply_ms", 3_600_000)):
                    yield f"task {id} has ended, and its reply is not there"
                continue
            how = left.partition(b"\n")[0].decode().split(" ")[1:]
            end = record["settled"].split(" ")[1:] if "settled" in record else []
            if self.places[id] == ["dead"]:
                end = ["dead", record.get("reason", "")]
            elif "cancelled_ms" in record:
                end = ["cancelled"]
            if how != end and (how, end) != (["result_dropped"], ["completed"]):
                yield f"reply:{id} says {how}, the task {end}"

    def _chains(self) -> Iterator[str]:
        """Who waits for others waits for as many as it says; what has ended is noted until all have heard of it."""
        blocked = {id: int(score) % BAND for id, score in self._zset("blocked").items()}
        told: defaultdict[str, int] = defaultdict(lambda: -1)  # up to which place those who wait will hear of an end
        for note in self._zset("ends"):
            if not (match := NOTE.fullmatch(note)):
                yield f"ends has {note!r}"
            elif match["ended"]:
                told[match["ended"]] = max(told[match["ended"]], int(match["place"]))
        waits_for: defaultdict[str, set[str]] = defaultdict(set)
        for other in self._suffixes("dependents"):
            for id, place in self._zset(f"dependents:{other}").items():
                if blocked.get(id) == place:
                    waits_for[id].add(other)
                if place > told[other] and not self._is_awaited(other):
                    yield f"{id} depends on {other}, which is in {self.places[other]}: {self.tasks.get(other)}"
        for key in self._suffixes("order"):
            yield from self._order(key, blocked)
        waiting = {id for id in blocked.keys() & self.tasks.keys() if "limited_by" not in self.tasks[id]}
        for id in waiting:
            yield from self._blocked(id, waits_for[id])
        if (waiting or "ends" in self.names) and "chains" not in self._hash("config"):
            yield f"tasks wait for others, {sorted(waiting)}, but config does not say so"

    def _order(self, key: str, blocked: dict[str, int]) -> Iterator[str]:
        """In the line of an ordering key is who has not ended; all but the first wait, and it too until it is told."""
        line = self._zset(f"order:{key}")
        there = {id for id, task in self.tasks.items() if task.get("ordering_key") == key}
        unended = {id for id in there if self.places[id][:1] not in (["finished"], ["dead"])}
        if line.keys() - unended:
            yield f"in the line of {key!r} are {sorted(line)}, its tasks are {sorted(unended)}"
        first, *others = sorted(line, key=lambda id: line[id])
        if any(blocked.get(id) != line[id] for id in others):
            yield f"in the line of {key!r}, {first} is the first, and some of {others} do not wait"
        told = any(note[0] == "o" and note.split(" ")[2] == first for note in self._zset("ends"))
        if first in blocked and "limited_by" not in self.tasks.get(first, {}) and not told:
            yield f"{first} is the first in the line of {key!r}, and waits"

    def _is_awaited(self, id: str) -> bool:
        """Whether the end of this task will be noted."""
        if id not in self.tasks or self.places[id][:1] in (["finished"], ["dead"]):
            return False
        return {"awaited", "ties"} <= self.tasks[id].keys()

    def _blocked(self, id: str, others: set[str]) -> Iterator[str]:
        """A task that waits for others still. One that gathers waits for children, too, which may not be there yet."""
        record = self.tasks[id]
        if "ordering_key" in record:
            if others or record.get("awaits") != "1":
                yield f"task {id} has an ordering key, and depends on {sorted(others)}: {record}"
            return
        awaits, children = int(record.get("awaits", 0)), int(record.get("gather", 0))
        if not 0 <= awaits - len(others) <= children or awaits == 0:
            yield f"task {id} awaits {awaits} ends, {children} of them of children, and depends on {sorted(others)}"
        if not others <= set(record.get("after", "").split(",")):
            yield f"task {id} depends on {sorted(others)}: {record}"

    def _schedules(self) -> Iterator[str]:
        """Each is in line at its next time, and has all that is needed to fire it."""
        scores, config = self._zset("schedules"), self._hash("config")
        if names := set(self._suffixes("schedule")) ^ scores.keys():
            yield f"of {sorted(names)} there is a schedule or a time, but not both"
        if scores and "schedules" not in config:
            yield f"there are schedules, {sorted(scores)}, but config does not say so"
        revs: set[int] = set()
        for name in self._suffixes("schedule"):
            record = self._hash(f"schedule:{name}")
            if missing := PLAN - record.keys():
                yield f"schedule {name} has no {sorted(missing)}"
                continue
            yield from self._schedule(name, record, scores.get(name))
            rev, last = int(record["rev"]), int(config.get("revisions", 0))
            if rev in revs or not 1 <= rev <= last:
                yield f"schedule {name} has revision {rev}, which another has, or nobody yet: the last was {last}"
            revs.add(rev)

    def _schedule(self, name: str, record: dict[str, str], score: float | None) -> Iterator[str]:
        next_ms, open = int(record["next_ms"]), record.get("open", "").split()
        if score not in (None, next_ms or NEVER):
            yield f"schedule {name} is due at {next_ms}, and in line at {score}"
        if "paused" in record and (record["paused"] != "1" or next_ms):
            yield f"schedule {name} is paused ({record['paused']}), and due at {next_ms}"
        if len(open) > MOST_OPEN or len(set(open)) < len(open):
            yield f"schedule {name} has {len(open)} open tasks: {open}"
        if ("last_id" in record) != ("last_ms" in record) or ("fired" in record) != ("last_id" in record):
            yield f"schedule {name} does not say what fired last: {record}"

    def _limits(self) -> Iterator[str]:
        """Who holds a limit has a lease that says so; who waits is in a line, which something will open."""
        config, rules = self._hash("config"), self._hash("limits")
        yield from (f"limits has {rule!r} for {key}" for key, rule in rules.items() if not RULE.fullmatch(rule))
        held: defaultdict[str, dict[str, float]] = defaultdict(dict)
        for id, lease in self._hash("running").items():
            if match := HELD.fullmatch(lease):
                for flag in match["flags"].split():
                    for key in flag.removeprefix("limits=").split(",") if flag.startswith("limits=") else ():
                        held[key][id] = float(match["fence"])
        for key in sorted(held.keys() | set(self._suffixes("holding"))):
            if (found := self._zset(f"holding:{key}")) != held[key]:
                yield f"holding:{key} has {found}, the leases say {held[key]}"
        lines = self._zset("limit:lines")
        waiting = {key: self._zset(f"waiting:{key}") for key in self._suffixes("waiting")}
        if waiting.keys() != lines.keys():
            yield f"limit:lines has {sorted(lines)}, there are lines of {sorted(waiting)}"
        for key, at_ms in lines.items():
            if at_ms < BAND and self.now_ms and at_ms > self.now_ms + LOOK_MS:
                yield f"the line of {key} is looked at in {at_ms - self.now_ms} ms"
            rule = rules.get(key) or rules.get(f"{key.partition(':')[0]}:*", "0 ")
            full = 0 < int(rule.partition(" ")[0]) <= len(held[key])
            if at_ms >= BAND and not full and at_ms - BAND > int(config.get("limits", 0)):
                yield f"the line of {key} waits for the end of a lease, but only {sorted(held[key])} have one: {rule}"
        blocked = self._zset("blocked")
        for id, task in self.tasks.items():
            by = task.get("limited_by")
            if by and (id not in blocked or waiting.get(by, {}).get(id) != blocked[id]):
                yield f"task {id} waits for {by} at {blocked.get(id)}, but is not in its line: {waiting.get(by)}"
        for key, line in waiting.items():
            for id, score in line.items():
                if blocked.get(id) != score or self.tasks.get(id, {}).get("limited_by") != key:
                    yield f"the line of {key} has {id} at {score}, which is in {self.places[id]}: {self.tasks.get(id)}"
        if (rules or held or waiting) and "limits" not in config:
            yield f"there are limits, {sorted(rules.keys() | held.keys() | waiting.keys())}, but config does not say so"
        for key in rules.keys() | held.keys() | lines.keys() | waiting.keys() | self._zset("rates").keys():
            if not PATTERNS["limit"].fullmatch(key):
                yield f"{key!r} is no key of a limit"

    def _shares(self) -> Iterator[str]:
        """How far users have come, in each lane and band, and their weights."""
        for user, weight_pct in self._hash("weights").items():
            if not PATTERNS["label"].fullmatch(user) or not 1 <= int(weight_pct) <= MOST_WEIGHT:
                yield f"the weight of {user!r} is {weight_pct}"
        top = int(self._hash("config").get("fair_top", 0))
        for lane in self._suffixes("shares"):
            if not PATTERNS["lane"].fullmatch(lane):
                yield f"shares:{lane} is of no lane"
            if f"ready:{lane}" not in self.names and self._ttl(f"shares:{lane}") == -1:
                yield f"shares:{lane} is of an empty lane, and never goes"
            for member, score in self._zset(f"shares:{lane}").items():
                band, user = member[:1], member[1:]
                if user not in ("", " claimed") and not PATTERNS["label"].fullmatch(user):
                    yield f"shares:{lane} has {member!r}"
                place = score - int(band) * BAND
                if place != int(place) or not 0 <= place <= max(top, BAND if user == " claimed" else 0):
                    yield f"shares:{lane} has {member!r} at {place}, above {top}"

    def _suffixes(self, kind: str) -> list[str]:
        begin, end = (bisect_left(self.names, kind + mark) for mark in ":;")  # they are sorted, and ; comes after :
        return [name.removeprefix(f"{kind}:") for name in self.names[begin:end]]

    def _hash(self, name: str) -> dict[str, str]:
        return self.stored.hash(name)

    def _zset(self, name: str) -> dict[str, float]:
        return self.stored.zset(name)

    def _ttl(self, name: str) -> int:
        """In milliseconds; -1 of a key that never goes, -2 of one that has gone since its name was read."""
        return self.stored.ttls.get(name, -2)
