# Generated from lua/manifest.json and lua/lock/noun.toml by pyadeq/_settings.py; do not edit.
"""The settings of a lock domain: all of them, and those that can be changed."""

from __future__ import annotations

from typing import Literal, TypedDict

from pyadeq.models.base import Model, Seconds

LockPolicy = Literal["requester", "priority", "youngest"]


class LockSettingsChange(TypedDict, total=False):
    """The settings of a lock domain that can be changed; see LockSettings."""

    lease: Seconds
    max_ttl: Seconds
    heartbeat: Seconds
    poll: Seconds
    claim: Seconds
    waiter: Seconds
    priority_step: Seconds
    policy: LockPolicy
    rate_per_minute: int
    rate_burst: int
    detection: bool
    detect_visits: int
    mirror: bool
    events_max: int


class LockSettings(Model):
    """The settings of a lock domain. Times are in seconds. If nothing is stored, the defaults apply.

    lease: how long a lease lasts, if the request names no time.
    max_ttl: the longest time that a request may name; at least `lease`.
    heartbeat: the time between two renewals of a holder, if it is shorter than a third of its lease; at most half of
    `lease`; 0: a third of the lease.
    poll: how often a waiter polls; lower it before `claim`, because waiters learn it with their next poll.
    claim: how long a waiter may take to fetch a lock that was handed over; at least twice `poll` plus a second.
    waiter: how long a waiter may be silent; at least twice `poll` plus a second.
    priority_step: the head start for each step of priority; a change applies to new requests.
    policy: which request is ended in a deadlock.
    rate_per_minute: how often an agent may acquire locks per minute; 0: no limit.
    rate_burst: how many acquires of an agent may come at once.
    detection: whether deadlocks are detected; waits that were not searched meanwhile are searched later.
    detect_visits: the budget of the deadlock search of a new request: commands, holds and waits.
    mirror: whether each hint is also published on a plain channel of the same name, for clients that can only
    SUBSCRIBE.
    events_max: about how many events are kept; 0: none are written.
    """

    clock: Literal["server", "test"] = "server"
    layout: int = 1
    lease: float = 30.0
    max_ttl: float = 3600.0
    heartbeat: float = 0.0
    poll: float = 2.0
    claim: float = 5.0
    waiter: float = 15.0
    priority_step: float = 5.0
    policy: LockPolicy = "requester"
    rate_per_minute: int = 0
    rate_burst: int = 10
    detection: bool = True
    detect_visits: int = 1000
    mirror: bool = False
    events_max: int = 100000
