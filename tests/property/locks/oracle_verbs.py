"""What each verb answers, and does to the domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.property.locks.graph import is_cycle
from tests.property.locks.link import Plain, Store
from tests.property.locks.oracle import SWEEP
from tests.property.locks.oracle_lines import Lines
from tests.property.locks.records import LATEST, Capacity, Part, Request, Settings

Args = dict[str, Any]
Items = Sequence[tuple[str]]
MODES = {"exclusive": "x", "shared": "s", "permit": "p"}
TOLD = {"busy": "", "deadlock": "circle", "unavailable": "reason", "owner_waits": "rid"}  # statuses of their own
BARE = {"configure", "drain", "remove", "reap"}  # do not sweep by the way


class Oracle(Lines):
    def call(self, verb: str, args: Args, answer: Plain, store: Store) -> Plain:
        """The answer that is right. `answer` and `store` are looked at where the rules leave a choice."""
        self.before, self.store = self.store, store
        self.answer, self.grants, self.forced = answer, [], 0
        if verb != "configure":
            self.tick()
        self.first_fence = max(self.fence + 1, self.now * 1000)
        if verb not in BARE:
            self.sweep(100 if verb == "detect" else SWEEP)
        expected: Plain = getattr(self, f"_{verb}")(**args)
        self.fewer &= bool(store.unchecked)
        self.forget(store)
        if given := len(self.grants) + self.forced:
            self.fence = self.first_fence + given - 1
        return expected

    # Asking

    def _acquire(self, *, resource: str, mode: str = "exclusive", permits: int = 1, **rest: Any) -> Plain:
        return self._ask([Part(resource, MODES[mode], permits)], many=False, **rest)

    def _acquire_many(self, *, item: Sequence[tuple[str, str, int]], **rest: Any) -> Plain:
        return self._ask([Part(resource, MODES[mode], permits) for resource, mode, permits in item], many=True, **rest)

    def _ask(
        self, parts: list[Part], *, many: bool, rid: str, owner: str, issued_ms: int, agent: str | None = None,
        ttl_ms: int = 0, wait_ms: int = 0, priority: int = 5, born_ms: int = 0, purpose: str = "",
    ) -> Plain:  # fmt: skip
        if rid in self.live or rid in self.ended:
            return self._known(rid, many)
        if abs(self.now - issued_ms) > LATEST:
            return "request_expired", {"now_ms": self.now}
        request = Request(
            rid, owner, agent or owner, parts, ttl_ms or self.settings["lease_ms"], priority, self.now,
            born_ms or self.now, self.now + wait_ms, purpose,
        )  # fmt: skip
        self.look_at_holds(request)
        if reason := self.refusal(request):
            return self._refuse(rid, "unavailable", reason)
        request.order = self.order_of(request)
        grantable = self.grantable(request, self.at_own_place(request))
        if not all(part.base == "covers" for part in parts):
            if retry := self.limit(request.agent):
                return "rate_limited", {"now_ms": self.now, "retry_ms": retry}
            if (other := self.waits_of(owner)) and not (grantable and self.idle(parts)):
                return self._refuse(rid, "owner_waits", other.rid)
        if grantable:
            return self._take(request, many)
        if not wait_ms:
            return self._refuse(rid, "busy")
        request.state = "waits"
        request.deadline = min(request.until, self.now + self.settings["waiter_ms"])
        return self._line_up(request, many)

    def idle(self, parts: list[Part]) -> bool:
        """Nobody has any of it or waits for it: nobody is in the way of who takes it, and nobody will wait for that."""
        picture = self.picture()
        held = any(any(picture.holds(part.resource)) for part in parts)
        return not held and not any(its.resource == part.resource for part in parts for its in picture.wanted())

    def look_at_holds(self, request: Request) -> None:
        picture = self.picture()
        for part in request.parts:
            if covering := picture.covering(request.owner, part):
                part.base, part.fence = "covers", covering.fence
            elif part.mode == "x" and any(
                one.owner == request.owner and held.mode == "s" for one, held in picture.holds(part.resource)
            ):
                part.base = "upgrades"

    def refusal(self, request: Request) -> str:
        for part in request.parts:
            if part.mode == "p":
                capacity = self.capacity.get(part.resource)
                if capacity is None:
                    return "no_capacity"
                if capacity.status == "draining":
                    return "draining"
                if part.permits > capacity.max:
                    return "too_many"
        return ""

    def limit(self, agent: str) -> int:
        """ms until the agent may ask again; 0: now, and that is counted."""
        rate: int = self.settings["rate_per_minute"]
        if not rate:
            return 0
        now, gap = self.now * 1000, 60_000_000 // rate
        due = max(self.rates.get(f"rate {agent}", 0), now)
        early: int = due - now - gap * (self.settings["rate_burst"] - 1)
        if early > 0:
            return -(-early // 1000)
        self.rates[f"rate {agent}"] = due + gap
        return 0

    def order_of(self, request: Request) -> str:
        time = (
            0
            if request.upgrades and len(request.parts) == 1
            else self.now + request.priority * self.settings["priority_step_ms"]
        )
        return f"{time:014d}~"  # and a number that rises from call to call

    def _take(self, request: Request, many: bool) -> Plain:
        self.grant(request, "held")
        self.event("lock.acquired", request.rid)
        return self._state(request, many)

    def _refuse(self, rid: str, outcome: str, detail: str = "") -> Plain:
        self.remember(rid, outcome, detail)
        return self._told(outcome, detail)

    # Lines and deadlocks

    def _line_up(self, request: Request, many: bool) -> Plain:
        self.give_way(request)
        if self.answer[0] == "deadlock":
            self.event("lock.deadlock", request.rid)
            return self._refuse(request.rid, "deadlock", self.answer[1]["circle"])
        if self.answer[0] == "granted":
            place = self.at_own_place(request) if self.free_place(request) else self.places(request)[0]
            assert self.grantable(request, place), f"{request.rid} has to wait"
            return self._take(request, many)
        order = self.store.order(request.rid)
        self.check_place(request, order)
        self.check_jump(request, order, [self.picture()])
        request.order = order
        self.live[request.rid] = request
        self.event("lock.queued", request.rid)
        return self._state(request, many)

    # Answers about a request

    def _known(self, rid: str, many: bool) -> Plain:
        if rid in self.live:
            return self._state(self.live[rid], many)
        outcome, detail, _ = self.ended[rid]
        return self._told(outcome, detail)

    def _told(self, outcome: str, detail: str) -> Plain:
        if outcome in TOLD:
            return outcome, {"now_ms": self.now} | ({name: detail} if (name := TOLD[outcome]) else {})
        return "ended", {"now_ms": self.now, "outcome": outcome}

    def _state(self, request: Request, many: bool) -> Plain:
        status, fields = self._place(request) if request.waiting else self._grant(request)
        if not many and status == "granted":
            fields["fence"] = fields.pop("fences")[0][1]["fence"]
        return status, {"now_ms": self.now, **fields}

    def _place(self, request: Request) -> Plain:
        checked = int(request.rid not in self.store.unchecked)
        return "queued", {"place": self.place(request), "poll_ms": self.settings["poll_ms"], "checked": checked}

    def _grant(self, request: Request) -> Plain:
        fences = [("part", {"resource": part.resource, "fence": part.fence}) for part in request.parts]
        return "granted", {"deadline_ms": request.deadline, "fences": fences}

    # Of requests that are there

    def each(self, items: Items, one: Callable[[str], Plain]) -> Plain:
        return "ok", {"now_ms": self.now, "items": [one(rid) for (rid,) in items]}

    def _poll(self, *, item: Items) -> Plain:
        return self.each(item, self._poll_one)

    def _poll_one(self, rid: str) -> Plain:
        request = self.live.get(rid)
        if request and request.waiting and (reason := self.refusal(request)):
            self.end(request, "unavailable", reason)
            self.hand_off()
        if rid in self.ended:
            outcome, detail, _ = self.ended[rid]
            if outcome in ("deadlock", "unavailable"):
                return outcome, {TOLD[outcome]: detail}
            return "ended", {"outcome": outcome}
        if request is None:
            return "unknown", {}
        if request.waiting:
            request.deadline = min(request.until, self.now + self.settings["waiter_ms"])
            return self._place(request)
        self.claim(request)
        return self._grant(request)

    def claim(self, request: Request) -> None:
        if request.state == "granted":
            request.state, request.deadline = "held", self.now + request.ttl
            self.event("lock.acquired", request.rid)

    def _renew(self, *, item: Items) -> Plain:
        return self.each(item, self._renew_one)

    def _renew_one(self, rid: str) -> Plain:
        request = self.live.get(rid)
        if request is None:
            return ("lost" if rid in self.ended else "unknown"), {}
        if request.waiting:
            return "waiting", {}
        self.claim(request)
        request.deadline = max(request.deadline, self.now + request.ttl)
        return "renewed", {"deadline_ms": self.now + request.ttl}

    def _release(self, *, item: Items) -> Plain:
        def leave(rid: str) -> Plain:
            outcome = self.leave(rid)
            return (outcome if outcome in ("released", "cancelled", "unknown") else "lost"), {}

        return self.all_leave(item, leave)

    def _cancel(self, *, item: Items) -> Plain:
        def leave(rid: str) -> Plain:
            outcome = self.leave(rid)
            if outcome == "unknown":
                self.remember(rid, outcome := "cancelled")
            return (outcome, {}) if outcome in ("released", "cancelled") else ("ended", {"outcome": outcome})

        return self.all_leave(item, leave)

    def _abort(self, *, item: Items, circle: str) -> Plain:
        def leave(rid: str) -> Plain:
            if rid in self.live and self.live[rid].waiting:
                self.end(self.live[rid], "deadlock", circle)
            return ("aborted" if self.ended.get(rid, "")[:2] == ("deadlock", circle) else "not_waiting"), {}

        return self.all_leave(item, leave)

    def all_leave(self, items: Items, leave: Callable[[str], Plain]) -> Plain:
        """Before anybody is handed anything."""
        answer = self.each(items, leave)
        self.hand_off()
        return answer

    def leave(self, rid: str) -> str:
        """How it ends, or has ended."""
        if request := self.live.get(rid):
            self.end(request, "cancelled" if request.waiting else "released")
        return self.ended[rid].outcome if rid in self.ended else "unknown"

    def _downgrade(self, *, rid: str) -> Plain:
        request = self.live.get(rid)
        if request is None:
            return ("lost" if rid in self.ended else "unknown"), {"now_ms": self.now}
        if request.waiting:
            return "waiting", {"now_ms": self.now}
        for part in request.parts:
            part.mode = "s" if part.mode == "x" else part.mode
        self.hand_off()
        return "downgraded", {"now_ms": self.now}

    # Operators

    def _reap(self, *, limit: int) -> Plain:
        count, more = self.sweep(limit), self.answer[1]["more"]
        assert more or not self.coming_due(), f"there are more: {self.coming_due()}"
        return "ok", {"now_ms": self.now, "ended": count, "more": more}

    def _force_release(self, *, rid: str, resource: str, reason: str, owner: str = "") -> Plain:
        memory = f"#forced:{rid}"  # no request has such a name
        if memory not in self.ended:
            held = [(part.code, one.owner, one.rid) for one, part in self.picture().holds(resource)]
            rids = [one for *_, its, one in sorted(held) if owner in ("", its)]
            for one in rids:
                self.end(self.live[one], "revoked", reason)
            self.remember(memory, "forced", f"{self.first_fence + len(self.grants)} 0 {' '.join(rids)}")
            self.forced += 1
            self.hand_off()
        fence, _, *rids = self.ended[memory].detail.split()
        return "ok", {"now_ms": self.now, "fence": int(fence), "released": rids, "more": 0}

    def _offline(self, *, rid: str, who: str, by: str) -> Plain:
        memory = f"#offline:{rid}"
        if memory not in self.ended:
            goes = [one for one in self.live.values() if who == (one.agent if by == "agent" else one.owner)]
            rids = [one.rid for one in goes]
            told = self.answer[1]["ended"]
            assert sorted(told) == sorted(rids), f"{told} ended, not {rids}"
            for one in goes:
                self.leave(one.rid)
            self.remember(memory, "offline", f"0 {' '.join(told)}")
            self.hand_off()
        _, *ended = self.ended[memory].detail.split()
        return "ok", {"now_ms": self.now, "ended": ended, "more": 0}

    def _set_capacity(self, *, resource: str, max: int, silent_ms: int = 0) -> Plain:
        before = self.capacity.get(resource)
        self.fewer |= before is None or before.status != "active" or max < before.max
        self.capacity[resource] = Capacity(max, silent_ms, self.now)
        self.hand_off()
        return "ok", {"now_ms": self.now}

    def _heartbeat(self, *, item: Items) -> Plain:
        for (resource,) in item:
            if capacity := self.capacity.get(resource):
                capacity.seen = self.now
        self.hand_off()
        found = [self.capacity.get(resource) for (resource,) in item]
        return "ok", {"now_ms": self.now, "items": [(one.status if one else "no_capacity", {}) for one in found]}

    def _drain(self, *, resource: str) -> Plain:
        if resource not in self.capacity:
            return "no_capacity", {"now_ms": self.now}
        self.capacity[resource].status = "draining"
        return "draining", {"now_ms": self.now}

    def _remove(self, *, resource: str) -> Plain:
        if resource not in self.capacity:
            return "no_capacity", {"now_ms": self.now}
        if self.used(resource):
            return "in_use", {"now_ms": self.now}
        del self.capacity[resource]
        return "removed", {"now_ms": self.now}

    def _configure(self, *, clock: str, settings: Sequence[tuple[Settings]]) -> Plain:
        for (changes,) in settings:
            self.configured |= changes
        self.settings |= self.configured
        pairs = {name: value.encode() for name, value in self.store.config.items()}
        return "ok", {"now_ms": self.next_now(), "settings": pairs}

    def _detect(self, *, limit: int, visits: int) -> Plain:
        """What it does is up to it, as long as it is right, and no circle is left."""
        status, fields = self.answer
        self.detected = self.now
        pictures = [self.moment()]
        for _, told in fields["items"]:
            victim, circle = self.live[told["rid"]], told["circle"]
            edges = [edge for one in self.line() for picture in self.places(one) for edge in picture.edges()]
            assert is_cycle(circle, edges), f"there is no such circle: {told}"
            assert victim.rid in self.picture().stuck(leave=False), f"{victim.rid} could wait"
            self.end(victim, "deadlock", circle)
            self.hand_off()
            pictures.append(self.moment())
        for one in self.line():
            if (order := self.store.order(one.rid)) == "-":  # it could have what it wants where it was moved
                assert any(self.grantable(one, picture) for picture in self.places(one)), f"{one.rid} has to wait"
                self.grant(one, "granted")
                self.event("lock.promoted", one.rid)
                self.hand_off()
            elif order != one.order:
                self.check_jump(one, order, pictures)
                one.order = order
                self.event("lock.queued", one.rid)
        self.rates |= {name: int(due) for name, due in self.store.rates.items() if name.startswith("detect ")}
        gone = len(self.before.unchecked) - len(self.store.unchecked)
        gone += len(fields["items"])  # for whom another gave way is looked at again
        assert fields["checked"] <= min(limit, gone), f"{fields['checked']} were looked at, {gone} need not be again"
        return status, fields | {"now_ms": self.now}
