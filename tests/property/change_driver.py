"""Runs every script of changes on a server and in the model, and compares the answers and all that is readable."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import redis

from pyadeq._core.kernel.call import Answer as Decoded
from pyadeq._core.kernel.call import Call, parse_reply
from pyadeq._core.kernel.manifest import library
from pyadeq._core.kernel.nouncalls import NounCalls, script_of
from pyadeq._core.queue.calls import QueueCalls
from tests.nouns.change.model import Audit
from tests.property import change_rules
from tests.property.change_locks import LockDomain
from tests.property.change_model import ChangeModel
from tests.property.change_records import Answer, RefusedError, text
from tests.property.change_votes import VoteRules
from tests.property.link import DUMP, START, Scripts, load, pairs

REFUSED: Answer = ("refused", {})
STEPS_LOGGED = ("change.answered", "change.commented", "change.overridden")  # with the proof of the call


def load_scripts(client: redis.Redis) -> Scripts:
    return load(client, {id: library()[id].text for id in library() if id.startswith("change.")} | {"dump": DUMP})


class Driver:
    """A change domain with a test clock. `do` makes a call; its arguments are those of `NounCalls.build`."""

    def __init__(self, client: redis.Redis, name: str, scripts: Scripts) -> None:
        base = f"ade:{{{name}}}:change:d"
        self.client: Any = client
        self.base, self.scripts = base, scripts
        self.model = ChangeModel(START)
        self.model.domain = "d"
        self.queue = QueueCalls(f"ade:{{{name}}}:queue:q", lambda: self.model.now)
        self.calls = NounCalls(base, now_ms=lambda: self.model.now, noun="change")
        self.rids = count(1)
        self.seen: dict[str, Any] = {}  # by change: what `get` answered last
        self.votes = VoteRules()
        self.steps = self.fence = 0
        self.send("configure", clock="test")
        self.ask(self.queue.configure(clock="test"))
        self.locks = LockDomain(self.ask, f"ade:{{{name}}}:lock:l", lambda: self.model.now)
        self.model.locks = self.locks.held

    # calls

    def send(self, verb: str, **arguments: Any) -> Answer:
        """What the server answers, without now_ms; bytes as texts."""
        given = {name: value for name, value in arguments.items() if value != ""}
        if verb == "respond":
            given["queue"] = self.queue.base
        call = self.calls.build(verb, **given)
        script = script_of("change", verb)
        kind, _, *rest = call.command()
        try:
            reply = self.client.execute_command(kind, self.scripts[script.id], *rest)
        except redis.ResponseError as error:
            if not str(error).startswith("ADEQ_ARG"):
                raise
            return REFUSED
        answer: Answer = plain(parse_reply(script, reply))
        assert answer[1].pop("now_ms") == self.model.now
        return answer

    def ask(self, call: Call[Any]) -> Any:
        """Make a call to the queue, or to the locks."""
        kind, _, *rest = call.command()
        return call.decode(self.client.execute_command(kind, self.client.script_load(call.script.text), *rest))

    def do(self, verb: str, **arguments: Any) -> Answer:
        """Make a writing call, and compare its answer and all changes with the model."""
        self.steps += 1
        real = self.send(verb, **arguments)
        self.votes.note(verb, real, arguments)
        expected = self.expect(verb, **arguments)
        told = {name: value for name, value in real[1].items() if name in expected[1]}
        assert (real[0], told) == expected, f"{verb}({arguments}): {real}, but the model says {expected}"
        if real[0] == "begun":
            change_rules.check_begun(real[1], arguments["digest"])
        return real

    def expect(self, verb: str, **arguments: Any) -> Answer:
        try:
            return self.model.call(verb, **arguments)
        except RefusedError:
            return REFUSED

    def again(self, verb: str, answer: Answer, **arguments: Any) -> None:
        """Send a call again within a minute: it has the same answer, and changes nothing."""
        before = self.dump()
        real = self.send(verb, **arguments)
        expected = self.expect(verb, **arguments)
        told = {name: value for name, value in real[1].items() if name in expected[1]}
        assert (real[0], told) == expected, f"{verb}({arguments}) again: {real}, but the model says {expected}"
        if verb != "begin":  # it has no content left to answer if the change has another by now
            assert real == answer, f"{verb}({arguments}) again: {real}, and before {answer}"
        compare(f"{verb}({arguments}), sent again, has written:", self.dump(), before)

    def new_rid(self) -> str:
        return f"r{next(self.rids)}"

    def dump(self) -> dict[str, Any]:
        found: Any = self.client.evalsha(self.scripts["dump"], 0, self.base, "-")
        unordered: dict[bytes, Any] = {b"hash": pairs, b"set": sorted}
        return {name.decode(): unordered.get(type, list)(value) for name, type, _, value in found}

    # what is readable

    def check(self) -> None:
        """Compare each change with the model, and look for broken rules."""
        model = self.model
        ids = [*model.changes, "none"]
        _, told = self.send("get", item=ids, with_texts=True, with_requests=True, with_log=1000 // len(ids))
        found = dict(zip(ids, told["items"], strict=True))
        assert found.pop("none") == ("not_found", {})
        for id, (status, real) in found.items():
            assert status == "found", f"{id} is {status}"
            self._check_change(id, real)
            writers = {one.decode() for one in self.client.smembers(f"{self.base}:contributors:{id}")}
            assert writers == model.changes[id].contributors, f"{id}: contributors"
            change_rules.check_change(self.seen.get(id), real, writers)
            self.votes.check(id, self.seen.get(id), real, model.now)
        self.seen = {id: real for id, (_, real) in found.items()}
        tasks = {name.decode().partition(":task:")[2] for name in self.client.keys(f"{self.queue.base}:task:*")}
        assert tasks == model.tasks, f"tasks {tasks}, but {model.tasks}"
        prefix = len(self.base) + 1
        names = [name.decode()[prefix:] for name in self.client.keys(f"{self.base}:*")]
        problems = list(Audit(self.client, self.base, names).problems())
        assert not problems, "\n".join(problems)

    def _check_change(self, id: str, real: Mapping[str, Any]) -> None:
        model, change = self.model, self.model.changes[id]
        compare(
            f"{id}:", filled(real["change"]), model.record(change), {"updated_ms", "slots", "weight", "undelivered"}
        )
        counts = {
            "overdue": int(model.is_overdue(change)),
            "approved": change.count("approved"),
            "rejected": change.count("rejected"),
            "pending": change.count("pending", "changes_requested"),
            "parameters": change.parameters,
            "preview": change.preview,
            "output": change.output,
        }
        compare(f"{id}:", {name: real[name] for name in counts}, counts)
        replaced = {int(rev): value for rev, value in self.client.hgetall(f"{self.base}:revisions:{id}").items()}
        assert replaced == change.replaced, f"{id}: revisions {replaced}, but {change.replaced}"
        assert [one["slot"] for _, one in real["requests"]] == [one.number for one in change.slots]
        for (_, request), slot in zip(real["requests"], change.slots, strict=True):
            assert request["reviewer"] == slot.reviewer
            compare(f"{id}/{slot.number}:", filled(request["request"]), model.request(slot))
        log = [one["entry"] for _, one in real["log"]]
        assert len(log) == len(change.log), f"{id}: log {log}, but {change.log}"
        for entry, expected in zip(log, change.log, strict=True):
            shown = {name: text(value) for name, value in expected.items()}
            compare(f"{id}:", entry, shown, set() if entry["event"] in STEPS_LOGGED else {"proof"})
            assert entry["by"] != "time" or not entry["proof"], f"{id}: {entry} has the proof of another"

    def look(self, user: str, principal: str, groups: list[str], by: str, value: str, limit: int) -> None:
        """Compare what people see, before anything is written: an inbox, a list, the numbers."""
        shown, told = self.pages("inbox", limit, user=user, principal=principal, groups=groups)
        expected = self.model.inbox(user, principal, groups)
        assert shown == expected, f"inbox of {user}, {groups}: {shown}, but {expected}"
        assert told["pending"] == self.model.pending(user)
        compare(f"statistics of {user}:", told["stats"], self.model.statistics(user))
        away = self.send("get_delegations", user=user)
        assert away == self.model.get_delegations(user), f"delegations of {user}: {away}"
        found, _ = self.pages("list", limit, by=by, value=value)
        wanted = self.model.listed(by, value)
        assert found == wanted, f"list of {by} {value}: {found}, but {wanted}"
        real, expected_stats = self.send("stats")[1], self.model.stats()[1]
        compare("stats:", {name: real[name] for name in expected_stats}, expected_stats)

    def pages(self, verb: str, limit: int, **arguments: Any) -> tuple[list[Answer], dict[str, Any]]:
        items: list[Answer] = []
        cursor = ""
        while True:
            _, told = self.send(verb, limit=limit, cursor=cursor, **arguments)
            assert len(told["items"]) <= limit
            items += told["items"]
            cursor = told["cursor"]
            if not cursor:
                return items, told

    def check_events(self) -> None:
        """Each change has had its events, in order."""
        found: dict[str, list[tuple[str, str]]] = {}
        for _, fields in self.client.xrange(f"{self.base}:events"):
            event, id = fields[b"event"].decode(), fields[b"id"].decode()
            if event.startswith("change."):
                found.setdefault(id, []).append((event, fields.get(b"payload", b"").decode()))
        for id in found.keys() | self.model.events.keys():
            assert found.get(id, []) == self.model.events.get(id, []), f"events of {id}"

    def close(self) -> None:
        for base in (self.base, self.queue.base, self.locks.base):
            if keys := self.client.keys(f"{base}:*"):
                self.client.delete(*keys)


def plain(value: Any) -> Any:
    """Decoded answers as tuples of a status and fields, bytes as texts."""
    match value:
        case Decoded():
            return value.status, {name: plain(one) for name, one in value.fields.items()}
        case bytes():
            return value.decode()
        case Mapping():
            return {name: plain(one) for name, one in value.items()}
        case list() | tuple():
            return [plain(one) for one in value]
    return value


def filled(fields: Mapping[str, str]) -> dict[str, str]:
    """Without empty fields and zeros, which are as good as none."""
    return {name: value for name, value in fields.items() if value not in ("", "0")}


def compare(what: str, real: Mapping[str, Any], expected: Mapping[str, Any], but: set[str] | None = None) -> None:
    wrong = {
        name: (real.get(name), expected.get(name))
        for name in real.keys() | expected.keys()
        if real.get(name) != expected.get(name) and name not in (but or ())
    }
    assert not wrong, f"{what} (is, should be) {wrong}"
