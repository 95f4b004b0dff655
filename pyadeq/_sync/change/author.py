# Generated from pyadeq/_async/change/author.py by pyadeq/_unasync.py; do not edit.
"""What authors of changes do: write, revise, submit, withdraw, cancel and reopen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from pyadeq._sync.change.follow import Following
from pyadeq._core.change.people import Seen, Who, identified, revision
from pyadeq._core.kernel.nouncalls import Result
from pyadeq._core.kernel.options import checked_list
from pyadeq.ids import new_ulid
from pyadeq.models.base import Seconds, encode
from pyadeq.models.change import Change, ReviewPriority, Rollback


class Authoring(Following):
    """The part of a change domain for authors."""

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
        timeout: seconds until the review ends; 0: as the policy says. If the policy approves after a timeout, it can
        only be longer than the policy says.
        """
        asked = [
            {"reviewer": one} if isinstance(one, str) else _named(one) for one in checked_list("reviewers", reviewers)
        ]
        named = revision(seen)
        answer = self._call(
            "submit",
            id=named["id"],
            rev=named["rev"],
            policy=policy,
            item=asked,
            priority=priority,
            timeout=timeout,
            **identified(who),
        )
        self._follow_up(answer.status)
        return answer

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
        answer = self._call("move", id=id, to=to, reason=reason, **identified(who))
        self._follow_up(answer.status)
        return answer


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
