"""The fields of a policy, as the script takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pyadeq._core.change.follow import FOLLOWED
from pyadeq._core.kernel.options import unfit
from pyadeq.models.change import FollowTask

NONE: Final = frozenset(
    {"reviewers", "escalate_to", "deny_tags", "remind", "escalate", "timeout", "timeout_approve_below"}
)
"""Fields that a policy may lack. When it is read, they are empty or 0."""


def policy_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a policy without those that it lacks, and with the tasks that follow steps."""
    fields = {name: value for name, value in given.items() if name not in NONE or _is_given(value)}
    follow = fields.pop("follow", None) or {}
    if not isinstance(follow, Mapping):
        raise unfit("follow", follow, "a task for each step, such as {'approved': 'notify'}")
    for step, told in follow.items():
        if step not in FOLLOWED:
            raise unfit("follow", step, ", ".join(sorted(FOLLOWED)))
        if not isinstance(told, FollowTask | str | Mapping):
            raise unfit(f"follow.{step}", told, "a kind, a FollowTask or its fields")
        task = (
            told if isinstance(told, FollowTask) else FollowTask(**({"kind": told} if isinstance(told, str) else told))
        )
        fields |= {f"{step}_kind": task.kind, f"{step}_lane": task.lane, f"{step}_priority": task.priority}
    return fields


def _is_given(value: Any) -> bool:
    return bool(value) if isinstance(value, tuple | list | int | float) else value is not None
