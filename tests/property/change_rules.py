"""The rules of changes that no history may break. They are read from the server's answers, without the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tests.property.change_records import CONTENT, digest_of

Found = Mapping[str, Any]  # what `get` answers of a change
FINAL = ("change.completed", "change.failed", "change.cancelled")


def check_change(before: Found | None, found: Found, contributors: Collection[str]) -> None:
    """Check what one call has made of a change."""
    known = len(before["log"]) if before else 0
    log = [entry["entry"] for _, entry in found["log"]]
    requests = [request["request"] for _, request in found["requests"]]
    for entry in log[known:]:
        if entry["event"] == "change.approved":
            check_approval(entry, found["change"], requests, contributors)
    check_rounds(log)
    check_asked(log)
    check_runs(log)
    check_chains(found["change"], requests)
    overridden = any(entry["event"] == "change.overridden" for entry in log)
    assert overridden == ("overridden_rev" in found["change"]), (
        "an override is visible for ever, and nothing else is one"
    )


def check_approval(
    entry: Mapping[str, str], change: Mapping[str, str], requests: Sequence[Mapping[str, str]], writers: Collection[str]
) -> None:
    """Enough different principals have approved this revision in this round, and none has written it."""
    if change["state"] != "approved" or change["round"] != entry["round"]:
        return  # it went on in the same call
    if entry["by"].startswith("override:"):
        assert change["overridden_rev"] == change["rev"]
        return
    if entry["by"].startswith("policy:"):
        limit = "p_timeout_approve_below" if entry["reason"] == "timeout" else "p_auto_below"
        assert change["risk_rev"] == change["rev"], "the risk of this revision is known"
        assert int(change["risk_score"]) < int(change[limit])
        assert entry["reason"] != "timeout" or change["p_on_timeout"] == "approve"
        assert all(one["status"] != "changes_requested" for one in requests)
        denied = set(change["p_deny_tags"].split(",")) & set(change["tags"].split(",")) - {""}
        assert not denied, f"the tags {denied} forbid it"
        return
    this = change["round"], change["rev"], change["digest"]
    votes = [one for one in requests if one["status"] == "approved"]
    assert all((one["round"], one["rev"], one["digest"]) == this for one in votes), (
        "each vote is for this revision and round"
    )
    people = {one["principal"] for one in votes}
    assert len(people) == len(votes) >= int(change["p_required"]), "each from another person, and enough"
    if change["p_contributors_may_vote"] == "0":
        for one in votes:
            chain = one.get("delegation_chain", "").split(",")
            assert not {one["principal"], one["reviewed_by"], *chain} & set(writers), f"{one} is a contributor's"


def check_rounds(log: Sequence[Mapping[str, str]]) -> None:
    """A decided round is not decided again."""
    decided = Counter(one["round"] for one in log if one["event"] in ("change.approved", "change.rejected"))
    assert all(count == 1 for count in decided.values()), f"rounds were decided more than once: {decided}"


def check_asked(log: Sequence[Mapping[str, str]]) -> None:
    """Once people are asked, no policy approves by its own, but after a timeout."""
    asked = False
    for entry in log:
        if entry["event"] in ("change.submitted", "change.reviewing"):
            asked = entry["event"] == "change.reviewing"
        if entry["event"] == "change.approved" and entry["by"].startswith("policy:"):
            assert not asked or entry["reason"] == "timeout", "people had been asked"


def check_runs(log: Sequence[Mapping[str, str]]) -> None:
    """What is applied is approved, by one applier at a time; and what has ended is not begun again."""
    approved: tuple[str, str] | None = None  # rev and round
    running = False
    for entry in log:
        event = entry["event"]
        if event == "change.approved":
            assert not running
            approved = entry["rev"], entry["round"]
        elif event == "change.applying":
            assert not running, "two appliers hold it"
            assert approved == (entry["rev"], entry["round"]), "this revision is approved in this round"
            running = True
        elif event in FINAL or event == "change.released":
            running = False
            approved = approved if event == "change.released" else None
        elif event in ("change.outdated", "change.withdrawn", "change.revised", "change.rejected", "change.answered"):
            assert not running, f"{event} while it is applied"
            approved = approved if event == "change.answered" else None


def check_chains(change: Mapping[str, str], requests: Sequence[Mapping[str, str]]) -> None:
    """No delegation is circular or too long."""
    for one in requests:
        chain = [name for name in one.get("delegation_chain", "").split(",") if name]
        assert len(chain) <= int(change.get("p_delegation_depth", 0))
        assert len({*chain, one.get("delegated_to", "").removeprefix("user:")}) == len(chain) + 1, f"{one} goes round"


def check_begun(answer: Mapping[str, Any], digest: str) -> None:
    """What is applied has the digest that was approved."""
    content: dict[str, Any] = {name: answer["content"][name] for name in CONTENT}
    content["resources"] = [one for one in content["resources"].split(",") if one]
    assert digest_of(content, answer["parameters"]) == digest
