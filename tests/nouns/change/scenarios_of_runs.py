"""Paths of `begin`, `heartbeat` and `finish`."""

from __future__ import annotations

from typing import Any

from tests.lua.scenario import AnyCall, scenario
from tests.nouns.bench import NounBench
from tests.nouns.change.states import applying, approved, draft, move, submitted


def end(bench: NounBench, result: str = "success", token: str = "token", **fields: Any) -> AnyCall:
    return bench.call("finish", id="c", token=token, result=result, **fields)


@scenario(0)
def begin_to_apply(bench: NounBench, _: int) -> AnyCall:
    return bench.call("begin", agent="bot", lease=60, **approved(bench))


@scenario(0)
def begin_what_another_applies(bench: NounBench, _: int) -> AnyCall:
    return bench.call("begin", agent="bat", **applying(bench))


@scenario(0)
def begin_an_older_revision(bench: NounBench, _: int) -> AnyCall:
    return bench.call("begin", agent="bot", **{**approved(bench), "rev": 2})


@scenario(0)
def begin_a_draft(bench: NounBench, _: int) -> AnyCall:
    return bench.call("begin", agent="bot", **draft(bench))


@scenario(0)
def begin_nothing(bench: NounBench, _: int) -> AnyCall:
    return bench.call("begin", agent="bot", id="c", rev=1, digest="0" * 40)


@scenario(0)
def heartbeat_of_a_run(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    bench.pass_time(10_000)
    return bench.call("heartbeat", id="c", token="token")


@scenario(0)
def heartbeat_after_a_cancel(bench: NounBench, _: int) -> AnyCall:
    move(bench, applying(bench), "cancel")
    return bench.call("heartbeat", id="c", token="token")


@scenario(0)
def heartbeat_after_the_time_of_the_run(bench: NounBench, _: int) -> AnyCall:
    bench.put("configure", settings={"default_run": 20})
    applying(bench)
    bench.pass_time(20_000)
    return bench.call("heartbeat", id="c", token="token")


@scenario(0)
def heartbeat_of_nothing(bench: NounBench, _: int) -> AnyCall:
    return bench.call("heartbeat", id="c", token="token")


@scenario(0)
def finish_with_success(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return end(bench, printed="done", output_cut=True, output_key="s3/1")


@scenario(0)
def finish_with_a_failure(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return end(bench, "failure", error="no space", error_details="{}")


@scenario(0)
def finish_with_a_failure_and_retry(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return end(bench, "failure", retry=True)


@scenario(0)
def finish_as_cancelled(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return end(bench, "cancelled")


@scenario(0)
def finish_with_another_token(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return end(bench, token="other")


@scenario(0)
def finish_after_the_end_of_the_approval(bench: NounBench, _: int) -> AnyCall:
    applying(bench, approval=10)
    bench.pass_time(20_000)
    return end(bench, "released")


@scenario(0)
def finish_after_the_end_of_the_approval_with_a_new_risk_to_come(bench: NounBench, _: int) -> AnyCall:
    one = submitted(bench, approval=10)
    bench.put("assess", **one, actor="meter", score=10)
    bench.put("respond", actor="bob", item=[{**one, "action": "approve"}])
    bench.put("begin", rid="token", agent="bot", **one)
    bench.pass_time(20_000)
    return end(bench, "released")
