"""Changes: propose, review, assess, apply; policies, delegations and the inbox."""

from __future__ import annotations

from typing import Final

from pyadeq.asyncio import Changes
from pyadeq.ext.operations.row import Operation

MISSING: Final = {"unknown": 404}
STEP: Final = {
    "not_found": 404,
    "no_policy": 404,
    "outdated": 412,
    "forbidden": 403,
    "not_eligible": 403,
    **dict.fromkeys(
        (
            *("state", "exists", "is_reviewer", "unreachable", "closed", "full", "cycle", "too_deep", "held"),
            *("not_locked", "lost", "lock_lost"),
        ),
        409,
    ),
}
"""What a step answers that has changed nothing."""
SAYS: Final = {
    "outdated": "the change was edited meanwhile, so nothing was done: read the present revision first",
    "closed": "the review is decided, so the request is closed",
    "state": "the state of the change does not allow this",
    "forbidden": "only those who have written the change may do this",
    "not_eligible": "this person cannot do this",
    "unreachable": "fewer people could answer than the policy requires",
    "no_policy": "there is no policy of this name",
    "cycle": "this person has or had the request",
    "too_deep": "the request was delegated as often as the policy allows",
}
CONDITIONS: Final = ("state", "author", "reviewer", "resource", "team", "tag")
_ID: Final = "/changes/{domain}/changes/{id}"


def _step(verb: str, needs: str, method: str, seen: bool = True) -> Operation:
    """A step of a change by somebody."""
    return Operation(
        f"POST {_ID}:{verb}", getattr(Changes, method), needs, refused=STEP, says=SAYS, seen=seen, by_user="all"
    )


OPERATIONS: Final = (
    Operation("GET /changes/{domain}", Changes.stats, "observe"),
    Operation(
        "PATCH /changes/{domain}/settings",
        Changes.configure,
        "operate",
        create=True,
        without=("clock",),
    ),
    Operation("GET /changes/{domain}/changes", Changes.list, "observe", by_user="all", one_of=CONDITIONS),
    Operation("POST /changes/{domain}/changes", Changes.put, "author", refused=STEP, create=True, by_user="all"),
    Operation(f"GET {_ID}", Changes.get, "observe", by_user="all"),
    Operation(f"GET {_ID}/revisions/{{rev}}", Changes.get_revision, "observe", by_user="all"),
    _step("submit", "author", "submit"),
    _step("withdraw", "author", "withdraw", seen=False),
    _step("reopen", "author", "reopen", seen=False),
    _step("cancel", "author", "cancel", seen=False),
    _step("approve", "review", "approve"),
    _step("reject", "review", "reject"),
    _step("request_changes", "review", "request_changes"),
    _step("abstain", "review", "abstain"),
    _step("retract", "review", "retract"),
    _step("comment", "review", "comment"),
    _step("delegate", "review", "delegate", seen=False),
    _step("take_back", "review", "take_back", seen=False),
    _step("override", "override", "override"),
    _step("assess", "assess", "assess"),
    Operation(f"POST {_ID}:begin", Changes.begin, "apply", refused=STEP, says=SAYS, seen=True),
    Operation(f"POST {_ID}:heartbeat", Changes.heartbeat, "apply", refused=STEP, says=SAYS),
    Operation(f"POST {_ID}:finish", Changes.finish, "apply", refused=STEP, says=SAYS),
    Operation(f"POST {_ID}/requests", Changes.add_request, "operate", refused=STEP, says=SAYS),
    Operation(f"POST {_ID}/requests/{{slot}}:move", Changes.move_request, "operate", refused=STEP, says=SAYS),
    Operation(f"POST {_ID}/requests/{{slot}}:dismiss", Changes.dismiss_answer, "operate", refused=STEP, says=SAYS),
    Operation(f"DELETE {_ID}/requests/{{slot}}", Changes.remove_request, "operate", refused=STEP, says=SAYS),
    Operation("GET /changes/{domain}/policies", Changes.policies, "observe").at_terminal(
        "change policy ls",
        "List the policies of a domain.",
        columns="name required rejections needs timeout reviewers version",
    ),
    Operation(
        "PUT /changes/{domain}/policies/{name}", Changes.set_policy, "operate", create=True, required=("required",)
    ),
    Operation(
        "DELETE /changes/{domain}/policies/{name}", Changes.remove_policy, "operate", refused=MISSING
    ).at_terminal(
        "change policy rm POLICY...",
        "Remove policies. Changes that were submitted with them keep their copy.",
        good="removed",
        fails="there is no such policy",
    ),
    Operation(
        "GET /changes/{domain}/users/{user}/delegations", Changes.delegations, "observe", by_user="own", person="user"
    ),
    Operation(
        "PUT /changes/{domain}/users/{user}/delegations/{name}",
        Changes.set_delegation,
        "review",
        refused=STEP,
        create=True,
        by_user="own",
        person="user",
    ),
    Operation(
        "DELETE /changes/{domain}/users/{user}/delegations/{name}",
        Changes.remove_delegation,
        "review",
        refused=MISSING,
        by_user="own",
        person="user",
    ),
    Operation(
        "GET /changes/{domain}/users/{user}/inbox",
        Changes.inbox,
        "observe",
        by_user="own",
        person="user",
        without=("principal",),
    ),
    Operation("POST /changes/{domain}:sweep", Changes.sweep, "operate"),
    Operation("POST /changes/{domain}:deliver", Changes.deliver, "apply"),
)
AT_TERMINAL: Final = (
    Operation("GET /changes/{domain}/policies/{name}", Changes.policies, without=("names",)).at_terminal(
        "change policy show NAME", "Show all fields of a policy."
    ),
)
