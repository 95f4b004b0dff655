"""Models of changes: what they contain, their requests, inboxes and policies. Times are as in `models.base`."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from pydantic import Field, computed_field, field_serializer

from pyadeq.models.base import Given, Model, Storing, base64_field, in_base64, is_text, read_json

ChangeState = Literal[
    "draft", "submitted", "reviewing", "approved", "applying", "completed", "failed", "rejected", "cancelled"
]
RequestStatus = Literal["pending", "approved", "rejected", "changes_requested", "abstained", "expired", "cancelled"]
PersonKind = Literal["person", "agent"]
ReviewPriority = Literal["low", "normal", "high", "urgent"]
RiskLevel = Literal["low", "medium", "high", "critical"]
Rollback = Literal["none", "manual", "automatic"]
Action = Literal["approve", "reject", "request_changes", "comment", "abstain", "retract"]
RunResult = Literal["success", "failure", "timeout", "cancelled", "released"]
Needs = Literal["none", "risk", "preview", "both"]


class ChangeRef(NamedTuple):
    """A revision of a change: its id, its number and its digest."""

    id: str
    rev: int
    digest: str


class ChangeContent(Storing):
    """What a revision would do. ChangeVotes and runs name it by its number and its digest.

    resources: `<type>:<id>`, in byte order.
    timeout: how many seconds a run may take; 0: as the setting says.
    data: the bytes of `parameters`.
    digest: SHA-1 over the netstrings of the content, as the server has computed it.
    sha256: SHA-256 over the same bytes, computed here. For signatures.
    intact: whether the content has this digest. False: it was damaged, or changed in another way than by the scripts.
    unreadable: in JSON, why not each program could read the parameters. Then `parameters_base64` has their bytes.
    """

    STORED = {"parameters": "data"}  # noqa: RUF012

    type: str
    version: str = ""
    description: str
    data: bytes = Field(b"", repr=False, exclude=True)
    resources: tuple[str, ...] = ()
    rollback_strategy: Rollback = "none"
    timeout: float = 0.0
    priority: int = 50
    digest: str
    sha256: str
    intact: bool
    unreadable: dict[str, str] = Field({})

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def parameters(self) -> Any:
        """The parameters as JSON; None if there are none, the text if they are not JSON."""
        return read_json(self.data)

    parameters_base64 = base64_field("data")


class ChangeRisk(Model):
    """An assessment. rev: the revision that it is of; 0: it is too old, so another is needed.

    factors: the text of the assessor. auto_approvable: whether a policy may approve a low risk without people.
    """

    score: int
    level: RiskLevel
    factors: str = ""
    auto_approvable: bool = False
    assessed: float
    assessed_by: str = ""
    rev: int


class ChangeVotes(Model):
    """The answers of this round. required: how many approvals are needed; None before the first submit.

    pending: requests without an answer, and those whose reviewers want another revision.
    """

    required: int | None = None
    approved: int = 0
    rejected: int = 0
    pending: int = 0

    @computed_field  # type: ignore[prop-decorator]
    @property
    def reached(self) -> bool:
        """Whether there are enough approvals."""
        return self.required is not None and self.approved >= self.required


class ChangeExecution(Model):
    """The run that began last. deadline: when its lease ends. attempts: runs of this approval that have failed.

    cancelling: whether the applier is asked to stop.
    output_key: where the whole output is, as the applier says, if `output_cut`.
    """

    agent: str
    fence: int
    started: float
    ended: float | None = None
    deadline: float
    timeout: float
    result: RunResult | None = None
    output: str | None = Field(None, repr=False)
    output_cut: bool = False
    output_key: str = ""
    error: str = ""
    error_details: str = Field("", repr=False)
    attempts: int = 0
    cancelling: bool = False


class ChangeRequest(Model):
    """A request for an answer.

    reviewer: `user:<id>`, or `group:<name>` for one person of a group.
    assignee: who is asked now; not the reviewer, if it was delegated.
    delegation_chain: who has delegated it, the reviewer first.
    reviewed_by: who has answered. principal: the person who answers for that; of a person the same.
    created, assigned, due: when it was opened, when its reviewer got it, and when the review is over.
    """

    slot: int
    reviewer: str
    reviewer_name: str = ""
    assignee: str
    status: RequestStatus
    priority: ReviewPriority = "normal"
    round: int = 0
    created: float | None = None
    assigned: float | None = None
    due: float | None = None
    delegation_chain: tuple[str, ...] = ()
    responded: float | None = None
    action: Action | None = None
    reason: str = ""
    reviewed_by: str | None = None
    principal: str | None = None


class ChangeLogEntry(Model):
    """A step of a change, as its log has it.

    by: a person, an agent, `time`, `delegation`, `delivery`, or `policy:<name>@<version>`.

    detail: `name=value` words. proof: what the calling service knows of the person's login.
    caller: who has sent the call for that person, such as a service; None: the person, or no call.
    """

    event: str
    at: float
    rev: int
    round: int
    by: str
    detail: str = ""
    reason: str = ""
    proof: str = ""
    caller: str | None = None


class Change(ChangeContent):
    """A change as it is now.

    rev: the revision of its content. round: the round of review. seq: how many steps it has taken.
    author: who created it. principal: the person who answers for that; of a person the same.
    approved_until: when the approval is over.
    review_until: when the review is over.
    overdue: the review is over, although no call has noted it yet.
    policy: `<name>@<version>`, of which the change has a copy.
    decided_by: a person, `policy:<name>@<version>`, `override:<person>`, or `time`.
    why: one word, for example `rejections` or `timeout`.
    overridden_rev, overridden_by: the revision that was approved in an emergency, and by whom. They stay for ever.
    requests, log: only if they were asked for.
    preview: only if it was asked for. preview_rev: the revision that it is of.
    follow_ids: how the ids of tasks end that follow its steps, the last 20: `<domain>/<id>/` stands before each.
    """

    id: str
    state: ChangeState
    rev: int
    round: int = 0
    seq: int = 0
    author: str
    author_name: str = ""
    principal: str
    team: str | None = None
    ticket_ref: str = ""
    tags: tuple[str, ...] = ()
    created: float
    updated: float
    submitted: float | None = None
    approved: float | None = None
    applying: float | None = None
    ended: float | None = None
    policy: str | None = None
    review_priority: ReviewPriority | None = None
    review_until: float | None = None
    approved_until: float | None = None
    overdue: bool = False
    decided_by: str | None = None
    why: str | None = None
    overridden_rev: int | None = None
    overridden_by: str | None = None
    votes: ChangeVotes
    risk: ChangeRisk | None = None
    preview: bytes | None = Field(None, repr=False)
    preview_rev: int | None = None
    follow_ids: tuple[str, ...] = ()
    run: ChangeExecution | None = None
    requests: tuple[ChangeRequest, ...] | None = Field(None, repr=False)
    log: tuple[ChangeLogEntry, ...] | None = Field(None, repr=False)

    @field_serializer("preview", when_used="json")
    def _as_text(self, value: bytes | None) -> str | None:
        return None if value is None else value.decode(errors="replace")

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def preview_base64(self) -> str | None:
        """The bytes of the preview, if they are not UTF-8."""
        return None if self.preview is None or is_text(self.preview) else in_base64(self.preview)


class ChangeSummary(Model):
    """What a list has of a change."""

    id: str
    state: ChangeState
    rev: int
    overdue: bool = False
    type: str
    description: str
    author: str
    priority: int
    risk_score: int | None = None
    risk_level: RiskLevel | None = None
    created: float


class ChangePage(Model):
    """Some changes, and the cursor for the next page, empty on the last page."""

    changes: list[ChangeSummary]
    cursor: str
    now: float


class InboxEntry(Model):
    """A request that a user can answer now. `changes.approve(entry, …)` answers it.

    due: when the review is over. review_priority: how urgent it is.
    """

    id: str
    slot: int
    rev: int
    digest: str
    due: float
    type: str
    description: str
    author: str
    priority: int
    review_priority: ReviewPriority | None = None
    risk_score: int | None = None
    risk_level: RiskLevel | None = None
    created: float
    submitted: float | None = None


class ReviewerStats(Model):
    """What a person has answered. approved, rejected: by UTC day (days since 1970), for 31 days.

    answers, took: how many requests, and the seconds from each request to its answer, in all.
    took_up_to: how many took up to this number of seconds, and longer than the next smaller number.
    last: when the person answered last.
    """

    approved: dict[int, int] = Field(default={})
    rejected: dict[int, int] = Field(default={})
    answers: int = 0
    took: float = 0.0
    took_up_to: dict[float, int] = Field(default={})
    last: float | None = None


class Inbox(Model):
    """A page of an inbox, the most urgent first, and the cursor for the next page, empty on the last page.

    A page may be empty although there are more: check the cursor.
    pending: how many requests ask the user, without groups.
    """

    entries: list[InboxEntry]
    cursor: str
    pending: int
    stats: ReviewerStats
    now: float


class ChangeStats(Model):
    """How many changes are in each state, and the settings of the domain.

    overdue: how many changes have a step that is due and waits for a call. since: when the first was due; None: none.
    """

    states: dict[str, int]
    overdue: int
    since: float | None
    settings: dict[str, Any]
    now: float


class ChangeAnswer(Given):
    """One answer of `respond`. rev, digest: what the reviewer has seen.

    slot: the request to answer; 0: any that asks the reviewer.
    """

    id: str
    rev: int
    digest: str
    action: Action
    slot: int = 0
    reason: str = ""


class FollowTask(Given):
    """A task that follows a step of a change. Its payload is JSON: domain, id, rev, digest, event and seq.

    The step is approved, rejected, changes_requested, completed, failed or cancelled.
    """

    kind: str
    lane: str = "any"
    priority: int = 5


class ReviewPolicy(Model):
    """A policy of review, as it is stored. `ChangePolicies.set` says what its fields mean."""

    name: str
    version: int
    required: int
    rejections: int = 1
    reviewers: tuple[str, ...] = ()
    contributors_may_vote: bool = False
    agents_may_vote: bool = False
    needs: Needs = "none"
    remind: float = 0.0
    escalate: float = 0.0
    escalate_to: tuple[str, ...] = ()
    timeout: float = 0.0
    on_timeout: Literal["reject", "approve"] = "reject"
    timeout_approve_below: int = 0
    auto_below: int = 0
    deny_tags: tuple[str, ...] = ()
    approval: float = 604_800.0
    max_attempts: int = 3
    delegation_depth: int = 3
    follow: dict[str, FollowTask] = Field(default={})


class Delegation(Model):
    """A delegation of a person, as it is stored. `ChangeDelegations.set` says what its fields mean.

    principal: if an agent has stored it, the person who answers for the agent.
    """

    name: str
    to: str
    principal: str | None = None
    start: float | None = None
    until: float | None = None
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    risk_above: int | None = None
    risk_below: int | None = None
    cascade: bool = False
    active: bool = True


class Delegations(Model, title="DelegationList"):  # generators of clients need another name than that of the field
    """The delegations of a person, by the bytes of their names. away: how many pending requests it has delegated."""

    away: int
    delegations: list[Delegation]


class Delivered(Model):
    """The answer to a delivery: how many tasks were enqueued, and how many still wait for it."""

    delivered: int
    left: int
