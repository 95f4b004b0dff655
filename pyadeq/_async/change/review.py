"""What assessors and reviewers of changes do: assess, answer, delegate, and read their inboxes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Unpack

from pyadeq._async.change.base import MOST_CHANGES
from pyadeq._async.change.follow import Following
from pyadeq._core.change import replies
from pyadeq._core.change.people import Seen, Voter, Who, identified, identified_voter, revision
from pyadeq._core.kernel.nouncalls import Result
from pyadeq._core.kernel.options import checked_list
from pyadeq.models.base import encode
from pyadeq.models.change import ChangeAnswer, Inbox, InboxEntry


class Reviewing(Following):
    """The part of a change domain for assessors and reviewers."""

    async def assess(
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
        answer = await self._call(
            "assess",
            **revision(seen),
            score=score,
            factors=factors if isinstance(factors, str) else encode(factors, "factors"),
            auto_approvable=auto_approvable,
            assessed_by=assessed_by,
            preview=preview,
            **identified(who),
        )
        await self._follow_up(answer.fields.get("state", ""))
        return answer

    async def approve(self, seen: Seen, *, reason: str = "", slot: int = 0, **who: Unpack[Voter]) -> Result:
        """Approve the revision that you have seen.

        Returns `recorded`, or `approved` or `rejected` if this answer decides; `same` if you have answered so already;
        `closed` if the review is decided; `not_eligible` with a `reason`: not_reviewer, contributor, agent or answered;
        `outdated`, `state` or `not_found`.

        seen: the Change or the InboxEntry that you have read, or a ChangeRef.
        slot: the request to answer; 0: that of the InboxEntry, or any that asks you.
        """
        return await self._answer(seen, "approve", reason, slot, who)

    async def reject(self, seen: Seen, *, reason: str = "", slot: int = 0, **who: Unpack[Voter]) -> Result:
        """Reject the revision that you have seen; see `approve`."""
        return await self._answer(seen, "reject", reason, slot, who)

    async def request_changes(self, seen: Seen, *, reason: str = "", slot: int = 0, **who: Unpack[Voter]) -> Result:
        """Ask for another revision; see `approve`. Until you answer again, nobody can approve this one."""
        return await self._answer(seen, "request_changes", reason, slot, who)

    async def abstain(self, seen: Seen, *, reason: str = "", slot: int = 0, **who: Unpack[Voter]) -> Result:
        """Answer your request without an opinion; see `approve`."""
        return await self._answer(seen, "abstain", reason, slot, who)

    async def retract(self, seen: Seen, *, reason: str = "", slot: int = 0, **who: Unpack[Voter]) -> Result:
        """Take your answer back; see `approve`. If the change is approved by it, its review begins again."""
        return await self._answer(seen, "retract", reason, slot, who)

    async def comment(self, seen: Seen, text: str, **who: Unpack[Voter]) -> Result:
        """Leave a comment in the log of a change. Anybody may do this, in any state, and it decides nothing.

        Returns `commented`; `full` if the log has no more place; or `not_found`.
        """
        return await self._answer(seen, "comment", text, 0, who)

    async def respond(self, answers: Sequence[ChangeAnswer], **who: Unpack[Voter]) -> list[Result]:
        """Give up to 100 answers of one person in one call. Returns the outcome of each; see `approve`.

        With the setting batch_approvals off, one answer is allowed.
        """
        items = [one.model_dump() for one in checked_list("answers", answers)]
        return await self._respond(items, who)

    async def _answer(self, seen: Seen, action: str, reason: str, slot: int, who: Mapping[str, Any]) -> Result:
        slot = slot or (getattr(seen, "slot", 0) if isinstance(seen, InboxEntry) else 0)
        item = {**revision(seen), "action": action, "slot": slot, "reason": reason}
        (answer,) = await self._respond([item], who)
        return answer

    async def _respond(self, items: Sequence[Mapping[str, Any]], who: Mapping[str, Any]) -> list[Result]:
        bases = await self._bases("queue", "follow_queue")
        answers: list[Result] = []
        while not answers or len(answers) < len(items):  # the last of a call may be `later`
            told = await self._call("respond", item=items[len(answers) :], **identified_voter(who), **bases)
            answers += [one for one in told.items if one.status != "later"]
        if not bases:  # otherwise the server has enqueued them
            await self._follow_up(*map(_step, items, answers))
        return answers

    async def delegate(self, id: str, to: str, *, slot: int = 0, reason: str = "", **who: Unpack[Who]) -> Result:
        """Let another person answer your request in your place. It stays one request with one answer.

        Returns `ok` with `slot` and `reviewer`, who is another if that person has a stored delegation; `cycle` (this
        person has or had the request), `too_deep` (it was delegated as often as the policy allows), `not_eligible` with
        a `reason`, `closed` or `not_found`.

        slot: the request; 0: yours.
        """
        return await self._call("delegate", id=id, to=to, slot=slot, reason=reason, **identified(who))

    async def take_back(self, id: str, *, slot: int = 0, reason: str = "", **who: Unpack[Who]) -> Result:
        """Take back a request that you have delegated; or give back one that was delegated to you. See `delegate`."""
        return await self._call("delegate", id=id, to=None, slot=slot, reason=reason, **identified(who))

    async def inbox(
        self, user: str, *, principal: str | None = None, groups: Sequence[str] = (), cursor: str = "", limit: int = 20
    ) -> Inbox:
        """Return a page of the requests that a user can answer now, the most urgent first.

        groups: those of the user, at most 32. principal: the person who answers for the user, if that is an agent.
        """
        answer = await self._call(
            "inbox", user=user, principal=principal, groups=groups, cursor=cursor or None, limit=limit
        )
        return replies.inbox(answer)

    async def iterate_inbox(
        self, user: str, *, principal: str | None = None, groups: Sequence[str] = ()
    ) -> AsyncIterator[InboxEntry]:
        """Iterate over all requests that a user can answer now, page by page."""
        cursor = ""
        while True:
            page = await self.inbox(user, principal=principal, groups=groups, cursor=cursor, limit=MOST_CHANGES)
            for entry in page.entries:
                yield entry
            cursor = page.cursor
            if not cursor:
                return


def _step(item: Mapping[str, Any], answer: Result) -> str:
    """Return the word for what an answer has done to its change."""
    asks = item["action"] == "request_changes" and answer.status == "recorded"
    return "changes_requested" if asks else answer.status
