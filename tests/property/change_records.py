"""Changes and their requests, as the model keeps them. Times are ms; an answer is a status and its fields."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Final

Answer = tuple[str, dict[str, Any]]

ENDED: Final = ("completed", "failed", "rejected", "cancelled")
STATES: Final = (
    "draft",
    "submitted",
    "reviewing",
    "approved",
    "applying",
    "completed",
    "failed",
    "rejected",
    "cancelled",
)
WEIGHTS: Final = {"urgent": 1000, "high": 500, "normal": 100, "low": 0}
STATUSES: Final = {
    "approve": "approved",
    "reject": "rejected",
    "request_changes": "changes_requested",
    "abstain": "abstained",
}
SETTINGS: Final = {
    "default_timeout_ms": 172_800_000, "max_timeout_ms": 2_592_000_000, "lease_ms": 30_000, "default_run_ms": 3_600_000,
    "risk_medium": 25, "risk_high": 50, "risk_critical": 75, "auto_approve_low_risk": False, "batch_approvals": True,
    "keep_ms": 7_776_000_000, "keep_max": 100_000, "events_max": 100_000, "lock_domain": "none",
}  # fmt: skip
POLICY: Final = {
    "rejections": 1, "reviewers": (), "contributors_may_vote": False, "agents_may_vote": False, "needs": "none",
    "remind_ms": 0, "escalate_ms": 0, "escalate_to": (), "timeout_ms": 0, "on_timeout": "reject", "auto_below": 0,
    "timeout_approve_below": 0, "deny_tags": (), "approval_ms": 604_800_000, "max_attempts": 3, "delegation_depth": 3,
    "follows": "",
}  # fmt: skip
CONTENT: Final = ("type", "version", "description", "resources", "rollback_strategy", "timeout_ms", "priority")
METADATA: Final = ("author_name", "team", "ticket_ref", "tags")
NEVER: Final = 2**53 - 1
RID_MS: Final = 60_000
GRACE_MS: Final = 30_000
PREVIEW_MS: Final = 7 * 86_400_000
FOLLOWED: Final = ("approved", "rejected", "changes_requested", "completed", "failed", "cancelled")
OUTBOX_MS: Final = 30_000  # for which a task of the outbox is hidden
DAY_MS: Final = 86_400_000
BAND: Final = 2**42
MOST_SLOTS: Final = 32
MOST_REPLACED: Final = 10


class RefusedError(Exception):
    """The call is refused (ADEQ_ARG): the field that it names."""


@dataclass
class Slot:
    number: int
    reviewer: str
    name: str = ""
    priority: str = "normal"
    chain: tuple[str, ...] = ()  # who has delegated it
    behind: tuple[str, ...] = ()  # for whom agents have delegated it, each at the place of the agent in the chain
    via: tuple[str, ...] = ()  # by which of their delegations, and for whom if of an agent; empty: themselves
    status: str = "pending"
    by: str = ""  # the principal who answered
    reviewed_by: str = ""
    action: str = ""
    reason: str = ""
    responded: int = 0
    opened: int = 0
    assigned: int = 0
    due: int = 0
    version: tuple[int, int, str] = (0, 0, "")  # round, rev, digest

    @property
    def place(self) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        return self.reviewer, self.chain, self.via

    def move(self, reviewer: str, chain: tuple[str, ...], via: tuple[str, ...]) -> None:
        """Give it to another reviewer. Those behind it stay as far as the chain is that of before."""
        steps = zip(zip(self.chain, self.via, strict=True), zip(chain, via, strict=True), strict=False)
        same = len(list(takewhile(lambda both: both[0] == both[1], steps)))
        self.reviewer, self.chain, self.via = reviewer, chain, via
        self.behind = self.behind[:same]
        while self.behind and not self.behind[-1]:
            self.behind = self.behind[:-1]

    @property
    def people(self) -> tuple[str, ...]:
        """Who has it, and who has delegated it."""
        return (*self.chain, self.reviewer.removeprefix("user:"))

    @property
    def givers(self) -> set[str]:
        """Who has delegated it; of agents, also the persons behind them."""
        return {*self.chain, *self.stored_for, *filter(None, self.behind if "" in self.via else ())}

    @property
    def stored_for(self) -> set[str]:
        """For whom agents have stored the delegations that have led it on."""
        return {one.partition(":")[2] for one in self.via} - {""}

    def asks(self, person: str) -> bool:
        """Whether this person has it, or has delegated it."""
        return self.reviewer == f"user:{person}" or person in self.chain


@dataclass
class Change:
    id: str
    author: str
    principal: str
    created: int
    state: str = "draft"
    rev: int = 0
    round: int = 0
    digest: str = ""
    content: dict[str, Any] = field(default_factory=dict)
    parameters: str = ""
    replaced: dict[int, bytes] = field(default_factory=dict)  # by revision, the last 10
    metadata: dict[str, Any] = field(default_factory=dict)
    contributors: set[str] = field(default_factory=set)
    log: list[dict[str, Any]] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    policy: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)  # what scripts only store
    follow_ids: list[str] = field(default_factory=list)
    level: int = 0
    asked: int = 0  # when people were asked last, since the submit
    timeout_at: int = 0
    remind_at: int = 0
    escalate_at: int = 0
    until: int = 0
    decided_by: str = ""
    why: str = ""
    completed: int = 0
    ended: int = 0  # when it ended, or when retention kept it last
    score: int | None = None
    risk_rev: int = 0
    preview: str = ""
    preview_rev: int = 0
    preview_until: int = 0
    auto_approvable: bool = False
    token: str = ""
    agent: str = ""
    fence: int = 0
    started: int = 0
    run_ms: int = 0
    lease_ms: int = 0
    deadline: int = 0
    attempts: int = 0
    cancelling: bool = False
    output: str = ""
    denied: bool = False  # it has lost a tag that forbids its policy to approve it
    rejected: tuple[str, ...] = ()  # digests of contents that people have rejected, or wanted changed

    @property
    def due(self) -> int:
        match self.state:
            case "submitted":
                return self.timeout_at
            case "reviewing":
                return min(one for one in (self.timeout_at, self.remind_at, self.escalate_at) if one)
            case "approved":
                return self.until
            case "applying":
                return self.deadline
        return NEVER

    def is_assessed(self, now: int) -> bool:
        needs = self.policy["needs"]
        return (needs not in ("risk", "both") or self.risk_rev == self.rev) and (
            needs not in ("preview", "both") or (self.preview_rev == self.rev and self.preview_until > now)
        )

    def needs_people(self) -> bool:
        """Whether no policy approves it: for a tag that it has, or has had since its submit, or a rejection."""
        tagged = not set(self.metadata["tags"]).isdisjoint(self.policy["deny_tags"])
        return self.denied or tagged or self.digest in self.rejected

    @property
    def inbox_score(self) -> int:
        urgency = (self.score or 0) * 10 + WEIGHTS[self.policy["priority"]]
        return urgency * BAND + BAND - 1 - self.timeout_at

    def count(self, *statuses: str) -> int:
        return sum(slot.status in statuses for slot in self.slots)

    def slot(self, number: int) -> Slot:
        return next(one for one in self.slots if one.number == number)

    def has_answered(self, person: str) -> bool:
        return any(person in (one.by, one.reviewed_by) for one in self.slots)

    def is_behind_another(self, slot: Slot, *people: str) -> bool:
        """Whether an answer of these to a request is a second one of somebody."""
        everybody = slot.givers.union(people)
        return any(
            not ({one.by, one.reviewed_by, *one.givers} - {""}).isdisjoint(everybody if one.by else people)
            for one in self.slots
            if one is not slot
        )

    def wrote(self, *people: str) -> bool:
        return not self.contributors.isdisjoint(people)

    def next_asked(self) -> tuple[int, str | None]:
        """The next level of escalation that can be asked, and who that is; or the last level and None."""
        names = self.policy["escalate_to"]
        for level in range(self.level, len(names)):
            waits = any(one.status == "pending" and one.reviewer == names[level] for one in self.slots)
            if len(self.slots) < MOST_SLOTS and not waits and self.can_be_asked(names[level]):
                return level + 1, names[level]
        return len(names), None

    def can_be_asked(self, reviewer: str) -> bool:
        person = reviewer.removeprefix("user:")
        if person == reviewer:
            return True
        if any(slot.asks(person) or person in (slot.by, slot.reviewed_by) for slot in self.slots):
            return False
        return self.policy["contributors_may_vote"] or not self.wrote(person)


@dataclass(frozen=True)
class Voter:
    actor: str
    person: str
    kind: str
    groups: tuple[str, ...]
    proof: str = ""

    @property
    def names(self) -> set[str]:
        return {f"user:{self.actor}", *(f"group:{one}" for one in self.groups)}


def check_person(actor: str, principal: str = "", kind: str = "person", **_: Any) -> None:
    """An agent has another person who answers for it; a person answers for itself."""
    if (kind == "agent") != (principal not in ("", actor)):
        raise RefusedError("principal")


def digest_of(content: Mapping[str, Any], parameters: str) -> str:
    """SHA-1 over the netstrings."""
    return hashlib.sha1(netstrings(content, parameters)).hexdigest()


def netstrings(content: Mapping[str, Any], parameters: str) -> bytes:
    """Type, version, description, parameters, each resource, and the other three."""
    words = [content["type"], content["version"], content["description"], parameters, *content["resources"]]
    words += [content["rollback_strategy"], str(content["timeout_ms"]), str(content["priority"])]
    coded = [word.encode() for word in words]
    return b"".join(b"%d:%s," % (len(word), word) for word in coded)


def text(value: Any) -> str:
    """A value as it is stored."""
    match value:
        case None:
            return ""
        case bool():
            return str(int(value))
        case tuple() | list():
            return ",".join(value)
    return str(value)
