"""Changes: propose, review, assess, apply; policies, delegations and the inbox."""

from __future__ import annotations

from typing import Final

from pyadeq.asyncio import ChangeDelegations, ChangePolicies, Changes
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


MOVED: Final = "{id} revision {rev} is {status:U}"
ANSWERED: Final = "{id} revision {rev}: the %s of {actor} counts; the change is {state:U}"
STOPPING: Final = "{id} revision {rev}: its applier is asked to stop; see adeq change show {id}"
HANDED_ON: Final = "{id}: {reviewer} answers request {slot} now"
SAME: Final = "{id} revision {rev}: {actor} has given this answer already; nothing was changed"


def _step(
    verb: str,
    needs: str,
    seen: bool = True,
    text: str = "",
    help: str = "",
    good: str = "",
    ask: str = "",
    **told: str,
) -> Operation:
    """A step of a change by somebody."""
    at, says = f"POST {_ID}:{verb}", {**SAYS, "same": SAME, "cancelling": STOPPING, **told}
    made = Operation(at, getattr(Changes, verb), needs, refused=STEP, says=says, seen=seen, by_user="all")
    usage = f"change {verb.replace('_', '-')} ID"
    return made.at_terminal(usage, help, text=text, good=good, ask=ask) if text else made


def _move(verb: str, help: str) -> Operation:
    return _step(verb, "author", False, MOVED, help, "draft cancelled cancelling")


def _answer(verb: str, what: str, help: str) -> Operation:
    return _step(verb, "review", True, ANSWERED % what, help, "recorded approved rejected same")


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
    _step(
        "submit",
        "author",
        True,
        MOVED,
        "Ask for the review of a draft.\n\n"
        "A change whose policy needs a risk or a preview waits for it, as SUBMITTED. If the policy lets low risks "
        "pass, it may be APPROVED at once. Reviewers that have written the change are left out.",
        "submitted reviewing approved",
        submitted=f"{MOVED}; it waits for its risk or preview: adeq change assess",
        approved=f"{MOVED}, by its policy",
    ),
    _move("withdraw", "Take a change back from its review, or from its approval: a draft again."),
    _move("reopen", "Make a change that was rejected, or has failed, a draft again."),
    _move("cancel", "Cancel a change for good. Its applier is asked to stop, if there is one."),
    _answer("approve", "approval", "Approve a revision. Nothing is done if the change has another revision by now."),
    _answer(
        "reject",
        "rejection",
        "Reject a revision. How many rejections end a review is said by its policy: mostly one.",
    ),
    _answer(
        "request_changes",
        "request for changes",
        "Ask for another revision. Until you answer again, the change cannot be approved.",
    ),
    _answer("abstain", "abstention", "Close your request without a vote."),
    _answer(
        "retract",
        "retraction",
        "Take your answer back. If the change is APPROVED by now, a new round of its review begins.",
    ),
    _step(
        "comment",
        "review",
        True,
        "{id} revision {rev}: the comment is in the log",
        "Write a comment into the log of a change. Anybody may, in any state; it decides nothing.",
        "commented",
    ),
    _step(
        "delegate",
        "review",
        False,
        HANDED_ON,
        "Let another person answer your request. It stays one request with one answer.",
        "ok",
    ),
    _step(
        "take_back",
        "review",
        False,
        HANDED_ON,
        "Take back a request that you have delegated, or give back one that was delegated to you.",
        "ok",
    ),
    _step(
        "override",
        "override",
        True,
        "{id} revision {rev} is {status:U} by override of {actor}",
        "Approve a change in an emergency, without its reviewers. The change keeps a mark for ever.",
        "approved",
        "This approves {id!r} without its reviewers.",
    ),
    _step(
        "assess",
        "assess",
        True,
        "{id} revision {rev} is assessed, with this risk: {level:U}; the change is {state:U}",
        "Store the risk of a revision, its preview, or both. Those who have written a change cannot assess it.\n\n"
        "A SUBMITTED change that has all that its policy needs goes on to its review. A preview is kept for 7 days.",
        "ok",
    ),
    Operation(f"POST {_ID}:begin", Changes.begin, "apply", refused=STEP, says=SAYS, seen=True),
    Operation(f"POST {_ID}:heartbeat", Changes.heartbeat, "apply", refused=STEP, says=SAYS),
    Operation(f"POST {_ID}:finish", Changes.finish, "apply", refused=STEP, says=SAYS),
    Operation(f"POST {_ID}/requests", Changes.add_request, "operate", refused=STEP, says=SAYS),
    Operation(f"POST {_ID}/requests/{{slot}}:move", Changes.move_request, "operate", refused=STEP, says=SAYS),
    Operation(f"POST {_ID}/requests/{{slot}}:dismiss", Changes.dismiss_answer, "operate", refused=STEP, says=SAYS),
    Operation(f"DELETE {_ID}/requests/{{slot}}", Changes.remove_request, "operate", refused=STEP, says=SAYS),
    Operation("GET /changes/{domain}/policies", ChangePolicies.list, "observe", "policies").at_terminal(
        "change policy ls",
        "List the policies of a domain.",
        columns="name required rejections needs timeout reviewers version",
    ),
    Operation(
        "PUT /changes/{domain}/policies/{name}",
        ChangePolicies.set,
        "operate",
        "policies",
        create=True,
        required=("required",),
    ).at_terminal(
        "change policy set NAME",
        "Store a policy as a whole: what is not given has its default. The domain is created if it does not exist.\n\n"
        "A change keeps the policy that it was submitted with, whatever happens to the policy later. Tasks go to the "
        "queue of adeq change configure --follow-queue.",
        text="{status} {name}@{version}",
    ),
    Operation(
        "DELETE /changes/{domain}/policies/{name}", ChangePolicies.remove, "operate", "policies", refused=MISSING
    ).at_terminal(
        "change policy rm POLICY...",
        "Remove policies. Changes that were submitted with them keep their copy.",
        good="removed",
        fails="there is no such policy",
    ),
    Operation(
        "GET /changes/{domain}/users/{user}/delegations",
        ChangeDelegations.list,
        "observe",
        "delegations",
        by_user="own",
        person="user",
    ).at_terminal(
        "change delegation ls",
        "List the delegations of a person.",
        columns="name to start until types tags resources risk_above risk_below cascade active",
        text="Others answer {away} open requests of {user}",
    ),
    Operation(
        "PUT /changes/{domain}/users/{user}/delegations/{name}",
        ChangeDelegations.set,
        "review",
        "delegations",
        refused=STEP,
        says={
            "cycle": "this person delegates to {user}, directly or through others; name another person",
            "full": "{user} has 16 delegations, which is the most; remove one",
        },
        create=True,
        by_user="own",
        person="user",
    ).at_terminal(
        "change delegation set NAME",
        "Store a delegation as a whole. Open requests move at once, and move back when it ends.\n\n"
        "Of several that fit a change, the first by name decides. WHEN is a span of time from now, such as 14d, an ISO "
        "8601 time with a zone, or seconds since the epoch.",
        good="stored same",
        text="{status} {name}: {to} answers for {user}",
    ),
    Operation(
        "DELETE /changes/{domain}/users/{user}/delegations/{name}",
        ChangeDelegations.remove,
        "review",
        "delegations",
        refused=MISSING,
        by_user="own",
        person="user",
    ).at_terminal(
        "change delegation rm DELEGATION...",
        "Remove delegations. Open requests move back.",
        good="removed",
        fails="there is no such delegation",
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
    Operation(
        "GET /changes/{domain}/policies/{name}", ChangePolicies.list, area="policies", without=("names",)
    ).at_terminal("change policy show NAME", "Show all fields of a policy."),
    Operation(
        "GET /changes/{domain}/users/{user}/delegations/{name}",
        ChangeDelegations.list,
        area="delegations",
        person="user",
    ).at_terminal("change delegation show NAME", "Show all fields of a delegation."),
)
