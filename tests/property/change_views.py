"""What the model of changes shows: lists, inboxes, statistics, records. Nothing here changes anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.property.change_locks import HeldLocks
from tests.property.change_records import SETTINGS, STATES, Answer, Change, Slot, Voter, text


class ChangeViews:
    def __init__(self, now: int) -> None:
        self.now = now
        self.settings: dict[str, Any] = dict(SETTINGS)
        self.policies: dict[str, dict[str, Any]] = {}
        self.changes: dict[str, Change] = {}
        self.removed: list[str] = []
        self.users: dict[str, Counter[str]] = {}
        self.last: dict[str, int] = {}  # action of a user
        self.answered: dict[tuple[str, str], tuple[int, Answer]] = {}
        self.events: dict[str, list[tuple[str, str]]] = {}  # by change: name and payload
        self.versions = self.fences = 0
        self.domain = ""
        self.outbox: dict[tuple[str, int], tuple[int, dict[str, Any]]] = {}  # change and seq -> when, and the task
        self.tasks: set[str] = set()  # in the queue of the same slot
        self.takes_tasks = False
        self.direct: str | None = None  # the rid of a call that enqueues its tasks itself
        self.locks = HeldLocks()

    def is_overdue(self, change: Change) -> bool:
        """Whether the review is over by time: nobody can answer, though no call has noted it."""
        if change.state == "reviewing" and 0 < change.escalate_at <= change.timeout_at and change.next_asked()[1]:
            return False
        return change.state in ("submitted", "reviewing") and change.timeout_at <= self.now

    def _resolved(self, change: Change) -> tuple[Change, Any]:
        raise NotImplementedError

    # reading

    def stats(self) -> Answer:
        counts = Counter(one.state for one in self.changes.values())
        due = [one.due for one in self.changes.values() if one.due <= self.now]
        states = {state: str(counts[state]) for state in STATES}
        return "ok", {"states": states, "overdue": len(due), "since_ms": min(due, default=0)}

    def listed(self, by: str, value: str) -> list[tuple[str, dict[str, Any]]]:
        """All pages of it."""
        found = [one for one in self.changes.values() if value in self._values_of(one, by)]
        return [
            ("found", {"id": one.id, "state": one.state, "rev": one.rev, "overdue": int(self.is_overdue(one)),
                       "summary": self.summary(one)})
            for one in sorted(found, key=lambda one: (one.created, one.id), reverse=True)
        ]  # fmt: skip

    def _values_of(self, change: Change, by: str) -> Sequence[str]:
        match by:
            case "state":
                return (change.state,)
            case "author":
                return (change.author,)
            case "team":
                return (change.metadata["team"],)
            case "tag":
                found: Sequence[str] = change.metadata["tags"]
                return found
            case "resource":
                found = change.content["resources"]
                return found
        people = [(one.reviewer, *(f"user:{other}" for other in one.chain)) for one in change.slots]
        return [one for names in people for one in names]

    def inbox(self, user: str, principal: str = "", groups: Sequence[str] = ()) -> list[tuple[str, dict[str, Any]]]:
        """All pages of it: what this user can answer now, by score and id."""
        kind = "agent" if principal not in ("", user) else "person"
        who = Voter(user, principal or user, kind, tuple(groups))
        found = []
        for stored in self.changes.values():
            change, _ = self._resolved(stored)
            for slot in change.slots:
                if (
                    change.state == "reviewing"
                    and not self.is_overdue(stored)
                    and slot.status == "pending"
                    and slot.reviewer in who.names
                    and not change.has_answered(who.person)
                    and not change.is_behind_another(slot, who.actor, who.person)
                    and (change.policy["agents_may_vote"] or kind == "person")
                    and (change.policy["contributors_may_vote"] or not change.wrote(who.actor, who.person))
                ):
                    place = change.inbox_score, f"{change.id}/{slot.number}".encode()
                    told = {
                        "id": change.id, "slot": slot.number, "rev": change.rev, "digest": change.digest,
                        "due_ms": change.timeout_at, "summary": self.summary(change),
                    }  # fmt: skip
                    found.append((place, ("request", told)))
        return [one for _, one in sorted(found, key=lambda one: one[0], reverse=True)]

    def pending(self, user: str) -> int:
        """How many requests ask this user."""
        reviewing = [one for one in self.changes.values() if one.state == "reviewing"]
        return sum(one.status == "pending" and one.reviewer == f"user:{user}" for c in reviewing for one in c.slots)

    def statistics(self, user: str) -> dict[str, str]:
        counts = {name: str(count) for name, count in self.users.get(user, {}).items()}
        return counts | ({"last_ms": str(self.last[user])} if user in self.last else {})

    def summary(self, change: Change) -> dict[str, str]:
        content = {name: text(change.content[name]) for name in ("type", "description", "priority")}
        risk = {"risk_score": text(change.score), "risk_level": text(change.fields.get("risk_level"))}
        times = {"created_ms": text(change.created), "submitted_ms": text(change.fields.get("submitted_ms"))}
        return content | risk | times | {"author": change.author, "review_priority": change.policy.get("priority", "")}

    def record(self, change: Change) -> dict[str, str]:
        """The fields of a change, as texts; empty ones and zeros are left out."""
        policy = dict(change.policy)
        named = {"policy": policy.pop("name", ""), "review_priority": policy.pop("priority", "")}
        own: dict[str, Any] = {
            **change.fields, **named, **change.content, **change.metadata,
            **{f"p_{name}": value for name, value in policy.items()},
            "state": change.state, "rev": change.rev, "round": change.round, "digest": change.digest,
            "author": change.author, "principal": change.principal, "created_ms": change.created,
            "seq": len(change.log), "level": change.level, "asked_ms": change.asked, "timeout_at_ms": change.timeout_at,
            "remind_at_ms": change.remind_at, "escalate_at_ms": change.escalate_at, "until_ms": change.until,
            "decided_by": change.decided_by, "why": change.why, "completed_ms": change.completed,
            "risk_score": change.score, "risk_rev": change.risk_rev, "preview_rev": change.preview_rev,
            "preview_until_ms": change.preview_until,
            "auto_approvable": change.auto_approvable, "token": change.token, "agent": change.agent,
            "fence": change.fence, "started_ms": change.started, "run_ms": change.run_ms, "lease_ms": change.lease_ms,
            "deadline_ms": change.deadline, "attempts": change.attempts, "cancelling": change.cancelling,
            "denied": change.denied, "rejected": change.rejected, "follow_ids": ",".join(change.follow_ids[-20:]),
        }  # fmt: skip
        return {name: text(value) for name, value in own.items() if text(value) not in ("", "0")}

    def request(self, slot: Slot) -> dict[str, str]:
        round, rev, digest = slot.version
        own = {
            "reviewer": f"user:{slot.chain[0]}" if slot.chain else slot.reviewer, "reviewer_name": slot.name,
            "status": slot.status, "priority": slot.priority, "round": round, "rev": rev, "digest": digest,
            "created_ms": slot.opened, "assigned_ms": slot.assigned, "due_ms": slot.due, "responded_ms": slot.responded,
            "delegated_to": slot.reviewer if slot.chain else "", "delegation_chain": slot.chain,
            "delegated_for": slot.behind,
            "response_action": slot.action, "response_reason": slot.reason, "reviewed_by": slot.reviewed_by,
            "principal": slot.by, "via": "".join(f",{one}" for one in slot.via),
        }  # fmt: skip
        return {name: text(value) for name, value in own.items() if text(value) not in ("", "0")}
