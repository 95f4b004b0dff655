"""Webhooks and posts: endpoints that get nothing, and a service that does not forward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from pyadeq import Adeq
from pyadeq.ext.operate.doctor.events import Read
from pyadeq.ext.operate.doctor.report import Finding, ok, warn
from pyadeq.ext.outgoing.follower import HOLD, STUCK, Stuck
from pyadeq.ext.outgoing.patterns import WEBHOOKS
from pyadeq.ext.outgoing.posts import Posts
from pyadeq.ext.outgoing.posts.endpoints import NAMESPACE, QUEUE
from pyadeq.ext.outgoing.posts.forwarder import GROUP as POSTS
from pyadeq.ext.outgoing.stamps import UNVERIFIED
from pyadeq.ext.outgoing.times import server_time
from pyadeq.ext.outgoing.webhooks import Endpoint
from pyadeq.ext.outgoing.webhooks.endpoints import Failing
from pyadeq.ext.outgoing.webhooks.forwarder import GROUP

BEHIND: Final = 600.0  # seconds that an event may wait to be forwarded


RECENT: Final = 3 * HOLD  # seconds: a service that cannot forward says so in this time
NEVER_WANTED: Final = ("removed", "unwanted")
"""Reasons of dead posts that nobody misses."""


class PostFacts(NamedTuple):
    """What the check of posts needs.

    endpoints: how many. dead: how many posts. stuck: why events are not forwarded. refused: how many tasks were not
    made by the service.
    """

    endpoints: int
    dead: int
    stuck: Stuck | None
    refused: int


def check(
    endpoints: Mapping[str, tuple[Endpoint, Failing | None, int]],
    reads: Sequence[Read],
    stuck: Stuck | None = None,
    *,
    refused: int = 0,
) -> Finding:
    """Does each endpoint get its messages? refused: tasks that were not made by the service."""
    if refused:
        return _refused(refused, WEBHOOKS)
    for id, (endpoint, failing, _) in endpoints.items():
        if endpoint.enabled and failing and failing.reason == "secret":
            return warn(
                f"endpoint {id}: the service cannot read its secret",
                "Its messages are not sent. They are dead after ten attempts.",
                "give the service the variable, the file or the codec",
                f"adeq webhook show {id}",
            )
    if behind := _forwarded(GROUP, "adeq webhook run", reads, stuck):
        return behind
    for id, (endpoint, failing, _) in endpoints.items():
        if endpoint.enabled and failing:
            return warn(
                f"endpoint {id} fails: {failing.reason}",
                "If nothing is delivered for five days, it is disabled.",
                f"adeq webhook show {id}",
            )
    for id, (endpoint, _, _) in endpoints.items():
        if not endpoint.enabled:
            return warn(
                f"endpoint {id} is disabled: {endpoint.disabled_for}",
                "Nothing is sent to it.",
                f"adeq webhook enable {id}, and replay what it has missed; or adeq webhook rm {id}",
            )
    return ok(_count(len(endpoints), "endpoint"))


def check_posts(facts: PostFacts, reads: Sequence[Read]) -> Finding:
    """Does each endpoint get its posts?"""
    if facts.refused:
        return _refused(facts.refused, QUEUE)
    if behind := _forwarded(POSTS, "adeq post run", reads, facts.stuck):
        return behind
    if facts.dead:
        return warn(
            f"{_count(facts.dead, 'post')} could not be sent",
            "People have not learned of what they say.",
            f"adeq dead ls {QUEUE}",
            f"adeq dead retry {QUEUE} --all, or: adeq dead abandon {QUEUE} --all",
        )
    return ok(_count(facts.endpoints, "endpoint"))


def post_facts(adeq: Adeq) -> PostFacts:
    """Ask the server for the facts about posts."""
    groups = adeq.queue(QUEUE).dead.summary().groups
    dead = sum(one.count for one in groups if one.reason not in NEVER_WANTED)
    return PostFacts(len(Posts(adeq).list()), dead, stuck_in(adeq, NAMESPACE), refused_in(adeq, QUEUE))


def refused_in(adeq: Adeq, queue: str) -> int:
    """How many dead tasks of a queue of messages were not made by its service."""
    return sum(one.count for one in adeq.queue(queue).dead.summary().groups if one.reason == UNVERIFIED)


def stuck_in(adeq: Adeq, namespace: str) -> Stuck | None:
    """Why the service with this config has not forwarded events lately; None if it has."""
    stuck = Stuck.read(adeq.config(namespace).get(STUCK))
    return stuck if stuck and server_time(adeq) - stuck.at < RECENT else None


def _refused(number: int, queue: str) -> Finding:
    return warn(
        f"{_count(number, 'task')} of {queue} have not been made by the service",
        "They were not sent. Somebody has tried to forge messages, or they are of an older version of pyadeq.",
        f"adeq dead ls {queue}; the source of a task says who has enqueued it",
        f"adeq dead abandon {queue} --all",
    )


def _forwarded(name: str, command: str, reads: Sequence[Read], stuck: Stuck | None) -> Finding | None:
    """What is wrong with forwarding events. name: of the group, and of what is sent."""
    if stuck:
        return warn(
            f"{name}: events of {stuck.stream} cannot be forwarded: {stuck.error}"
            if stuck.stream
            else f"{name}: streams and endpoints cannot be read: {stuck.error}",
            "The service tries it again, at least once a minute.",
            f"look at the log of {command}; all processes should have the same version of pyadeq",
        )
    for stream, group, age in reads:
        if group.name == name and age > BEHIND:
            return warn(
                f"events of {stream} have waited {age / 60:,.0f} min to be forwarded to {name}",
                "Receivers learn of them too late, or not at all if they are deleted before.",
                f"start a service, or more of them: {command}",
            )
    return None


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
