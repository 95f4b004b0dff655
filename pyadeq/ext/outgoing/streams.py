"""Finds the events and tasks of a stream, which is named `<noun>:<name>` or `<noun>:<name>/<partition>`."""

from __future__ import annotations

from pyadeq.asyncio import Adeq, Events, Queue


def events_of(adeq: Adeq, stream: str) -> Events:
    """Return the events of a stream."""
    noun, _, name = stream.partition(":")
    return adeq.events(noun, name)


def queue_of(adeq: Adeq, name: str) -> Queue:
    """Return a queue, or one partition `<name>/<tag>`."""
    own, _, tag = name.partition("/")
    return adeq.partitioned(own).part(tag) if tag else adeq.queue(own)
