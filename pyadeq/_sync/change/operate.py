# Generated from pyadeq/_async/change/operate.py by pyadeq/_unasync.py; do not edit.
"""What operators of changes do: requests of others, and overrides."""

from __future__ import annotations

from typing import Any, Unpack

from pyadeq._sync.change.follow import Following
from pyadeq._core.change.people import Seen, Who, identified, revision
from pyadeq._core.kernel.nouncalls import Result


class Operating(Following):
    """The part of a change domain for operators."""

    def add_request(
        self, id: str, reviewer: str, *, actor: str, reason: str, name: str = "", caller: str | None = None
    ) -> Result:
        """Ask one more reviewer, in a review that has begun.

        Returns `ok` with the `slot`; `not_eligible`, `full` (there are 32), `closed` or `not_found`.

        reviewer: `user:<id>` or `group:<name>`. name: to show.
        caller: who has sent the call for the actor.
        """
        given = {"reviewer": reviewer, "name": name}
        return self._reassign(id, "add", actor=actor, caller=caller, reason=reason, **given)

    def remove_request(self, id: str, slot: int, *, actor: str, reason: str, caller: str | None = None) -> Result:
        """Remove a request. Returns `ok`; `unreachable` if too few are left; or as `add_request`."""
        return self._reassign(id, "remove", actor=actor, caller=caller, reason=reason, slot=slot)

    def move_request(
        self, id: str, slot: int, reviewer: str, *, actor: str, reason: str, name: str = "", caller: str | None = None
    ) -> Result:
        """Give a request without an answer to another reviewer; see `add_request`."""
        given = {"slot": slot, "reviewer": reviewer, "name": name}
        return self._reassign(id, "move", actor=actor, caller=caller, reason=reason, **given)

    def dismiss_answer(self, id: str, slot: int, *, actor: str, reason: str, caller: str | None = None) -> Result:
        """Void an answer, so that its request is pending again; see `add_request`."""
        return self._reassign(id, "dismiss", actor=actor, caller=caller, reason=reason, slot=slot)

    def _reassign(self, id: str, operation: str, **options: Any) -> Result:
        return self._call("reassign", id=id, operation=operation, **options)

    def override(self, seen: Seen, *, reason: str, proof: str = "", **who: Unpack[Who]) -> Result:
        """Approve a change in an emergency, without its reviewers. The change keeps a mark for ever.

        Contributors, and the persons who answer for them, may not do this, unless the policy lets contributors vote.
        Returns `approved`; `not_eligible` with the `reason` contributor; or `outdated`, `state` or `not_found`.
        """
        answer = self._call("override", **revision(seen), reason=reason, proof=proof, **identified(who))
        self._follow_up(answer.status)
        return answer

    def sweep(self, limit: int = 100) -> Result:
        """Do what is due (reminders, escalations, timeouts, ends of approvals and leases), for at most `limit` changes,
        and delete at most as many ended changes that are too old or too many.

        Returns `ok` with `taken`, `removed`, and `more`, 1 if there is more to do now. Other calls do a part of this,
        so a sweep is needed only in a domain without other calls.
        """
        return self._call("sweep", limit=limit)
