# Generated from pyadeq/_async/change/policies.py by pyadeq/_unasync.py; do not edit.
"""The policies of review of a change domain."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack

from pyadeq._sync.change.base import ChangesBase
from pyadeq._core.change import replies
from pyadeq._core.change.policy import policy_fields
from pyadeq._core.kernel.nouncalls import Result
from pyadeq._core.kernel.options import checked_list, checked_options
from pyadeq.models.base import Seconds
from pyadeq.models.change import FollowTask, Needs, ReviewPolicy


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
    auto_below: a risk below it approves without people, if the setting auto_approve_low_risk is on and the assessment
    allows it.
    deny_tags: a change that has had one of these since its submit is approved by people only. The same holds for a
    content that people have rejected.
    approval: how many seconds an approval lasts (7 days).
    max_attempts: how often a run may fail (3).
    delegation_depth: how often a request may be delegated on (3; at most 4).
    follow: the tasks that follow steps, in the queue of the setting follow_queue: from `approved`, `rejected`,
    `changes_requested`, `completed`, `failed` or `cancelled` to the kind of the task, or to a FollowTask or its fields.
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


class ChangePolicies:
    """`changes.policies`: how changes are reviewed."""

    def __init__(self, changes: ChangesBase) -> None:
        self._changes = changes

    def set(
        self, name: str, *, actor: str | None = None, caller: str | None = None, **fields: Unpack[PolicyFields]
    ) -> Result:
        """Store a policy of review, in place of the one of this name. Fields that you leave out get their defaults.

        A change takes a copy of its policy when it is submitted, so this does not affect reviews that have begun. The
        fields of a ReviewPolicy that was read, without its name and version, store the same policy again.
        Returns `stored` or `same`, with the `version`.

        actor, caller: who stores it, and who has sent the call for the actor. For the event.
        """
        checked_options(
            fields, PolicyFields.__annotations__, required=("required",), besides=("name", "actor", "caller")
        )
        return (self._set([{"name": name, **policy_fields(fields)}], actor, caller))[0]

    def remove(self, name: str, *, actor: str | None = None, caller: str | None = None) -> Result:
        """Remove a policy. Returns `removed` or `unknown`. Reviews that have begun continue."""
        return (self._set([{"name": name, "remove": True}], actor, caller))[0]

    def _set(
        self, items: Sequence[Mapping[str, Any]], actor: str | None, caller: str | None
    ) -> builtins.list[Result]:
        found: builtins.list[Result] = (
            self._changes._call("set_policies", actor=actor, caller=caller, item=items)
        ).items
        return found

    def list(self, names: Sequence[str] = ()) -> dict[str, ReviewPolicy]:
        """Return policies by their names: all, or those of these names that exist."""
        return replies.policies(self._changes._call("get_policies", item=checked_list("names", names)))
