"""Delegations of persons in the model of changes: requests follow them, and go back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha1
from typing import Any, Final

from tests.property.change_records import NEVER, Answer, Change, RefusedError, Slot, check_person, text
from tests.property.change_views import ChangeViews

DELEGATION: Final = {
    "from_ms": 0, "until_ms": 0, "types": (), "tags": (), "resources": (), "risk_above": -1, "risk_below": -1,
    "cascade": False, "active": True,
}  # fmt: skip
MOST_DELEGATIONS: Final = 16


class ChangeDelegations(ChangeViews):
    def __init__(self, now: int) -> None:
        super().__init__(now)
        self.delegations: dict[str, dict[str, dict[str, Any]]] = {}  # by person and name
        self.ever_delegated = False
        self.delegating: dict[str, int] = {}  # person -> when to look at its requests

    def _check_set_delegations(self, item: Sequence[Mapping[str, Any]], **who: Any) -> None:
        check_person(**{"actor": "", **who})
        for one in item:
            if one.get("remove"):
                if len(one) > 2:
                    raise RefusedError("remove")
            elif "to" not in one:
                raise RefusedError("to")
            elif one.get("until_ms", 2**53) <= one.get("from_ms", 0):
                raise RefusedError("until_ms")

    def set_delegations(
        self, user: str, item: Sequence[Mapping[str, Any]], actor: str = "", *, principal: str = "",
        kind: str = "person",
    ) -> Answer:  # fmt: skip
        behind: dict[str, Any] = {"for": principal} if kind == "agent" and actor == user else {}
        answers = [self._set_delegation(user, **one, **({} if one.get("remove") else behind)) for one in item]
        self._move_delegated()
        return "ok", {"items": [(status, {}) for status in answers]}

    def _set_delegation(self, user: str, name: str, remove: bool = False, inactive: bool = False, **given: Any) -> str:
        own = self.delegations.setdefault(user, {})
        if remove:
            if own.pop(name, None) is None:
                return "unknown"
        else:
            new = DELEGATION | given | {"active": not inactive}
            if own.get(name) == new:
                return "same"
            if self._leads_back(user, given["to"]):
                return "cycle"
            if name not in own and len(own) >= MOST_DELEGATIONS:
                return "full"
            own[name] = new
            self.ever_delegated = True
        self.delegating[user] = self.now
        return "removed" if remove else "stored"

    def _leads_back(self, user: str, to: str) -> bool:
        """Whether delegations, at whatever time, lead from one person to another."""
        seen, left = set(), [to]
        while left:
            person = left.pop()
            seen.add(person)
            left += [one["to"] for one in self.delegations.get(person, {}).values() if one["to"] not in seen]
        return user in seen

    def get_delegations(self, user: str) -> Answer:
        pending = [slot for one in self.changes.values() for slot in one.slots if slot.status == "pending"]
        own = sorted(self.delegations.get(user, {}).items(), key=lambda one: one[0].encode())
        items = [("found", {"name": name, "delegation": {k: text(v) for k, v in one.items()}}) for name, one in own]
        return "ok", {"away": sum(user in slot.chain for slot in pending), "items": items}

    # which requests move

    def _fits(self, change: Change, one: Mapping[str, Any]) -> bool:
        if not one["active"] or self.now < one["from_ms"] or 0 < one["until_ms"] <= self.now:
            return False
        above, below = one["risk_above"], one["risk_below"]
        if above >= 0 or below >= 0:
            if change.score is None or change.risk_rev != change.rev:
                return False
            if 0 <= above >= change.score or 0 <= below <= change.score:
                return False
        given = {"types": (change.content["type"],), "tags": change.metadata["tags"]}
        given["resources"] = change.content["resources"]
        return all(not one[name] or not set(one[name]).isdisjoint(values) for name, values in given.items())

    def _first(self, change: Change, person: str) -> tuple[str, dict[str, Any]] | None:
        own = sorted(self.delegations.get(person, {}).items(), key=lambda one: one[0].encode())
        return next((one for one in own if self._fits(change, one[1])), None)

    def _follow(self, change: Change, slot: Slot) -> None:
        """Lead a request on from who has it."""
        while slot.reviewer.startswith("user:") and len(slot.chain) < change.policy["delegation_depth"]:
            if slot.via and slot.via[-1] and not self._cascades(slot):
                break
            person = slot.reviewer.removeprefix("user:")
            found = self._first(change, person)
            if found is None or change.has_answered(person) or not change.can_be_asked(f"user:{found[1]['to']}"):
                break
            behind = found[1].get("for", "")
            wrote = change.wrote(behind) and not change.policy["contributors_may_vote"]
            if behind and (wrote or change.has_answered(behind)):
                break
            slot.chain, slot.via = (*slot.chain, person), (*slot.via, _led_by(*found))
            slot.reviewer = f"user:{found[1]['to']}"

    def _cascades(self, slot: Slot) -> bool:
        """Whether the delegation that led to its reviewer lets it go on."""
        led = self.delegations.get(slot.chain[-1], {}).get(slot.via[-1].partition(":")[0])
        return led is None or bool(led["cascade"])

    def _look_later(self, slot: Slot) -> None:
        """A request is open again: delegations may have begun or ended meanwhile."""
        if self.ever_delegated and slot.reviewer.startswith("user:"):
            for person in (slot.reviewer.removeprefix("user:"), *slot.chain):
                self.delegating[person] = self.now

    def _is_late(self, person: str) -> bool:
        return self.delegating.get(person, NEVER) <= self.now

    def _cut(self, change: Change, slot: Slot, everything: bool) -> bool:
        """Give a request back to the first whose delegation does not hold any more. everything: also of others than
        those whose delegations have begun, ended or changed."""
        people = (*slot.chain, slot.reviewer.removeprefix("user:"))
        for at, (person, via, to) in enumerate(zip(slot.chain, slot.via, people[1:], strict=True)):
            name = via.partition(":")[0]
            led = self.delegations.get(person, {}).get(name)
            same = led and led["to"] == to and via == _led_by(name, led) and (led["cascade"] or to == people[-1])
            if name and (everything or self._is_late(person)) and not (led and same and self._fits(change, led)):
                slot.reviewer, slot.chain, slot.via = f"user:{person}", slot.chain[:at], slot.via[:at]
                return True
        return False

    def _resolved(self, change: Change, everything: bool = False) -> tuple[Change, dict[int, Slot]]:
        """A copy with each pending request where it belongs now; and those that were looked at, as they went back."""
        now = replace(change, slots=[replace(one) for one in change.slots])
        looked = []
        for slot in now.slots if change.state in ("submitted", "reviewing") else ():
            if slot.status == "pending" and slot.reviewer.startswith("user:"):
                person = slot.reviewer.removeprefix("user:")
                if self._cut(now, slot, everything) or everything or self._is_late(person):
                    looked.append(slot)
        back = {slot.number: replace(slot) for slot in looked}
        for slot in looked:
            self._follow(now, slot)
        return now, back

    def movers(self, change: Change) -> list[str]:
        """The persons from whom and to whom delegations lead requests by now, though no call has noted it yet, and
        those who have answered by delegations that do not hold any more."""
        now, _ = self._resolved(change)
        pairs = [(change.slot(one.number), one) for one in now.slots]
        moved = {one.reviewer for pair in pairs if pair[0].place != pair[1].place for one in pair}
        ended = {one.reviewer for one in change.slots if one.by and self._cut(change, replace(one), everything=True)}
        return sorted(one.removeprefix("user:") for one in moved | ended)

    def _settle(self, change: Change, everything: bool = False, only: int | None = None) -> None:
        """Move pending requests to whom they belong now. only: a slot; of the others, only those go back that have
        somebody who gets it."""
        now, back = self._resolved(change, everything)
        moved = [slot for slot in now.slots if slot.place != change.slot(slot.number).place]
        if only is not None:
            wanted = next((slot for slot in moved if slot.number == only), None)
            moved = [slot if slot is wanted else back[slot.number] for slot in moved if wanted and (
                slot is wanted or any(change.slot(slot.number).asks(one) for one in wanted.people)
            )]  # fmt: skip
        for to in moved:
            slot = change.slot(to.number)
            before = slot.place
            slot.move(*to.place)
            if before[:2] != to.place[:2]:
                slot.assigned = self.now
                self._note_led(change, slot, before[0])

    def _lead_on(self, change: Change, slot: Slot) -> None:
        """Lead a request on from a person who has just got it."""
        before = slot.reviewer
        self._follow(change, slot)
        if slot.reviewer != before:
            self._note_led(change, slot, before)

    def _note_led(self, change: Change, slot: Slot, before: str) -> None:
        detail = f"slot={slot.number} from={before} to={slot.reviewer} chain={','.join(slot.chain)}"
        self._note(change, "change.delegated", "delegation", detail)

    def _move_delegated(self) -> None:
        """Move the requests of all persons whose delegations have begun, ended or changed."""
        while due := sorted((at, person) for person, at in self.delegating.items() if at <= self.now):
            person = due[0][1]
            for change in list(self.changes.values()):
                for slot in list(change.slots):
                    if slot.status == "pending" and (
                        person in slot.chain or (change.state == "reviewing" and slot.reviewer == f"user:{person}")
                    ):
                        self._move(change, slot)
            own = [one for one in self.delegations.get(person, {}).values() if one["active"]]
            times = [at for one in own for at in (one["from_ms"], one["until_ms"]) if at > self.now]
            if times:
                self.delegating[person] = min(times)
            else:
                del self.delegating[person]

    def _move(self, change: Change, slot: Slot) -> None:
        self._load(change.id)
        if slot.status == "pending":
            self._settle(change, only=slot.number)

    # what the model of all scripts has

    def _load(self, id: str) -> Change | None:
        raise NotImplementedError

    def _note(self, change: Change, event: str, by: str, detail: str = "", reason: str = "", proof: str = "") -> None:
        entry = {"event": event, "timestamp": self.now, "rev": change.rev, "round": change.round, "by": by}
        change.log.append(entry | {"detail": detail, "reason": reason, "proof": proof, "caller": ""})
        payload = f"rev={change.rev} round={change.round} by={by}{' ' + detail if detail else ''}"
        self.events.setdefault(change.id, []).append((event, payload))
        step = event.removeprefix("change.")
        wanted = [one.split("|") for one in change.policy.get("follows", "").split(";") if one.startswith(f"{step}|")]
        for _, kind, lane, priority in wanted:
            told = {"event": step, "rev": change.rev, "digest": change.digest, "kind": kind, "lane": lane}
            told |= {"priority": int(priority)}
            told |= {"task_id": f"{self.domain}/{change.id}/{len(change.log)}"}
            if self.direct is not None:  # nobody else can know their ids before
                end = sha1(f"{self.direct} {change.id} {len(change.log)}".encode()).hexdigest()[:20]
                change.follow_ids.append(f"{len(change.log)}/{end}")
                self.tasks.add(f"{told['task_id']}/{end}")
            else:
                self.outbox[change.id, len(change.log)] = self.now, told


def _led_by(name: str, delegation: Mapping[str, Any]) -> str:
    """How a request names the delegation that has led it on."""
    return f"{name}:{delegation['for']}" if "for" in delegation else name
