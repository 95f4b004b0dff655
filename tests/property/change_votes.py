"""Two rules of votes that no history may break. They look only at the calls that were made, and at what `get` answers.

- No person stands behind two counted votes of a round: by an own vote, that of a delegate or an agent, or as the agent.
- A vote counts only while its delegation holds at that moment: its time, and its conditions against this revision.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from tests.property.change_records import Answer

Request = Mapping[str, str]
ANSWERED = ("approved", "rejected", "changes_requested", "abstained")


class Handed(NamedTuple):
    """A request that a person, or the agent of a person, has delegated by hand."""

    giver: str
    to: str
    person: str


class VoteRules:
    def __init__(self) -> None:
        self.stored: dict[str, dict[str, Mapping[str, Any]]] = {}  # delegations by person and name
        self.handed: dict[tuple[str, int], list[Handed]] = {}  # by change and slot
        self.stored_for: dict[tuple[str, int], set[str]] = {}  # by stored delegations, as they were at the answer

    def note(self, verb: str, answer: Answer, arguments: Mapping[str, Any]) -> None:
        """A call that was answered for the first time."""
        status, told = answer
        match verb, status:
            case "set_delegations", "ok":
                own = self.stored.setdefault(arguments["user"], {})
                for one, (what, _) in zip(arguments["item"], told["items"], strict=True):
                    if what == "stored":
                        own[one["name"]] = {**one, "for": arguments.get("principal")}
                    elif what == "removed":
                        del own[one["name"]]
            case "delegate", "ok" if arguments.get("to"):
                person = arguments.get("principal") or arguments["actor"]
                handed = Handed(arguments["actor"], arguments["to"], person)
                self.handed.setdefault((arguments["id"], told["slot"]), []).append(handed)
            case "reassign", "ok" if arguments["operation"] in ("remove", "move"):
                self.handed.pop((arguments["id"], told["slot"]), None)
            case "submit", "submitted" | "reviewing" | "approved":
                for one in [one for one in self.handed if one[0] == arguments["id"]]:
                    del self.handed[one]

    def check(self, id: str, before: Mapping[str, Any] | None, found: Mapping[str, Any], now: int) -> None:
        """Check what one call has made of a change."""
        change = found["change"]
        requests = {one["slot"]: one["request"] for _, one in found["requests"]}
        known = {one["slot"]: one["request"] for _, one in before["requests"]} if before else {}
        votes = {slot: one for slot, one in requests.items() if one["status"] in ANSWERED}
        for slot, one in votes.items():
            if one["responded_ms"] == str(now) and _vote(one) != _vote(known.get(slot, {})):
                persons = self.stored_for[id, slot] = set()
                for giver, to in _links(one):
                    handed = any((it.giver, it.to) == (giver, to) for it in self.handed.get((id, slot), ()))
                    holding = list(self._holding(giver, to, change, now))
                    if not handed and len({it["for"] for it in holding}) == 1:
                        persons |= {holding[0]["for"]} - {None}
                    assert handed or holding, (
                        f"{id}/{slot}: the vote of {one['reviewed_by']} counts, but no delegation of {giver} to {to}"
                        f" holds: {self.stored.get(giver)}, {change}"
                    )
        behind = {slot: self._behind(id, slot, one) for slot, one in votes.items()}
        for one, other in combinations(behind, 2):
            both = behind[one] & behind[other]
            assert not both, f"{id}: {sorted(both)} are behind the votes of the slots {one} and {other}: {votes}"

    def _behind(self, id: str, slot: int, vote: Request) -> set[str]:
        links = list(_links(vote))
        # It may have come back before, so the last time counts.
        last = {(one.giver, one.to): one.person for one in self.handed.get((id, slot), ())}
        agents = {last[link] for link in links if link in last} | self.stored_for.get((id, slot), set())
        return {vote["principal"], vote["reviewed_by"], *(giver for giver, _ in links), *agents}

    def _holding(self, giver: str, to: str, change: Request, now: int) -> Iterator[Mapping[str, Any]]:
        for one in self.stored.get(giver, {}).values():
            begun, until = one.get("from_ms", 0) <= now, one.get("until_ms", now + 1) > now
            if one["to"] == to and not one.get("inactive") and begun and until and _fits(change, one):
                yield one


def _vote(one: Request) -> Sequence[str | None]:
    return [one.get(name) for name in ("status", "reviewed_by", "responded_ms", "round")]


def _links(one: Request) -> Iterator[tuple[str, str]]:
    """Who has delegated it to whom."""
    chain = [name for name in one.get("delegation_chain", "").split(",") if name]
    if chain:
        yield from zip(chain, [*chain[1:], one["delegated_to"].removeprefix("user:")], strict=True)


def _fits(change: Request, one: Mapping[str, Any]) -> bool:
    """Whether a change meets the conditions of a delegation."""
    above, below = one.get("risk_above"), one.get("risk_below")
    if above is not None or below is not None:
        if change.get("risk_rev") != change["rev"]:
            return False
        score = int(change["risk_score"])
        if (above is not None and score <= above) or (below is not None and score >= below):
            return False
    names = {"types": "type", "tags": "tags", "resources": "resources"}
    return all(set(one[many]) & set(change.get(name, "").split(",")) for many, name in names.items() if many in one)
