"""Runs each step on the real scripts and on the oracle, and compares answers, stores and events."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import redis

from pyadeq.errors import AdeqError
from tests.audit import audit
from tests.property.locks.checks import check_edges, check_state, stored
from tests.property.locks.history import Author, Step
from tests.property.locks.link import Link, Plain, Scripts, Store
from tests.property.locks.oracle import SWEEP
from tests.property.locks.oracle_verbs import Oracle

HOUR = 3_600_000
COUNTED = {"reap", "remove", "detect"}  # say what this very call has done
NOTICED = AssertionError, AdeqError, redis.ResponseError, LookupError, ValueError
bases = itertools.count()


class Last(NamedTuple):
    step: Step
    clock: int
    answer: Plain
    store: Store
    settled: bool  # it did what it was asked for, and nothing by the way


class Driver:
    """A domain with a test clock."""

    def __init__(self, client: redis.Redis, base: str, scripts: Scripts) -> None:
        self.link, self.oracle = Link(client, base, scripts), Oracle()
        self.last: Last | None = None

    def do(self, step: Step) -> Plain | None:
        oracle, last = self.oracle, self.last
        if step.verb == "clock":
            oracle.clock = max(1, oracle.clock + step.args["ms"])
            return None
        if step.verb == "edges":
            answer, *_ = self.link.send(step.verb, step.args, oracle.clock)
            check_edges(oracle, answer)
            return answer
        while len(oracle.coming_due()) > SWEEP and step.verb != "reap":
            self.do(Step("reap", {"limit": 1000}))
        at_once = step.again and last and last.step[:2] == step[:2] and last.clock == oracle.clock
        settled = step.verb not in COUNTED and not oracle.house_to_keep()
        excused = bool(oracle.picture().stuck()) and step.verb != "detect"
        answer, store, events = self.link.send(step.verb, step.args, oracle.clock)
        before = len(oracle.events)
        expected = oracle.call(step.verb, step.args, answer, store)
        assert answer == expected, f"answered {answer}, but the oracle says {expected}"
        assert store == (right := stored(oracle, store)), difference(store, right)
        check_state(oracle, store, excused)
        told = sorted((event["event"], event["id"]) for event in events)
        assert told == sorted(oracle.events[before:]), f"told {told}, but the oracle {oracle.events[before:]}"
        if at_once and last and settled and last.settled:
            assert answer == last.answer, f"answered {last.answer}, but {answer} when it came again"
            assert store == last.store, f"coming again it changed {difference(store, last.store)}"
        self.last = Last(step, oracle.clock, answer, store, settled)
        return answer

    def wind_up(self) -> None:
        """Nothing is left of a domain where nobody asks any more."""
        assert not (found := audit(self.link.client, self.link.base, self.link.names())), f"the audit says {found}"
        for empty in (("graph", "deadlines", "unchecked"), ("requests", "ended", "rates")):
            self.do(Step("clock", {"ms": HOUR}))
            self.do(Step("reap", {"limit": 1000}))
            left = {name: found for name in empty if (found := getattr(self.last.store, name))} if self.last else {}
            assert not left, f"left in the end: {left}"

    def close(self) -> None:
        self.link.close()


def difference(store: Store, right: Store) -> str:
    lines = ["the store differs:"]
    for name, found, wanted in zip(Store._fields, store, right, strict=True):
        for field in sorted(found.keys() | wanted.keys()):
            if found.get(field) != wanted.get(field):
                lines.append(f"  {name} {field}: {found.get(field)!r}, right would be {wanted.get(field)!r}")
    return "\n".join(lines)


def write_history(client: redis.Redis, scripts: Scripts, seed: int, steps: int) -> tuple[list[Step], Exception | None]:
    """A new history, as far as it went well, and what went wrong with its last step."""
    driver = new_driver(client, scripts)
    author = Author(seed, driver.oracle)
    done: list[Step] = []
    try:
        for step in author.opening():
            done.append(step)
            driver.do(step)
        for _ in range(steps):
            done.append(author.next())
            driver.do(done[-1])
        driver.wind_up()
    except NOTICED as error:
        return done, error
    finally:
        driver.close()
    return done, None


def replay(client: redis.Redis, scripts: Scripts, steps: list[Step]) -> Exception | None:
    driver = new_driver(client, scripts)
    try:
        for step in steps:
            driver.do(step)
        driver.wind_up()
    except NOTICED as error:
        return error
    finally:
        driver.close()
    return None


def new_driver(client: redis.Redis, scripts: Scripts) -> Driver:
    return Driver(client, f"ade:{{lock:history-{next(bases)}}}", scripts)


def shrink(client: redis.Redis, scripts: Scripts, steps: list[Step], error: Exception, tries: int = 600) -> list[Step]:
    """Leave out what is not needed for that kind of mistake, many steps at first, single ones at last."""

    def kind(error: Exception | None) -> list[str]:
        return [type(error).__name__, *str(error).split(" ")[:2]]

    size = len(steps) // 2
    while size and tries > 0:
        at = 1
        while at < len(steps) and tries > 0:
            fewer = steps[:at] + steps[at + size :]
            tries -= 1
            if kind(replay(client, scripts, fewer)) == kind(error):
                steps = fewer
            else:
                at += size
        size //= 2
    return steps
