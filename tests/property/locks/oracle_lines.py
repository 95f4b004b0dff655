"""Who waits where, and who has to end for it: what the rules leave open is looked at in what was stored."""

from __future__ import annotations

from collections.abc import Sequence

from tests.property.locks.graph import Picture, is_cycle, reachable
from tests.property.locks.link import Plain
from tests.property.locks.oracle import Rules
from tests.property.locks.records import Part, Request

ROUNDS = 4  # so many may end for a request; then it has to give way itself


class Lines(Rules):
    answer: Plain  # what was told in fact
    first_fence: int  # of this call

    def told_fence(self, request: Request, part: Part) -> int:
        fence = self.store.fence(request.rid, part.resource)
        others = {one.fence for grant in self.grants for one in grant.parts if one.base != "covers"}
        assert not fence or (fence >= self.first_fence and fence not in others), f"{fence} was given out: {request}"
        return fence

    def give_way(self, request: Request) -> None:
        """Who had to end for it, and whether somebody had to."""
        tried = self.places(request)
        fine = not self.picture().stuck() and any(not one.stuck(leave=False) for one in tried)
        outcomes = [(one, *self.store.outcome(one.rid)) for one in self.line()]
        told = [(one, circle) for one, outcome, circle in outcomes if outcome == "deadlock"]
        if self.answer[0] == "deadlock":
            told.append((request, self.answer[1]["circle"]))
        for victim, circle in told:
            assert not fine, f"{victim.rid} had to end, but {request.rid} can wait"
            self.check_victim(victim, circle, request, tried)
            if victim is not request:
                self.end(victim, "deadlock", circle)
        self.hand_off()

    def places(self, request: Request) -> list[Picture]:
        """A request at every place that it could have."""
        line = [one for one in self.line() if one is not request]
        rest = Picture(self.holders(), line, self.capacity)
        return [rest.inserted(request, place) for place in range(len(line) + 1)]

    def at_own_place(self, request: Request) -> Picture:
        return self.places(request)[sum(one.order < request.order for one in self.line())]

    def check_place(self, request: Request, order: str) -> None:
        """Its own place, if nobody is in the way of that."""
        if self.free_place(request):
            last = max((one.order[14:26] for one in self.line()), default="")
            assert len(order) == 26, f"{order}: it has jumped without need"
            assert order[:14] == request.order[:14], f"{order} is not its own place, which begins with {request.order}"
            assert order[14:] > last, f"{order} comes after {last}"

    def free_place(self, request: Request) -> bool:
        return not self.picture().stuck() and not self.at_own_place(request).stuck(leave=False)

    def check_jump(self, request: Request, order: str, pictures: Sequence[Picture]) -> None:
        """It passes nobody who could be served first (decision 12). pictures: the moments when it may have jumped."""
        assert any(may_jump(request, order, picture) for picture in pictures), (
            f"{request.rid} has jumped from {request.order} to {order}, past somebody who could be served first"
        )

    def check_victim(self, victim: Request, circle: str, request: Request, tried: list[Picture]) -> None:
        assert any(is_cycle(circle, picture.edges()) for picture in tried), f"there is no such circle: {circle}"
        owners = [step.split(">")[0] for step in circle.split(" ")]
        assert {request.owner, victim.owner} <= set(owners), f"{victim.owner} or {request.owner} is not in {circle}"
        policy = self.settings["policy"]
        if policy == "requester":
            assert victim is request
        rounds = sum(self.store.outcome(one.rid)[0] == "deadlock" for one in tried[0].line)
        for one in (one for one in tried[0].line if one.owner in owners and rounds <= ROUNDS):
            assert rank(victim, policy) >= rank(one, policy), f"by {policy} {one.rid} goes, not {victim.rid}"


def may_jump(request: Request, order: str, picture: Picture) -> bool:
    """All that it passes stand behind the foremost, who would wait for it for ever if it stood directly behind."""
    line = [one for one in picture.line if one.rid != request.rid]
    passed = [one for one in line if order < one.order < request.order and queue_together(request, one)]
    if not passed:
        return True
    foremost = min(passed, key=lambda one: one.order)
    behind = Picture(picture.holders, line, picture.capacity).inserted(request, line.index(foremost) + 1)
    waits = reachable((edge.owner, edge.blocker) for edge in behind.edges())
    return request.owner in waits.get(foremost.owner, ()) and {request.rid, foremost.rid} <= behind.stuck(leave=False)


def queue_together(one: Request, other: Request) -> bool:
    """Whether both wait for the same resource."""
    wanted = {part.resource for part in other.parts if part.base != "covers"}
    return any(part.base != "covers" and part.resource in wanted for part in one.parts)


def rank(request: Request, policy: str) -> tuple[int, ...]:
    """The highest goes first."""
    match policy:
        case "priority":
            return request.priority, request.born
        case "youngest":
            return (request.born,)
    return ()
