"""The answers of a change domain, as the noun layer decodes them, into models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from pyadeq._core.change.content import content, text
from pyadeq._core.kernel.nouncalls import Result
from pyadeq.models.change import (
    Change,
    ChangeExecution,
    ChangeLogEntry,
    ChangePage,
    ChangeRequest,
    ChangeRisk,
    ChangeStats,
    ChangeSummary,
    ChangeVotes,
    Delegation,
    Delegations,
    FollowTask,
    Inbox,
    InboxEntry,
    ReviewerStats,
    ReviewPolicy,
)


def change(id: str, found: Result, *, texts: bool, requests: bool, log: bool) -> Change | None:
    """A change as `get` answers it. texts, requests, log: what was asked for."""
    if found.status != "found":
        return None
    own: dict[str, Any] = found.change
    return Change(
        **content(own, found.parameters, own["digest"]),
        **_known(Change, own, "state rev round seq author principal tags created updated submitted approved applying"),
        id=id,
        author_name=text(own.get("author_name")),
        team=own.get("team") or None,
        ticket_ref=text(own.get("ticket_ref")),
        ended=own.get("completed"),
        policy=own.get("policy") or None,
        review_priority=own.get("review_priority") or None,
        review_until=own.get("timeout_at") or None,
        approved_until=own.get("until") or None,
        overdue=bool(found.overdue),
        decided_by=own.get("decided_by") or None,
        why=own.get("why") or None,
        overridden_rev=own.get("overridden_rev") or None,
        overridden_by=own.get("overridden_by") or None,
        votes=ChangeVotes(
            required=own.get("p_required"),
            approved=found.approved,
            rejected=found.rejected,
            pending=found.pending,
        ),
        risk=_risk(own),
        preview=found.preview or None if texts else None,
        preview_rev=own.get("preview_rev") or None,
        follow_ids=tuple(filter(None, text(own.get("follow_ids")).split(","))),
        run=_run(own, found.output if texts else None),
        requests=tuple(map(_request, found.requests)) if requests else None,
        log=tuple(_entry(one.entry) for one in found.log) if log else None,
    )


def page(answer: Result) -> ChangePage:
    """A page of a list."""
    changes = [
        ChangeSummary(id=one.id, state=one.state, rev=one.rev, overdue=bool(one.overdue), **_summary(one.summary))
        for one in answer.items
    ]
    return ChangePage(changes=changes, cursor=answer.cursor, now=answer.now)


def inbox(answer: Result) -> Inbox:
    """A page of an inbox."""
    entries = [
        InboxEntry(
            id=one.id,
            slot=one.slot,
            rev=one.rev,
            digest=one.digest,
            due=one.due,
            **_summary(one.summary),
            **_known(InboxEntry, one.summary, "review_priority submitted"),
        )
        for one in answer.items
    ]
    stats = _user_stats(answer.stats)
    return Inbox(entries=entries, cursor=answer.cursor, pending=answer.pending, stats=stats, now=answer.now)


def stats(answer: Result) -> ChangeStats:
    """The counts of a domain."""
    return ChangeStats(
        states=answer.states,
        overdue=answer.overdue,
        since=answer.since or None,
        settings=answer.settings,
        now=answer.now,
    )


def policies(answer: Result) -> dict[str, ReviewPolicy]:
    """The policies that exist, by name."""
    return {
        one.name: ReviewPolicy(
            name=one.name, follow=_follows(text(one.policy.get("follows"))), **_known(ReviewPolicy, one.policy)
        )
        for one in answer.items
        if one.status == "found"
    }


def _follows(stored: str) -> dict[str, FollowTask]:
    """`<step>|<kind>|<lane>|<priority>`, separated by `;`."""
    parts = [one.split("|") for one in stored.split(";") if one]
    return {step: FollowTask(kind=kind, lane=lane, priority=int(priority)) for step, kind, lane, priority in parts}


def delegations(answer: Result) -> Delegations:
    """The delegations of a person."""
    return Delegations(away=answer.away, delegations=[_delegation(one.name, one.delegation) for one in answer.items])


def _delegation(name: str, own: Mapping[str, Any]) -> Delegation:
    def risk(value: int | None) -> int | None:
        return None if value is None or value < 0 else value

    return Delegation(
        name=name,
        start=own.get("from") or None,
        until=own.get("until") or None,
        principal=own.get("for") or None,
        risk_above=risk(own.get("risk_above")),
        risk_below=risk(own.get("risk_below")),
        **_known(Delegation, own, "to types tags resources cascade active"),
    )


def _known(model: type[BaseModel], fields: Mapping[str, Any], names: str = "") -> dict[str, Any]:
    """The fields of a record that a model has: a newer release may have more. A field without a value is left out."""
    wanted = names.split() or model.model_fields
    return {name: fields[name] for name in wanted if fields.get(name) not in (None, "")}


def _summary(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **_known(ChangeSummary, fields, "type author priority risk_score risk_level created"),
        "description": text(fields["description"]),
    }


def _risk(own: Mapping[str, Any]) -> ChangeRisk | None:
    if own.get("risk_score") is None:
        return None
    return ChangeRisk(
        score=own["risk_score"],
        level=own["risk_level"],
        factors=text(own.get("risk_factors")),
        auto_approvable=own.get("auto_approvable", False),
        assessed=own["assessed"],
        assessed_by=text(own.get("assessed_by")),
        rev=own.get("risk_rev", 0),
    )


def _run(own: Mapping[str, Any], output: bytes | None) -> ChangeExecution | None:
    if own.get("started") is None:
        return None
    ended = own.get("ended")
    return ChangeExecution(
        **_known(ChangeExecution, own, "agent fence started deadline attempts cancelling output_cut"),
        timeout=own["run"],
        ended=ended if ended and ended >= own["started"] and own["state"] != "applying" else None,
        result=own.get("result") or None,
        output=None if output is None else text(output),
        output_key=text(own.get("output_key")),
        error=text(own.get("error")),
        error_details=text(own.get("error_details")),
    )


def _request(one: Result) -> ChangeRequest:
    own: Mapping[str, Any] = one.request
    return ChangeRequest(
        slot=one.slot,
        reviewer=own.get("reviewer") or one.reviewer,
        assignee=one.reviewer,
        **_known(ChangeRequest, own, "status priority round created assigned due responded reviewed_by principal"),
        reviewer_name=text(own.get("reviewer_name")),
        delegation_chain=own.get("delegation_chain", ()),
        action=own.get("response_action") or None,
        reason=text(own.get("response_reason")),
    )


def _entry(own: Mapping[str, Any]) -> ChangeLogEntry:
    return ChangeLogEntry(
        **_known(ChangeLogEntry, own, "event rev round by caller"),
        at=own["timestamp"] / 1000,
        detail=text(own.get("detail")),
        reason=text(own.get("reason")),
        proof=text(own.get("proof")),
    )


def _user_stats(own: Mapping[str, int]) -> ReviewerStats:
    def counts(kind: str) -> dict[int, int]:
        return {int(name[2:]): count for name, count in own.items() if name.startswith(kind)}

    bounds = {int(name[5:]) / 1000: count for name, count in own.items() if name.startswith("took:")}
    last = own.get("last")
    return ReviewerStats(
        approved=counts("a:"),
        rejected=counts("r:"),
        answers=own.get("answers", 0),
        took=own.get("took", 0),
        took_up_to=dict(sorted(bounds.items())),
        last=last,
    )
