"""What commands of changes that are made from rows need more: revisions, refusals, and the tasks of policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyadeq import Adeq, ChangeRef
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.cli.change.asking import ChangeId as ChangeId  # noqa: PLC0414  for those commands
from pyadeq.ext.cli.change.asking import ThisDomain as ThisDomain  # noqa: PLC0414
from pyadeq.ext.cli.change.asking import check_rev, read_revision
from pyadeq.ext.cli.change.listing import check_reviewer
from pyadeq.ext.cli.change.refusals import refusal
from pyadeq.keys import check_name

STEPS = ("approved", "rejected", "changes_requested", "completed", "failed", "cancelled")


def tasks_of(given: list[str] | None) -> dict[str, Any] | None:
    """`<step>=<kind>[,<lane>[,<priority>]]`, as `ChangePolicies.set` takes them."""
    found: dict[str, Any] = {}
    for text in given or ():
        step, _, rest = text.partition("=")
        kind, lane, priority, *more = [*rest.split(","), "", ""]
        step = step.replace("-", "_")
        if step not in STEPS or not kind or any(more) or not (priority or "5").isdecimal():
            allowed = f"STEP=KIND or STEP=KIND,LANE,PRIORITY; steps: {', '.join(STEPS)}"
            raise ConfigError(f"--task: {text!r} is not accepted; allowed: {allowed}")
        task = {"kind": check_name("--task", kind, "label"), "lane": lane and check_name("--task", lane, "lane")}
        found[step] = {name: one for name, one in {**task, "priority": int(priority or 5)}.items() if one != ""}
    return found or None


def reviewers_of(option: str, given: list[str] | None) -> list[str] | None:
    """Check the reviewers that an option names, and return them."""
    return given and [check_reviewer(option, one) for one in given]


def seen(facts: Mapping[str, Any], adeq: Adeq, changes: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a method whose first argument is a revision: the one that the caller names.

    A comment and a submit are about the last revision, unless the caller names one.
    """
    if facts["method"] not in ("comment", "submit"):
        check_rev(given["id"], given.get("rev"))
    change = read_revision(adeq, changes, given["id"], given.get("rev"), given.get("digest"))
    given["rev"] = change["rev"]
    rest = {name: one for name, one in given.items() if name not in ("id", "rev", "digest")}
    return {"seen": ChangeRef(given["id"], change["rev"], change["digest"]), **rest}


def refused(changes: Any, given: Mapping[str, Any], answer: Any) -> AdeqError:
    """The error for an answer that means that nothing was done: about who acts, or who is named."""
    of_target = answer.status == "not_eligible" and answer.reason in ("contributor", "answered")
    who = given["to"] if of_target and "to" in given else given["actor"]
    return refusal(changes, given["id"], answer, who, given.get("rev"))
