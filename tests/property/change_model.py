"""What the scripts of changes do, written from their headers. `call` is the way in.

The audit of what is stored is in tests/nouns/change/model.py.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from tests.property.change_delegations import ChangeDelegations
from tests.property.change_records import (
    CONTENT,
    DAY_MS,
    ENDED,
    FOLLOWED,
    GRACE_MS,
    METADATA,
    MOST_REPLACED,
    MOST_SLOTS,
    NEVER,
    OUTBOX_MS,
    POLICY,
    PREVIEW_MS,
    RID_MS,
    STATUSES,
    Answer,
    Change,
    RefusedError,
    Slot,
    Voter,
    check_person,
    digest_of,
    netstrings,
    text,
)


def follows_of(policy: Mapping[str, Any]) -> str:
    """The tasks that a policy wants after steps, as it stores them."""
    return ";".join(f"{step}|{policy[f'{step}_kind']}|any|5" for step in FOLLOWED if f"{step}_kind" in policy)


READING: Final = ("get", "list", "inbox", "stats", "get_policies")


class ChangeModel(ChangeDelegations):
    def call(self, verb: str, rid: str | None = None, **arguments: Any) -> Answer:
        """What the script answers, without now_ms."""
        if rid is not None:
            until, before = self.answered.get((verb, rid), (0, None))
            if before is not None and until > self.now:
                return self._begun_again(arguments, before) if verb == "begin" else before
            arguments |= {"rid": rid} if verb == "begin" else {}
        getattr(self, f"_check_{verb}", lambda **_: None)(**arguments)
        self.direct = rid if verb == "respond" and self.takes_tasks else None
        answer: Answer = getattr(self, "outbox_" if verb == "outbox" else verb)(**arguments)
        if verb not in ("configure", "set_policies", "set_delegations", "sweep", "outbox", *READING):
            self._take_others(10)
        self.direct = None
        if rid is not None:
            self.answered[verb, rid] = self.now + RID_MS, answer
        return answer

    def _begun_again(self, arguments: Mapping[str, Any], answer: Answer) -> Answer:
        """The content is not remembered, so it must still be that revision."""
        change = self.changes.get(arguments["id"])
        if answer[0] != "begun":
            return answer
        if change is None:
            return "not_found", {}
        if change.digest != arguments["digest"]:
            return "outdated", {"state": change.state, "rev": change.rev, "digest": change.digest}
        return answer

    # settings and policies

    def configure(self, settings: Mapping[str, Any]) -> Answer:
        self.settings |= settings
        return "ok", {}

    def _check_set_policies(self, item: Sequence[Mapping[str, Any]], **_: Any) -> None:
        for one in item:
            if one.get("remove"):
                if len(one) > 2:
                    raise RefusedError("remove")
            elif "required" not in one:
                raise RefusedError("required")
            elif ("escalate_to" in one) != ("escalate_ms" in one):
                raise RefusedError("escalate_ms")
            elif one.get("on_timeout") == "approve" and "timeout_approve_below" not in one:
                raise RefusedError("timeout_approve_below")
            elif one.get("timeout_ms", 0) > self.settings["max_timeout_ms"]:
                raise RefusedError("timeout_ms")

    def set_policies(self, item: Sequence[Mapping[str, Any]], actor: str = "") -> Answer:
        return "ok", {"items": [self._set_policy(**one) for one in item]}

    def _set_policy(self, name: str, remove: bool = False, **given: Any) -> Answer:
        before = self.policies.get(name)
        if remove:
            return "removed" if self.policies.pop(name, None) else "unknown", {}
        policy = POLICY | {"follows": follows_of(given)}
        policy |= {one: value for one, value in given.items() if one.removesuffix("_kind") not in FOLLOWED}
        if before and {**policy, "version": before["version"]} == before:
            return "same", {"version": before["version"]}
        self.versions += 1
        self.policies[name] = policy | {"version": self.versions}
        return "stored", {"version": self.versions}

    # authors

    def _check_put(self, id: str, resources: Sequence[str] = (), **arguments: Any) -> None:
        check_person(**arguments)
        if len(id) > 64:
            raise RefusedError("id")
        if len(set(resources)) < len(resources):
            raise RefusedError("resources")

    def put(
        self, id: str, actor: str, change_type: str, description: str, *, expect_rev: int = 0, principal: str = "",
        kind: str = "person", version: str = "", parameters: str = "", resources: Sequence[str] = (),
        rollback_strategy: str = "none", timeout_ms: int = 0, priority: int = 50, author_name: str = "", team: str = "",
        ticket_ref: str = "", tags: Sequence[str] = (),
    ) -> Answer:  # fmt: skip
        values = (
            change_type, version, description, tuple(sorted(resources, key=str.encode)), rollback_strategy, timeout_ms,
            priority,
        )  # fmt: skip
        content = dict(zip(CONTENT, values, strict=True))
        metadata = dict(zip(METADATA, (author_name, team, ticket_ref, tuple(tags)), strict=True))
        people = actor, principal or actor
        change = self._load(id)
        if change is not None:
            self._settle(change)
        if change is None:
            if expect_rev:
                return "not_found", {}
            change = self.changes[id] = Change(id, *people, self.now)
            status, event = "created", "change.created"
        elif expect_rev == 0:
            return "exists", {"state": change.state, "rev": change.rev, "digest": change.digest}
        elif expect_rev != change.rev:
            return self._outdated(change)
        elif change.state not in ("draft", "submitted", "reviewing", "approved"):
            return self._wrong_state(change)
        elif (slot := self._has_request(change, people)) is not None:
            return "is_reviewer", {"state": change.state, "slot": slot}
        elif digest_of(content, parameters) != change.digest:
            status, event = "revised", "change.revised"
        elif metadata != change.metadata:
            status, event = "edited", "change.edited"
        else:
            status, event = "unchanged", ""
        if status != "created" and metadata != change.metadata and change.state != "draft":
            change.denied |= not set(change.metadata["tags"]).isdisjoint(change.policy["deny_tags"])
        if status == "revised":
            self._object(change)
        if event:
            change.contributors.update(people)
            change.metadata = metadata
        detail = ""
        if status == "revised":
            changed = [name for name in CONTENT if change.content[name] != content[name]]
            if change.parameters != parameters:
                changed.insert(sum(name in CONTENT[:3] for name in changed), "parameters")
            change.replaced[change.rev] = netstrings(change.content, change.parameters)
            change.replaced.pop(change.rev - MOST_REPLACED, None)
            detail = "changed=" + ",".join(changed).replace("timeout_ms", "timeout")
        if status in ("created", "revised"):
            change.rev += 1
            change.content, change.parameters, change.digest = content, parameters, digest_of(content, parameters)
        if event:
            self._note(change, event, actor, detail)
        if status == "revised" and change.state != "draft":
            self._open_round(change, actor, "revised")
        if status in ("revised", "edited"):
            self._settle(change, everything=True)
        told = {"state": change.state, "rev": change.rev, "round": change.round, "digest": change.digest}
        return status, told

    def _has_request(self, change: Change, people: Iterable[str]) -> int | None:
        """The slot of one of these, or which one of these has answered: as themselves, or for somebody."""
        if change.state == "draft" or change.policy["contributors_may_vote"]:
            return None
        for slot in change.slots:
            behind = (*slot.stored_for, *slot.behind) if slot.chain else ()
            if any(slot.asks(one) or one in (slot.by, slot.reviewed_by, *behind) for one in people):
                return slot.number
        return None

    def _check_submit(self, *, timeout_ms: int = 0, **arguments: Any) -> None:
        check_person(**arguments)
        if timeout_ms > self.settings["max_timeout_ms"]:
            raise RefusedError("timeout_ms")

    def submit(
        self, id: str, rev: int, actor: str, policy: str, *, principal: str = "", kind: str = "person",
        priority: str = "normal", timeout_ms: int = 0, item: Sequence[Mapping[str, str]] = (),
    ) -> Answer:  # fmt: skip
        change, own = self._load(id), self.policies.get(policy)
        if change is None:
            return "not_found", {}
        if change.state != "draft":
            return self._wrong_state(change)
        if rev != change.rev:
            return self._outdated(change)
        if not change.wrote(actor, principal or actor):
            return "forbidden", {}
        if own is None:
            return "no_policy", {}
        slots: list[Slot] = []
        named = [(one, "") for one in own["reviewers"]] + [(one["reviewer"], one.get("name", "")) for one in item]
        for one, name in named:
            person = one.removeprefix("user:") if one.startswith("user:") else None
            asked = any(slot.reviewer == one for slot in slots)
            if person and (asked or (change.wrote(person) and not own["contributors_may_vote"])):
                continue
            slots.append(Slot(len(slots) + 1, one, name, priority))
        if len(slots) < own["required"]:
            return "unreachable", {"required": own["required"], "eligible": len(slots)}
        usual = own["timeout_ms"] or self.settings["default_timeout_ms"]
        wanted = timeout_ms or usual
        if own["on_timeout"] == "approve":
            wanted = max(wanted, usual)
        change.policy = own | {"timeout_ms": min(wanted, self.settings["max_timeout_ms"]), "priority": priority}
        change.policy["name"] = f"{policy}@{own['version']}"
        change.round += 1
        change.fields["submitted_ms"], change.asked = self.now, 0
        change.timeout_at = self.now + change.policy["timeout_ms"]
        change.decided_by = change.why = ""
        change.slots = slots
        change.state, change.denied = "submitted", False
        self._note(change, "change.submitted", actor, f"policy={change.policy['name']}")
        for slot in slots:
            self._ask(change, slot)
        self._go_on(change, actor)
        return change.state, {"rev": change.rev, "round": change.round, "digest": change.digest}

    def _check_move(self, **arguments: Any) -> None:
        check_person(**arguments)

    def move(
        self, id: str, to: str, actor: str, *, principal: str = "", kind: str = "person", reason: str = ""
    ) -> Answer:
        change = self._load(id)
        if change is None:
            return "not_found", {}
        if not change.wrote(actor, principal or actor):
            return "forbidden", {}
        match to, change.state:
            case "withdraw", "submitted" | "reviewing" | "approved":
                self._leave(change, "draft")
                self._note(change, "change.withdrawn", actor, reason=reason)
            case "reopen", "failed" | "rejected":
                self._leave(change, "draft")
                self._note(change, "change.reopened", actor, reason=reason)
            case "cancel", "draft" | "submitted" | "reviewing" | "approved":
                change.why = "cancelled"
                self._leave(change, "cancelled")
                self._note(change, "change.cancelled", actor, reason=reason)
            case "cancel", "applying":
                change.cancelling = True
                self._note(change, "change.cancelling", actor, reason=reason)
                return "cancelling", {"rev": change.rev}
            case _:
                return self._wrong_state(change)
        return change.state, {"rev": change.rev}

    # risk and preview

    def _check_assess(self, *, score: int = -1, preview: str = "", **arguments: Any) -> None:
        check_person(**arguments)
        if score < 0 and not preview:
            raise RefusedError("score")

    def assess(
        self, id: str, rev: int, digest: str, actor: str, *, principal: str = "", kind: str = "person", score: int = -1,
        factors: str = "", auto_approvable: bool = False, assessed_by: str = "", preview: str = "",
    ) -> Answer:  # fmt: skip
        change = self._load(id)
        if change is None:
            return "not_found", {}
        if change.state not in ("draft", "submitted", "reviewing"):
            return self._wrong_state(change)
        if (rev, digest) != (change.rev, change.digest):
            return self._outdated(change)
        if change.wrote(actor, principal or actor):
            return "not_eligible", {"reason": "contributor"}
        level, detail = "none", ""
        if preview:
            change.preview, change.preview_rev, change.preview_until = preview, rev, self.now + PREVIEW_MS
        if score >= 0:
            level, change.score, change.risk_rev = self._level_of(score), score, rev
            change.auto_approvable = auto_approvable
            change.fields |= {"risk_level": level, "risk_factors": factors, "assessed_by": assessed_by}
            change.fields["assessed_ms"] = self.now
            detail = f"score={score} level={level}"
        self._note(change, "change.assessed", actor, detail)
        if change.state == "submitted":
            self._go_on(change, actor)
            if change.state == "reviewing":
                self._open_again(change, change.slots)
        self._settle(change, everything=True)
        return "ok", {"state": change.state, "level": level}

    def _level_of(self, score: int) -> str:
        levels = [one for one in ("critical", "high", "medium") if score >= self.settings[f"risk_{one}"]]
        return levels[0] if levels else "low"

    def _go_on(self, change: Change, by: str) -> None:
        """A submitted change that has all that it needs is approved by its policy, or people are asked."""
        if change.is_assessed(self.now):
            if self._passes_alone(change):
                self._approve(change, f"policy:{change.policy['name']}")
            else:
                change.state = "reviewing"
                self._open_review(change, by)

    def _passes_alone(self, change: Change) -> bool:
        return (
            self.settings["auto_approve_low_risk"]
            and change.auto_approvable
            and change.risk_rev == change.rev
            and change.score is not None
            and change.score < change.policy["auto_below"]
            and not change.needs_people()
            and not change.asked
        )

    # rounds of review

    def _open_again(self, change: Change, slots: Iterable[Slot]) -> None:
        for slot in slots:
            self._open(change, slot)
            self._look_later(slot)

    def _open(self, change: Change, slot: Slot) -> None:
        slot.status, slot.by, slot.reviewed_by, slot.action, slot.reason, slot.responded = "pending", "", "", "", "", 0
        slot.opened = slot.assigned = self.now
        slot.due, slot.version = change.timeout_at, (change.round, change.rev, change.digest)

    def _open_review(self, change: Change, by: str) -> None:
        """People are asked from now on: all times begin."""
        policy = change.policy
        change.asked, change.timeout_at, change.level = self.now, self.now + policy["timeout_ms"], 0
        change.remind_at = self.now + policy["remind_ms"] if policy["remind_ms"] else 0
        change.escalate_at = self.now + policy["escalate_ms"] if policy["escalate_to"] else 0
        for slot in change.slots:
            slot.due = change.timeout_at
        self._note(change, "change.reviewing", by)

    def _open_round(self, change: Change, by: str, why: str) -> None:
        """All answers are void, and risk and preview are wanted again where this revision has none."""
        change.round += 1
        change.timeout_at = self.now + change.policy["timeout_ms"]
        change.decided_by = ""
        self._open_again(change, change.slots)
        self._note(change, "change.outdated", by, f"why={why}")
        change.state = "reviewing" if change.is_assessed(self.now) else "submitted"
        if change.state == "reviewing":
            self._open_review(change, by)

    def _leave(self, change: Change, state: str) -> None:
        """Nobody is asked any more."""
        self._object(change)
        if change.state in ("submitted", "reviewing"):
            for slot in change.slots:
                if slot.status == "pending":
                    slot.status = "expired" if change.timeout_at <= self.now else "cancelled"
        change.state = state
        if state in ENDED:
            change.completed = change.ended = self.now

    def _object(self, change: Change) -> None:
        """What people have said against the content stays known, when its review ends or another content comes."""
        if change.state == "reviewing" and change.count("rejected", "changes_requested"):
            self._note_rejection(change)

    def _note_rejection(self, change: Change) -> None:
        if change.digest not in change.rejected:
            change.rejected = (change.digest, *change.rejected[:9])

    def _approve(self, change: Change, by: str, why: str = "") -> None:
        self._leave(change, "approved")
        change.fields["approved_ms"] = self.now
        change.decided_by, change.until = by, self.now + change.policy["approval_ms"]
        change.attempts, change.token = 0, ""
        self._note(change, "change.approved", by, reason=why)

    def _reject(self, change: Change, by: str, why: str) -> None:
        if why != "timeout":
            self._note_rejection(change)
        change.why, change.decided_by = why, by
        self._leave(change, "rejected")
        self._note(change, "change.rejected", by, f"why={why}")

    def _decide(self, change: Change, by: str) -> str | None:
        policy = change.policy
        if 0 < policy["rejections"] <= change.count("rejected"):
            self._reject(change, by, "rejections")
            return "rejected"
        if change.count("approved") >= policy["required"] and not change.count("changes_requested"):
            self._approve(change, by)
            return "approved"
        reachable = change.count("approved", "pending", "changes_requested")
        if reachable < policy["required"] and not self._escalate(change, by):
            self._reject(change, by, "unreachable")
            return "rejected"
        return None

    def _escalate(self, change: Change, by: str) -> bool:
        """Ask the next level, with a full interval for all who are asked."""
        change.level, name = change.next_asked()
        more = change.level < len(change.policy["escalate_to"])
        change.escalate_at = self.now + change.policy["escalate_ms"] if more else 0
        if name is None:
            return False
        change.timeout_at = self.now + change.policy["timeout_ms"]
        for one in change.slots:
            if one.status == "pending":
                one.due = change.timeout_at
        slot = self._add_slot(change, name)
        self._note(change, "change.escalated", by, f"slot={slot.number} to={slot.reviewer}")
        return True

    def _add_slot(self, change: Change, reviewer: str, name: str = "") -> Slot:
        number = max((slot.number for slot in change.slots), default=0) + 1
        slot = Slot(number, reviewer, name, change.policy["priority"])
        change.slots.append(slot)
        self._ask(change, slot)
        return slot

    def _ask(self, change: Change, slot: Slot) -> None:
        """Make a request, for its reviewer or for those to whom delegations lead from there."""
        self._follow(change, slot)
        self._open(change, slot)
        if slot.chain:
            detail = f"slot={slot.number} to={slot.reviewer} chain={','.join(slot.chain)}"
            self._note(change, "change.delegated", "delegation", detail)

    # what is due

    def _load(self, id: str) -> Change | None:
        change = self.changes.get(id)
        if change is not None:
            self._take_due(change)
        return change

    def _take_others(self, limit: int) -> int:
        due = sorted((one.due, one.id) for one in self.changes.values() if one.due <= self.now)[:limit]
        for _, id in due:
            self._take_due(self.changes[id])
        return len(due)

    def _take_due(self, change: Change) -> None:
        while change.due <= self.now:
            match change.state:
                case "applying":
                    late = change.deadline >= change.started + change.run_ms + GRACE_MS
                    change.attempts += 1
                    self._end_run(change, "time", "failed" if late else "retry", "timeout" if late else "lost")
                case "approved":
                    change.risk_rev = change.preview_rev = 0
                    self._open_round(change, "time", "approval_ended")
                case "reviewing" if 0 < change.escalate_at <= min(self.now, change.timeout_at):
                    self._escalate(change, "time")
                case _ if change.timeout_at <= self.now:
                    self._time_out(change)
                case _:
                    change.remind_at = self.now + change.policy["remind_ms"]
                    self._note(change, "change.reminded", "time")

    def _time_out(self, change: Change) -> None:
        policy = change.policy
        if (
            change.state == "reviewing"
            and policy["on_timeout"] == "approve"
            and change.risk_rev == change.rev
            and change.score is not None
            and change.score < policy["timeout_approve_below"]
            and not change.count("changes_requested")
            and not change.count("rejected")
            and not change.needs_people()
        ):
            self._approve(change, f"policy:{policy['name']}", "timeout")
        else:
            self._reject(change, "time", "timeout")

    def sweep(self, limit: int = 20) -> Answer:
        """At most so many things in all; it moves all requests that should move, or none."""
        taken = self._take_others(limit)
        left = limit - taken
        ended = sorted((one.ended, id) for id, one in self.changes.items() if one.state in ENDED)
        old = sum(at <= self.now - self.settings["keep_ms"] for at, _ in ended)
        gone = ended[: min(left, max(old, len(ended) - self.settings["keep_max"]))]
        kept = [id for _, id in gone if any(follow[0] == id for follow in self.outbox)]
        for _, id in gone:
            if id in kept:
                self.changes[id].ended = self.now
            else:
                self.events[id].append(("change.removed", ""))
                del self.changes[id]
        removed = len(gone) - len(kept)
        if left > removed:
            self._move_delegated()
        more = (
            left == 0 or (removed > 0 and len(gone) == left) or min(self.delegating.values(), default=NEVER) <= self.now
        )
        return "ok", {"taken": taken, "removed": removed, "more": int(more)}

    def outbox_(self, item: Sequence[Mapping[str, Any]] = (), limit: int = 100) -> Answer:
        """Remove what was delivered, and hand out what is due."""
        for one in item:
            self.outbox.pop((one["id"], one["seq"]), None)
        due = sorted(
            (at, f"{id} {seq}".encode(), (id, seq)) for (id, seq), (at, _) in self.outbox.items() if at <= self.now
        )
        items = []
        for _, _, (id, seq) in due[:limit]:
            told = self.outbox[id, seq][1]
            self.outbox[id, seq] = self.now + OUTBOX_MS, told
            items.append(("follow", {"id": id, "seq": seq, **told}))
        return "ok", {"queue": self.settings.get("follow_queue", ""), "left": len(self.outbox), "items": items}

    # answers

    def _check_respond(self, item: Sequence[Mapping[str, Any]], **arguments: Any) -> None:
        check_person(**arguments)
        if len(item) > 1 and not self.settings["batch_approvals"]:
            raise RefusedError("item")
        if any(one["action"] == "comment" and not one.get("reason") for one in item):
            raise RefusedError("reason")

    def respond(
        self, actor: str, item: Sequence[Mapping[str, Any]], *, principal: str = "", kind: str = "person",
        groups: Sequence[str] = (), proof: str = "",
    ) -> Answer:  # fmt: skip
        who = Voter(actor, principal or actor, kind, tuple(groups), proof)
        return "ok", {"items": [self._answer(who, **one) for one in item]}

    def _answer(
        self, who: Voter, id: str, rev: int, digest: str, action: str, slot: int = 0, reason: str = ""
    ) -> Answer:
        change = self._load(id)
        if change is None:
            return "not_found", {}
        if action == "comment":
            self._note(change, "change.commented", who.actor, reason=reason, proof=who.proof)
            return "commented", {}
        if change.state in ("draft", "submitted"):
            return "state", {"state": change.state}
        closed = "closed", {"state": change.state, "why": change.why, "by": change.decided_by}
        if change.state != "reviewing" and (change.state, action) != ("approved", "retract"):
            return closed
        if (rev, digest) != (change.rev, change.digest):
            return "outdated", {"rev": change.rev, "digest": change.digest}
        asked = self._request_of(self._resolved(change)[0], who, slot, action)
        if isinstance(asked, str):
            return "not_eligible", {"reason": asked}
        self._settle(change, only=asked.number)
        found = change.slot(asked.number)
        if action == "retract":
            return self._retract(change, found, who, reason) or closed
        if found.status == STATUSES[action]:
            return "same", {}
        self._count(who.actor, action, found.assigned if found.status == "pending" else None)
        found.status, found.by, found.reviewed_by = STATUSES[action], who.person, who.actor
        found.action, found.reason, found.responded = action, reason, self.now
        detail = f"slot={found.number} action={action} for={who.person}"
        self._note(change, "change.answered", who.actor, detail, reason, who.proof)
        if action == "request_changes":
            self._note(change, "change.changes_requested", who.actor, f"slot={found.number}", reason, who.proof)
        decision = self._decide(change, who.actor) or "recorded"
        return decision, {"state": change.state, "round": change.round}

    def _retract(self, change: Change, slot: Slot, who: Voter, reason: str) -> Answer | None:
        if slot.status == "pending":
            return "same", {}
        if change.state == "approved" and slot.status != "approved":
            return None
        detail = f"slot={slot.number} action=retract for={slot.by}"
        self._note(change, "change.answered", who.actor, detail, reason, who.proof)
        if change.state == "approved":
            self._open_round(change, who.actor, "retracted")
            decision = None
        else:
            self._open_again(change, [slot])
            decision = self._decide(change, who.actor)
        return decision or "recorded", {"state": change.state, "round": change.round}

    def _request_of(self, change: Change, who: Voter, number: int, action: str) -> Slot | str:
        """The request that this person has answered, or a pending one to the actor, or to a group; or why none."""
        policy = change.policy
        if who.kind == "agent" and not policy["agents_may_vote"]:
            return "agent"
        if not policy["contributors_may_vote"] and change.wrote(who.actor, who.person):
            return "contributor"
        asked = [slot for slot in change.slots if number in (0, slot.number)]
        for slot in change.slots:
            if slot.by == who.person:
                if slot not in asked or slot.reviewer not in who.names:
                    return "answered"
                ended = action != "retract" and self._cut(change, replace(slot), everything=True)
                behind = action != "retract" and change.is_behind_another(slot, who.actor, who.person)
                return "not_reviewer" if ended else "answered" if behind else slot
        fitting = [slot for slot in asked if slot.status == "pending" and slot.reviewer in who.names]
        free = [slot for slot in fitting if not change.is_behind_another(slot, who.actor, who.person)]
        why = "answered" if fitting else "not_reviewer"
        return min(free, key=lambda slot: slot.reviewer != f"user:{who.actor}", default=why)

    def _count(self, user: str, action: str, since: int | None) -> None:
        """Statistics of who has answered: by day, and how long it took; of the last 31 days."""
        counts, day = self.users.setdefault(user, Counter()), self.now // DAY_MS
        for name in [one for one in counts if one[1] == ":" and int(one[2:]) <= day - 31]:
            del counts[name]
        self.last[user] = self.now
        if action in ("approve", "reject"):
            counts[f"{action[0]}:{day}"] += 1
        if since is not None:
            took = self.now - since
            counts[f"took:{2 ** min(32, math.ceil(math.log2(took)) if took > 1 else 0)}"] += 1
            counts["answers"] += 1
            counts["took_ms"] += took

    # delegation, operators

    def _check_delegate(self, **arguments: Any) -> None:
        check_person(**arguments)

    def delegate(
        self, id: str, actor: str, *, slot: int = 0, principal: str = "", kind: str = "person", to: str = "",
        reason: str = "",
    ) -> Answer:  # fmt: skip
        change = self._load(id)
        if change is None:
            return "not_found", {}
        self._settle(change)
        mine = [one for one in change.slots if one.asks(actor) and slot in (0, one.number)]
        if not mine:
            return "not_eligible", {"reason": "not_reviewer"}
        found, policy = mine[0], change.policy
        if found.status != "pending":
            return "closed", {"state": change.state}
        before = found.reviewer
        if to:
            if before != f"user:{actor}":
                return "not_eligible", {"reason": "not_reviewer"}
            if found.asks(to):
                return "cycle", {}
            if len(found.chain) + 1 > policy["delegation_depth"]:
                return "too_deep", {"depth": policy["delegation_depth"]}
            if found.via and found.via[-1] and not self._cascades(found):
                return "not_eligible", {"reason": "no_cascade"}
            if not policy["contributors_may_vote"] and change.wrote(to, actor, principal or actor):
                return "not_eligible", {"reason": "contributor"}
            if not change.can_be_asked(f"user:{to}") or change.is_behind_another(found, actor, principal or actor):
                return "not_eligible", {"reason": "answered"}
            found.move(f"user:{to}", (*found.chain, actor), (*found.via, ""))
            if kind == "agent":
                missing = len(found.chain) - 1 - len(found.behind)
                found.behind = (*found.behind, *[""] * missing, principal)
        elif not found.chain:
            return "not_eligible", {"reason": "not_delegated"}
        else:
            at = found.chain.index(actor) if actor in found.chain else -1
            found.move(f"user:{found.chain[at]}", found.chain[:at], found.via[:at])
        found.assigned = self.now
        detail = f"slot={found.number} from={before} to={found.reviewer}"
        self._note(change, "change.delegated", actor, detail, reason)
        if to:
            self._lead_on(change, found)
        return "ok", {"slot": found.number, "reviewer": found.reviewer}

    def _check_reassign(self, operation: str, *, slot: int = 0, reviewer: str = "", **_: Any) -> None:
        if (operation in ("add", "move")) != bool(reviewer):
            raise RefusedError("reviewer")
        if (operation == "add") != (slot == 0):
            raise RefusedError("slot")

    def reassign(
        self, id: str, operation: str, actor: str, reason: str, *, slot: int = 0, reviewer: str = "", name: str = ""
    ) -> Answer:
        change = self._load(id)
        if change is None:
            return "not_found", {}
        if change.state not in ("submitted", "reviewing"):
            return "closed", {"state": change.state}
        self._settle(change)
        found = next((one for one in change.slots if one.number == slot), None)
        if refusal := self._refuse_reassign(change, operation, found, reviewer):
            return refusal
        detail = f" to={reviewer}" if reviewer else ""
        match operation:
            case "add":
                found = self._add_slot(change, reviewer, name)
            case "remove":
                change.slots.remove(found)  # type: ignore[arg-type]
            case "move":
                assert found
                found.move(reviewer, (), ())
                found.name, found.assigned = name, self.now
            case "dismiss":
                assert found
                self._open_again(change, [found])
        assert found
        self._note(change, "change.reassigned", actor, f"slot={found.number} operation={operation}{detail}", reason)
        if operation == "move":
            self._lead_on(change, found)
        if change.state == "reviewing":
            self._decide(change, actor)
        return "ok", {"state": change.state, "slot": found.number}

    def _refuse_reassign(self, change: Change, operation: str, slot: Slot | None, reviewer: str) -> Answer | None:
        if operation == "add":
            if len(change.slots) == MOST_SLOTS:
                return "full", {}
        elif slot is None:
            return "not_eligible", {"reason": "no_request"}
        elif operation == "dismiss" and not slot.by:
            return "not_eligible", {"reason": "not_answered"}
        elif operation == "move" and slot.status != "pending":
            return "not_eligible", {"reason": "answered"}
        elif operation == "remove":
            left = change.count("approved", "pending", "changes_requested")
            left -= slot.status in ("approved", "pending", "changes_requested")
            if left < change.policy["required"]:
                return "unreachable", {"required": change.policy["required"], "eligible": left}
        if reviewer and not change.can_be_asked(reviewer):
            wrote = change.wrote(reviewer.removeprefix("user:")) and not change.policy["contributors_may_vote"]
            return "not_eligible", {"reason": "contributor" if wrote else "answered"}
        return None

    def _check_override(self, **arguments: Any) -> None:
        check_person(**arguments)

    def override(
        self, id: str, rev: int, digest: str, actor: str, reason: str, *, principal: str = "", kind: str = "person",
        proof: str = "",
    ) -> Answer:  # fmt: skip
        change, person = self._load(id), principal or actor
        if change is None:
            return "not_found", {}
        if change.state not in ("submitted", "reviewing"):
            return self._wrong_state(change)
        if (rev, digest) != (change.rev, change.digest):
            return self._outdated(change)
        if not change.policy["contributors_may_vote"] and change.wrote(actor, person):
            return "not_eligible", {"reason": "contributor"}
        change.fields |= {"overridden_rev": rev, "overridden_by": person}
        self._note(change, "change.overridden", actor, f"for={person}", reason, proof)
        self._approve(change, f"override:{actor}", reason)
        change.log[-1]["proof"] = proof
        return "approved", {"rev": change.rev}

    # appliers

    def begin(
        self, id: str, rev: int, digest: str, agent: str, *, lease_ms: int = 0, lock_rid: str = "", lock: str = "",
        rid: str,
    ) -> Answer:  # fmt: skip
        change = self._load(id)
        if change is None:
            return "not_found", {}
        if change.state == "applying":
            return "held", {"agent": change.agent, "deadline_ms": change.deadline}
        if change.state != "approved":
            return self._wrong_state(change)
        if (rev, digest) != (change.rev, change.digest):
            return self._outdated(change)
        if missing := self._missing_lock(change, lock_rid, lock):
            return "not_locked", {"resource": missing}
        before = change.fields.get("lock_rid", "")
        if self._needs_locks(change) and before != lock_rid and self.locks.is_held(before, self.now):
            return "not_locked", {"resource": change.content["resources"][0]}
        change.fields["lock_rid"] = lock_rid
        self.fences += 1
        change.state, change.token, change.agent, change.fence = "applying", rid, agent, self.fences
        change.started, change.lease_ms = self.now, lease_ms
        change.fields["applying_ms"] = self.now
        change.run_ms = change.content["timeout_ms"] or self.settings["default_run_ms"]
        self._renew(change, lock_rid)
        self._note(change, "change.applying", agent, f"fence={change.fence}")
        content = {name: text(change.content[name]) for name in CONTENT}
        return "begun", {
            "token": rid, "fence": change.fence, "deadline_ms": change.deadline, "run_ms": change.run_ms,
            "content": content, "parameters": change.parameters,
        }  # fmt: skip

    def _needs_locks(self, change: Change) -> bool:
        return self.settings["lock_domain"] != "none" and bool(change.content["resources"])

    def _missing_lock(self, change: Change, rid: str, lock: str) -> str | None:
        """The first resource whose lock the applier does not have, or cannot prove to have: rule 6."""
        if not self._needs_locks(change):
            return None
        if not lock.endswith(f":lock:{self.settings['lock_domain']}"):
            return str(change.content["resources"][0])
        resources: list[str] = change.content["resources"]
        return self.locks.first_missing(rid, f"{self.domain}/{change.id}", resources, self.now)

    def _renew(self, change: Change, rid: str) -> None:
        """The lease ends no later than the locks."""
        lease = change.lease_ms or self.settings["lease_ms"]
        change.deadline = min(self.now + lease, change.started + change.run_ms + GRACE_MS)
        if rid and self._needs_locks(change):
            change.deadline = min(change.deadline, self.locks.by_rid[rid].deadline)

    def heartbeat(self, id: str, token: str, *, lock: str = "") -> Answer:
        change = self._load(id)
        if change is None or change.state != "applying" or change.token != token:
            return "lost", {}
        rid = change.fields["lock_rid"]
        if rid and (missing := self._missing_lock(change, rid, lock)):
            change.attempts += 1
            self._end_run(change, "time", "retry", "lock_lost")
            return "lock_lost", {"resource": missing}
        self._renew(change, rid)
        late = self.now >= change.started + change.run_ms
        status = "cancelling" if change.cancelling else "timed_out" if late else "renewed"
        return status, {"deadline_ms": change.deadline}

    def finish(
        self, id: str, token: str, result: str, *, retry: bool = False, printed: str = "", output_cut: bool = False,
        output_key: str = "", error: str = "", error_details: str = "",
    ) -> Answer:  # fmt: skip
        change = self._load(id)
        if change is None or change.token != token or change.state not in ("applying", "approved"):
            return "lost", {}
        running = change.state == "applying"
        change.token, change.output = "", printed
        change.fields |= {"result": result, "output_cut": output_cut, "output_key": output_key, "error": error}
        change.fields["error_details"] = error_details
        if running and result in ("failure", "timeout"):
            change.attempts += 1
        final = {"success": "completed", "failure": "failed", "timeout": "failed", "cancelled": "cancelled"}
        how = final.get(result, "retry")
        self._end_run(change, change.agent, "retry" if retry and how == "failed" else how, result)
        self._take_due(change)
        return change.state, {} if change.state in ENDED else {"attempts": change.attempts}

    def _end_run(self, change: Change, by: str, how: str, why: str) -> None:
        if how == "retry" and change.cancelling:
            how = "cancelled"
        if how == "retry" and change.attempts >= change.policy["max_attempts"]:
            how = "failed"
        change.cancelling, change.why = False, why
        change.fields["ended_ms"] = self.now
        self._leave(change, "approved" if how == "retry" else how)
        event = "released" if how == "retry" else how
        self._note(change, f"change.{event}", by, "" if how == "completed" else f"why={why}")

    # answers that several scripts give

    def _outdated(self, change: Change) -> Answer:
        return "outdated", {"state": change.state, "rev": change.rev, "digest": change.digest}

    def _wrong_state(self, change: Change) -> Answer:
        return "state", {"state": change.state, "rev": change.rev}
