# Generated from pyadeq/_async/change/__init__.py by pyadeq/_unasync.py; do not edit.
"""Changes: what agents and people want to do to resources, and others have to approve."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack

from pyadeq._sync.change.apply import Applying
from pyadeq._core.change import replies
from pyadeq._core.change.content import content_from
from pyadeq._core.change.ending import ending
from pyadeq._core.change.follow import follow_payload
from pyadeq._core.change.people import Seen, Voter, Who, identified, identified_voter, revision
from pyadeq._core.kernel.nouncalls import Result
from pyadeq._core.kernel.options import checked_list, checked_options
from pyadeq.ids import new_ulid
from pyadeq.models.base import Moment, Seconds, encode, to_epoch_ms
from pyadeq.models.change import (
    Change,
    ChangeAnswer,
    ChangeContent,
    ChangePage,
    ChangeState,
    ChangeStats,
    ChangeSummary,
    Delegations,
    Delivered,
    FollowTask,
    Inbox,
    InboxEntry,
    Needs,
    ReviewPolicy,
    ReviewPriority,
    Rollback,
    RunResult,
)

MOST_CHANGES = 100


class ChangeFilter(TypedDict, total=False):
    """Which changes a list has: one of these conditions. reviewer: `user:<id>` or `group:<name>`."""

    state: ChangeState
    author: str
    reviewer: str
    resource: str
    team: str
    tag: str


class PolicyFields(TypedDict, total=False):
    """The fields of a policy of review.

    required: how many approvals approve. It has no default.
    rejections: how many rejections reject (1). 0: only if the quorum cannot be reached any more.
    reviewers: who is asked for each change, besides those of the submit: `user:<id>`, or `group:<name>` for one person
    of a group.
    contributors_may_vote, agents_may_vote: whether they count as reviewers (no).
    needs: what has to be assessed before people are asked: `none`, `risk`, `preview` or `both`.
    remind: seconds between reminders (events).
    escalate: seconds without a decision after which the next of `escalate_to` (1 to 3) is asked, too.
    timeout: seconds after which the review ends; by default the setting default_timeout.
    on_timeout: `reject`, or `approve` a change whose risk is below `timeout_approve_below`.
    auto_below: a risk below it approves without people, if the setting auto_approve_low_risk is on, the assessment
    allows it, and the change has none of `deny_tags`.
    approval: how many seconds an approval lasts (7 days).
    max_attempts: how often a run may fail (3).
    delegation_depth: how often a request may be delegated on (3; at most 4).
    follow: the tasks that follow steps, in the queue of the setting follow_queue: from `approved`, `rejected`,
    `changes_requested`, `completed`, `failed` or `cancelled` to the kind of the task, or to a FollowTask.
    """

    required: int
    rejections: int
    reviewers: Sequence[str]
    contributors_may_vote: bool
    agents_may_vote: bool
    needs: Needs
    remind: Seconds
    escalate: Seconds
    escalate_to: Sequence[str]
    timeout: Seconds
    on_timeout: Literal["reject", "approve"]
    timeout_approve_below: int
    auto_below: int
    deny_tags: Sequence[str]
    approval: Seconds
    max_attempts: int
    delegation_depth: int
    follow: Mapping[str, str | FollowTask]


class Changes(Applying):
    """The changes of a domain. Each call that writes returns a `Result`: check its `status`.

    A status that is no error in the program, for instance `outdated` or `not_eligible`, is an answer and not an
    exception. The page of each script in the reference lists them.
    """

    # Authors

    def put(
        self,
        id: str | None = None,
        *,
        type: str,
        description: str,
        expect_rev: int = 0,
        version: str = "",
        parameters: Any = None,
        resources: Sequence[str] = (),
        rollback_strategy: Rollback = "none",
        timeout: Seconds = 0.0,
        priority: int = 50,
        author_name: str = "",
        team: str | None = None,
        ticket_ref: str = "",
        tags: Sequence[str] = (),
        **who: Unpack[Who],
    ) -> Result:
        """Create a draft, or write another revision of a change. Content and metadata replace all that was there;
        `revise` keeps what you do not name.

        Returns `created`, `revised` (another revision; a review begins again), `edited` (metadata only: the revision
        and its votes stay) or `unchanged`, with `id`, `rev` and `digest`. Or `exists`, `outdated`, `state`,
        `is_reviewer` or `not_found`, and nothing is written.

        id: at most 64 characters; None: a new one.
        expect_rev: the revision that you have seen; 0 to create.
        type: what kind of change it is; a name.
        parameters: bytes, or anything that JSON can hold; at most 64 KiB. No script reads them.
        resources: what it changes: at most 32 of the form `<type>:<id>`.
        timeout: how many seconds a run may take; 0: the setting default_run.
        priority: 0 to 100.
        author_name, team, ticket_ref, tags: metadata.
        """
        id = id or new_ulid()
        answer = self._call(
            "put",
            id=id,
            expect_rev=expect_rev,
            change_type=type,
            version=version,
            description=description,
            parameters=b"" if parameters is None else encode(parameters, "parameters"),
            resources=resources,
            rollback_strategy=rollback_strategy,
            timeout=timeout,
            priority=priority,
            author_name=author_name,
            team=team,
            ticket_ref=ticket_ref,
            tags=tags,
            **identified(who),
        )
        answer.fields["id"] = id
        return answer

    def revise(self, change: Change, **edits: Any) -> Result:
        """Write another revision of a change that you have read: what you do not name stays as it is.

        edits: arguments of `put`, with the `actor`.
        """
        now: dict[str, Any] = {name: getattr(change, name) for name in _KEPT}
        return self.put(**{"id": change.id, "expect_rev": change.rev, "parameters": change.data, **now, **edits})

    def submit(
        self,
        seen: Seen,
        *,
        policy: str,
        reviewers: Sequence[str | tuple[str, str]] = (),
        priority: ReviewPriority = "normal",
        timeout: Seconds = 0.0,
        **who: Unpack[Who],
    ) -> Result:
        """Ask for a review of a draft, by a policy. Only its contributors may do this.

        Returns `submitted` (it waits for the risk or preview that the policy needs), `reviewing` or `approved`. Or
        `unreachable` (fewer could answer than the policy requires), `no_policy`, `forbidden`, `outdated`, `state` or
        `not_found`.

        reviewers: who is asked besides those of the policy: `user:<id>`, or `group:<name>` for one person of a group;
        or a tuple of this and a name to show. Contributors are left out.
        timeout: seconds until the review ends; 0: as the policy says.
        """
        asked = [
            {"reviewer": one} if isinstance(one, str) else _named(one) for one in checked_list("reviewers", reviewers)
        ]
        named = revision(seen)
        return self._call(
            "submit",
            id=named["id"],
            rev=named["rev"],
            policy=policy,
            item=asked,
            priority=priority,
            timeout=timeout,
            **identified(who),
        )

    def withdraw(self, id: str, *, reason: str = "", **who: Unpack[Who]) -> Result:
        """Make a change under review, or an approved one, a draft again. Only its contributors may do this.

        Returns `draft`; or `state`, `forbidden` or `not_found`.
        """
        return self._move(id, "withdraw", reason, who)

    def cancel(self, id: str, *, reason: str = "", **who: Unpack[Who]) -> Result:
        """Cancel a change for good. Only its contributors may do this.

        Returns `cancelled`; `cancelling` if it is being applied: the applier is asked to stop; or `state`, `forbidden`
        or `not_found`.
        """
        return self._move(id, "cancel", reason, who)

    def reopen(self, id: str, *, reason: str = "", **who: Unpack[Who]) -> Result:
        """Make a change that has failed or was rejected a draft again. Only its contributors may do this.

        Returns `draft`; or `state`, `forbidden` or `not_found`.
        """
        return self._move(id, "reopen", reason, who)

    def _move(self, id: str, to: str, reason: str, who: Mapping[str, Any]) -> Result:
        return self._call("move", id=id, to=to, reason=reason, **identified(who))

    # Assessors

    def assess(
        self,
        seen: Seen,
        *,
        score: int | None = None,
        factors: Any = "",
        auto_approvable: bool = False,
        assessed_by: str = "",
        preview: str | bytes = b"",
        **who: Unpack[Who],
    ) -> Result:
        """Store the risk of a revision, its preview, or both. Contributors may not do this.

        Returns `ok` with the `state` of the change and the `level` of the risk; or `not_eligible`, `outdated`, `state`
        or `not_found`.

        score: 0 to 100.
        factors: a text, or anything that JSON can hold; at most 8 KiB.
        auto_approvable: whether a policy may approve a low risk without people.
        assessed_by: the version of the algorithm.
        preview: what the change would do; at most 64 KiB, kept for 7 days.
        """
        return self._call(
            "assess",
            **revision(seen),
            score=score,
            factors=factors if isinstance(factors, str) else encode(factors, "factors"),
            auto_approvable=auto_approvable,
            assessed_by=assessed_by,
            preview=preview,
            **identified(who),
        )

    # Reviewers

    def approve(self, seen: Seen, *, reason: str = "", slot: int = 0, **who: Unpack[Voter]) -> Result:
        """Approve the revision that you have seen.

        Returns `recorded`, or `approved` or `rejected` if this answer decides; `same` if you have answered so already;
        `closed` if the review is decided; `not_eligible` with a `reason`: not_reviewer, contributor, agent or answered;
        `outdated`, `state` or `not_found`.

        seen: the Change or the InboxEntry that you have read, or a ChangeRef.
        slot: the request to answer; 0: that of the InboxEntry, or any that asks you.
        """
        return self._answer(seen, "approve", reason, slot, who)

    def reject(self, seen: Seen, *, reason: str = "", slot: int = 0, **who: Unpack[Voter]) -> Result:
        """Reject the revision that you have seen; see `approve`."""
        return self._answer(seen, "reject", reason, slot, who)

    def request_changes(self, seen: Seen, *, reason: str = "", slot: int = 0, **who: Unpack[Voter]) -> Result:
        """Ask for another revision; see `approve`. Until you answer again, nobody can approve this one."""
        return self._answer(seen, "request_changes", reason, slot, who)

    def abstain(self, seen: Seen, *, reason: str = "", slot: int = 0, **who: Unpack[Voter]) -> Result:
        """Answer your request without an opinion; see `approve`."""
        return self._answer(seen, "abstain", reason, slot, who)

    def retract(self, seen: Seen, *, reason: str = "", slot: int = 0, **who: Unpack[Voter]) -> Result:
        """Take your answer back; see `approve`. If the change is approved by it, its review begins again."""
        return self._answer(seen, "retract", reason, slot, who)

    def comment(self, seen: Seen, text: str, **who: Unpack[Voter]) -> Result:
        """Leave a comment in the log of a change. Anybody may do this, in any state, and it decides nothing.

        Returns `commented`; `full` if the log has no more place; or `not_found`.
        """
        return self._answer(seen, "comment", text, 0, who)

    def respond(self, answers: Sequence[ChangeAnswer], **who: Unpack[Voter]) -> builtins.list[Result]:
        """Give up to 100 answers of one person in one call. Returns the outcome of each; see `approve`.

        With the setting batch_approvals off, one answer is allowed.
        """
        items = [one.model_dump() for one in checked_list("answers", answers)]
        found: list[Result] = (self._respond(items, who)).items
        return found

    def _answer(self, seen: Seen, action: str, reason: str, slot: int, who: Mapping[str, Any]) -> Result:
        slot = slot or (getattr(seen, "slot", 0) if isinstance(seen, InboxEntry) else 0)
        item = {**revision(seen), "action": action, "slot": slot, "reason": reason}
        (answer,) = (self._respond([item], who)).items
        return answer  # type: ignore[no-any-return]

    def _respond(self, items: Sequence[Mapping[str, Any]], who: Mapping[str, Any]) -> Result:
        return self._call(
            "respond", item=items, **identified_voter(who), **self._bases("queue", "follow_queue")
        )

    def delegate(self, id: str, to: str, *, slot: int = 0, reason: str = "", **who: Unpack[Who]) -> Result:
        """Let another person answer your request in your place. It stays one request with one answer.

        Returns `ok` with `slot` and `reviewer`; `cycle` (this person has or had the request), `too_deep` (it was
        delegated as often as the policy allows), `not_eligible` with a `reason`, `closed` or `not_found`.

        slot: the request; 0: yours.
        """
        return self._call("delegate", id=id, to=to, slot=slot, reason=reason, **identified(who))

    def take_back(self, id: str, *, slot: int = 0, reason: str = "", **who: Unpack[Who]) -> Result:
        """Take back a request that you have delegated; or give back one that was delegated to you. See `delegate`."""
        return self._call("delegate", id=id, to=None, slot=slot, reason=reason, **identified(who))

    def set_delegation(
        self,
        user: str,
        name: str,
        *,
        to: str,
        start: Moment | None = None,
        until: Moment | None = None,
        types: Sequence[str] = (),
        tags: Sequence[str] = (),
        resources: Sequence[str] = (),
        risk_above: int | None = None,
        risk_below: int | None = None,
        cascade: bool = False,
        active: bool = True,
        actor: str | None = None,
    ) -> Result:
        """Store a delegation of a person: for some time, another person answers its requests. At most 16 for a person.

        Open requests move now, and move back when it ends. The first delegation that fits decides, by the bytes of the
        names. Returns `stored` or `same`; `cycle` or `full`, and nothing is written.

        start, until: when it begins and ends. None: now, and never.
        types, tags, resources: only changes of one of these types, with one of these tags, to one of these resources.
        risk_above, risk_below: only changes with such a risk score.
        cascade: whether the other person's delegations apply, too.
        actor: who stores it.
        """
        fields = {
            "name": name,
            "to": to,
            "from_ms": None if start is None else to_epoch_ms("start", start),
            "until_ms": None if until is None else to_epoch_ms("until", until),
            "types": types or None,
            "tags": tags or None,
            "resources": resources or None,
            "risk_above": risk_above,
            "risk_below": risk_below,
            "cascade": cascade,
            "inactive": not active,
        }
        given = {key: value for key, value in fields.items() if value is not None}
        return self._set_delegation(user, given, actor)

    def remove_delegation(self, user: str, name: str, *, actor: str | None = None) -> Result:
        """Remove a delegation of a person. Its open requests move back. Returns `removed` or `unknown`."""
        return self._set_delegation(user, {"name": name, "remove": True}, actor)

    def _set_delegation(self, user: str, item: Mapping[str, Any], actor: str | None) -> Result:
        (answer,) = (self._call("set_delegations", user=user, actor=actor, item=[item])).items
        return answer  # type: ignore[no-any-return]

    def delegations(self, user: str) -> Delegations:
        """Return the delegations of a person."""
        return replies.delegations(self._call("get_delegations", user=user))

    def inbox(
        self, user: str, *, principal: str | None = None, groups: Sequence[str] = (), cursor: str = "", limit: int = 20
    ) -> Inbox:
        """Return a page of the requests that a user can answer now, the most urgent first.

        groups: those of the user, at most 32. principal: the person who answers for the user, if that is an agent.
        """
        answer = self._call(
            "inbox", user=user, principal=principal, groups=groups, cursor=cursor or None, limit=limit
        )
        return replies.inbox(answer)

    def iterate_inbox(
        self, user: str, *, principal: str | None = None, groups: Sequence[str] = ()
    ) -> Iterator[InboxEntry]:
        """Iterate over all requests that a user can answer now, page by page."""
        cursor = ""
        while True:
            page = self.inbox(user, principal=principal, groups=groups, cursor=cursor, limit=MOST_CHANGES)
            for entry in page.entries:
                yield entry
            cursor = page.cursor
            if not cursor:
                return

    # Readers

    def get(self, id: str, *, requests: bool = False, log: int = 0, texts: bool = False) -> Change | None:
        """Return a change as it is now; None if it does not exist.

        requests: with its requests. log: with the last entries of its log, at most 1000. texts: with its preview and
        the output of its last run.
        """
        return (self.get_many([id], requests=requests, log=log, texts=texts))[0]

    def get_many(
        self, ids: Sequence[str], *, requests: bool = False, log: int = 0, texts: bool = False
    ) -> builtins.list[Change | None]:
        """Return changes as they are now; None for each that does not exist. See `get`."""
        ids = checked_list("ids", ids)
        found: builtins.list[Change | None] = []
        most = min(20, 1000 // max(log, 1)) if requests or log or texts else MOST_CHANGES
        while len(found) < len(ids):
            part = ids[len(found) : len(found) + most]
            answer = self._call("get", item=part, with_requests=requests, with_log=log, with_texts=texts)
            found += [
                replies.change(id, one, texts=texts, requests=requests, log=log > 0)
                for id, one in zip(part, answer.items, strict=True)
            ]
        return found

    def get_revision(self, id: str, rev: int) -> ChangeContent | None:
        """Return the content of a revision: the current one or one of the 10 before it. None if it is not kept.

        The contents of earlier revisions are kept for 30 days after the last of them was replaced.
        """
        answer = self._call("get_revision", id=id, rev=rev)
        return content_from(answer.content) if answer.status == "found" else None

    def list(self, *, cursor: str = "", limit: int = 20, **by: Unpack[ChangeFilter]) -> ChangePage:
        """Return one page of the changes of a state, an author, a reviewer, a resource, a team or a tag, the newest
        first.
        """
        name, value = _condition(by)
        return replies.page(self._call("list", by=name, value=value, cursor=cursor or None, limit=limit))

    def iterate(self, **by: Unpack[ChangeFilter]) -> Iterator[ChangeSummary]:
        """Iterate over all changes that `list` finds, page by page."""
        cursor = ""
        while True:
            page = self.list(cursor=cursor, limit=MOST_CHANGES, **by)
            for change in page.changes:
                yield change
            cursor = page.cursor
            if not cursor:
                return

    def stats(self) -> ChangeStats:
        """Return how many changes are in each state, and how many wait for a step that is due."""
        return replies.stats(self._call("stats"))

    # Operators

    def set_policy(self, name: str, *, actor: str | None = None, **fields: Unpack[PolicyFields]) -> Result:
        """Store a policy of review, in place of the one of this name. Fields that you leave out get their defaults.

        A change takes a copy of its policy when it is submitted, so this does not affect reviews that have begun.
        Returns `stored` or `same`, with the `version`.
        """
        checked_options(fields, PolicyFields.__annotations__, required=("required",), besides=("name", "actor"))
        own: dict[str, Any] = {"name": name, **fields}
        for step, given in own.pop("follow", {}).items():
            task = FollowTask(kind=given) if isinstance(given, str) else given
            own |= {f"{step}_kind": task.kind, f"{step}_lane": task.lane, f"{step}_priority": task.priority}
        return (self._set_policies([own], actor))[0]

    def remove_policy(self, name: str, *, actor: str | None = None) -> Result:
        """Remove a policy. Returns `removed` or `unknown`. Reviews that have begun continue."""
        return (self._set_policies([{"name": name, "remove": True}], actor))[0]

    def _set_policies(self, items: Sequence[Mapping[str, Any]], actor: str | None) -> builtins.list[Result]:
        found: builtins.list[Result] = (self._call("set_policies", actor=actor, item=items)).items
        return found

    def policies(self, names: Sequence[str] = ()) -> dict[str, ReviewPolicy]:
        """Return policies by their names: all, or those of these names that exist."""
        return replies.policies(self._call("get_policies", item=checked_list("names", names)))

    def add_request(self, id: str, reviewer: str, *, actor: str, reason: str, name: str = "") -> Result:
        """Ask one more reviewer, in a review that has begun.

        Returns `ok` with the `slot`; `not_eligible`, `full` (there are 32), `closed` or `not_found`.

        reviewer: `user:<id>` or `group:<name>`. name: to show.
        """
        return self._reassign(id, "add", actor, reason, reviewer=reviewer, name=name)

    def remove_request(self, id: str, slot: int, *, actor: str, reason: str) -> Result:
        """Remove a request. Returns `ok`; `unreachable` if too few are left; or as `add_request`."""
        return self._reassign(id, "remove", actor, reason, slot=slot)

    def move_request(
        self, id: str, slot: int, reviewer: str, *, actor: str, reason: str, name: str = ""
    ) -> Result:
        """Give a request without an answer to another reviewer; see `add_request`."""
        return self._reassign(id, "move", actor, reason, slot=slot, reviewer=reviewer, name=name)

    def dismiss_answer(self, id: str, slot: int, *, actor: str, reason: str) -> Result:
        """Void an answer, so that its request is pending again; see `add_request`."""
        return self._reassign(id, "dismiss", actor, reason, slot=slot)

    def _reassign(self, id: str, operation: str, actor: str, reason: str, **options: Any) -> Result:
        return self._call("reassign", id=id, operation=operation, actor=actor, reason=reason, **options)

    def override(self, seen: Seen, *, reason: str, proof: str = "", **who: Unpack[Who]) -> Result:
        """Approve a change in an emergency, without its reviewers. The change keeps a mark for ever.

        Returns `approved`; or `outdated`, `state` or `not_found`.
        """
        return self._call("override", **revision(seen), reason=reason, proof=proof, **identified(who))

    def sweep(self, limit: int = 100) -> Result:
        """Do what is due (reminders, escalations, timeouts, ends of approvals and leases), for at most `limit` changes,
        and delete at most as many ended changes that are too old or too many.

        Returns `ok` with `taken`, `removed`, and `more`, 1 if there is more to do now. Other calls do a part of this,
        so a sweep is needed only in a domain without other calls.
        """
        return self._call("sweep", limit=limit)

    def deliver(self, limit: int = 100) -> Delivered:
        """Enqueue tasks that follow steps of changes and were not enqueued with the step. At most `limit`, 1 to 100.

        Call it regularly if policies name such tasks, from one program or many. A task that comes twice is one task.
        Raises the error of the queue if that takes no tasks; they are due again after 30 s.
        """
        answer = self._call("outbox", limit=limit)
        done: builtins.list[tuple[str, int]] = []
        try:
            for one in answer.items:
                queue = self._runner.noun("queue", answer.queue)
                payload = follow_payload(self.name, one)
                queue.enqueue(payload, id=one.task_id, kind=one.kind, lane=one.lane, priority=one.priority)
                done.append((one.id, one.seq))
        finally:
            if done:
                answer = self._call("outbox", limit=0, item=done)
        return Delivered(delivered=len(done), left=answer.left)

    # Appliers

    def begin(
        self, seen: Seen, *, agent: str, lease: Seconds = 0.0, lock_rid: str | None = None, locks: str = ""
    ) -> Result:
        """Begin to apply an approved change: exactly this revision. `apply` does this, and all that follows.

        Returns `begun` with `token`, `fence`, `deadline`, `run` (how many seconds it may take), `content` and
        `parameters`; or `held` (another applier has it), `not_locked` with the first `resource` that is not locked as
        the setting lock_domain demands, `outdated`, `state` or `not_found`.

        lease: seconds of the lease; 0: the setting.
        lock_rid: the rid of the grant that has all resources of the change, for the owner `<domain>/<change>`.
        locks: the fences of locks elsewhere, for the record.
        """
        bases = self._bases("lock", "lock_domain")
        return self._call(
            "begin", **revision(seen), agent=agent, lease=lease, lock_rid=lock_rid, locks=locks, **bases
        )

    def heartbeat(self, id: str, token: str) -> Result:
        """Renew the lease of a run.

        Returns `renewed`; `cancelling` (stop, the change was cancelled) or `timed_out` (stop, the run takes too long),
        each with the new `deadline`; or `lost` or `lock_lost`: another may apply it by now, stop at once.
        """
        return self._call("heartbeat", id=id, token=token, **self._bases("lock", "lock_domain"))

    def finish(
        self,
        id: str,
        token: str,
        result: RunResult,
        *,
        retry: bool = False,
        output: str | bytes = b"",
        output_key: str = "",
        error: str = "",
        error_details: str = "",
    ) -> Result:
        """End a run. Returns the new state of the change, or `lost` if the run was over.

        result: `success`; `failure`, `timeout` or `cancelled`; or `released`, to give the change back unapplied.
        retry: a failure leaves the change approved, while attempts are left.
        output: what the run has printed; the last 16 KiB are kept. output_key: where all of it is.
        error, error_details: what went wrong; the last 1 KiB and 4 KiB are kept.
        """
        how = ending(
            result, retry=retry, output=output, output_key=output_key, error=error, error_details=error_details
        )
        return self._call("finish", id=id, token=token, **how)


_KEPT = (
    "type",
    "description",
    "version",
    "resources",
    "rollback_strategy",
    "timeout",
    "priority",
    "author_name",
    "team",
    "ticket_ref",
    "tags",
)


def _named(reviewer: tuple[str, str]) -> dict[str, str]:
    reviewer_, name = reviewer
    return {"reviewer": reviewer_, "name": name}


def _condition(by: Mapping[str, Any]) -> tuple[str, Any]:
    checked_options(by, ChangeFilter.__annotations__, besides=("cursor", "limit"))
    given = {name: value for name, value in by.items() if value is not None}
    if len(given) != 1:
        raise TypeError(
            f"{', '.join(given) or 'nothing'}: one condition is needed: {', '.join(ChangeFilter.__annotations__)}"
        )
    ((name, value),) = given.items()
    return name, value
