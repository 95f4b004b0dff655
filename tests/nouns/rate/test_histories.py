"""Random histories of rates against their model, on a virtual clock: rules that change, leases, repeated calls."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyadeq._core.kernel.nouncalls import Result
from tests.nouns.rate.bench import Bench
from tests.nouns.rate.model import Model
from tests.nouns.script_bench import MakeAny
from tests.nouns.test_models import rounded, timeless
from tests.quick import examples

STEPS = 40
SUBJECTS = ("a", "b")
FEW = settings(max_examples=examples(60, 400), deadline=None, suppress_health_check=list(HealthCheck))
RULES: dict[str, list[dict[str, Any]]] = {
    "even": [
        {"limit": 10, "period": 60, "burst": 3},
        {"limit": 10, "period": 60, "burst": 1},
        {"limit": 600, "period": 60, "burst": 9},
        {"limit": 7, "period": 1},
    ],
    "exact": [
        {"algorithm": "log", "limit": limit, "period": period} for limit, period in ((3, 60), (2, 60), (9, 60), (3, 1))
    ],
    "slots": [{"algorithm": "concurrency", "limit": limit, "lease": lease} for limit in (1, 2) for lease in (30, 5)],
    "quiet": [
        {"limit": 2, "period": 60, "shadow": True, "on_error": "open"},
        {"algorithm": "log", "limit": 2, "period": 60},
        {"algorithm": "concurrency", "limit": 2, "lease": 5},
        {"limit": 2, "period": 60},
    ],
}


class History:
    """Calls on the server and of the model, whose answers are compared."""

    def __init__(self, bench: Bench, data: st.DataObject) -> None:
        self.bench, self.model, self.draw = bench, Model(), data.draw
        self.sent: list[tuple[int, Any, Result]] = []
        self.rids = [f"r{number}" for number in range(6)]

    def step(self) -> None:
        self.bench.pass_time(self.draw(st.sampled_from([0, 0, 1, 700, 6000, 30_000, 61_000])))
        self.model.now = self.bench.now / 1000
        kinds = [self.hit, self.hit, self.hit, self.change, self.leases, self.adjust, self.again]
        self.draw(st.sampled_from(kinds))()
        self.bench.check()

    def hit(self) -> None:
        places = st.tuples(st.sampled_from(list(RULES)), st.sampled_from(SUBJECTS))
        hits = self.draw(st.lists(places, min_size=1, max_size=4, unique=True))
        costs = {"slots": st.integers(0, 1), "quiet": st.integers(0, 1)}
        item = [
            {"rule": rule, "subject": subject, "cost": self.draw(costs.get(rule, st.integers(0, 4)))}
            for rule, subject in hits
        ]
        if rid := self.next_rid():
            self.call("hit", rid, item=item)

    def next_rid(self) -> str | None:
        """One that no hit has had."""
        used = {call.args[0] for _, call, _ in self.sent}
        return next((rid for rid in [*self.rids, *(f"s{number}" for number in range(STEPS))] if rid not in used), None)

    def change(self) -> None:
        name = self.draw(st.sampled_from(list(RULES)))
        rule = self.draw(st.sampled_from(RULES[name]))
        sent = {f"{field}_ms" if field in ("period", "lease") else field: value for field, value in rule.items()}
        item = [{"name": name, **{field: v * 1000 if field.endswith("_ms") else v for field, v in sent.items()}}]
        self.call("set_rules", f"set{len(self.sent)}", item=item)

    def leases(self) -> None:
        """Of hits that came, and of those that will."""
        item = [
            {
                "rule": "slots",
                "subject": self.draw(st.sampled_from(SUBJECTS)),
                "lease": self.draw(st.sampled_from(self.rids)),
            }
        ]
        self.call(self.draw(st.sampled_from(["release", "renew"])), None, item=item)

    def adjust(self) -> None:
        rule, subject = self.draw(st.sampled_from(["even", "exact"])), self.draw(st.sampled_from(SUBJECTS))
        action = self.draw(st.sampled_from(["refund", "refund", "reset"]))
        item = [{"rule": rule, "subject": subject, "action": action, "cost": self.draw(st.integers(1, 4))}]
        self.call("adjust", f"adjust{len(self.sent)}", item=item)

    def again(self) -> None:
        recent = [(call, answer) for at, call, answer in self.sent if at > self.bench.now - 60_000]
        if recent:
            call, answer = self.draw(st.sampled_from(recent))
            before = self.bench.dump()
            assert timeless(self.bench.run(call)) == timeless(answer), "the same call, sent again"
            assert self.bench.dump() == before

    def call(self, verb: str, rid: str | None, **arguments: Any) -> None:
        call = self.bench.call(verb, **arguments, **({"rid": rid} if rid else {}))
        known = {"rid": rid} if verb == "hit" else {}
        status, fields = getattr(self.model, verb)(**arguments, **known)
        answer = self.bench.run(call)
        found = {name: answer.fields[name] for name in fields}
        assert (answer.status, rounded(found)) == (status, rounded(fields)), (verb, arguments)
        if rid and (verb != "hit" or status == "returned" or any(one["cost"] for one in arguments["item"])):
            self.sent.append((self.bench.now, call, answer))


@FEW
@given(data=st.data())
def test_histories_are_those_of_the_model(make_any: MakeAny, data: st.DataObject) -> None:
    bench = make_any("rate")
    history = History(bench, data)
    for _ in range(data.draw(st.integers(1, STEPS))):
        history.step()
    assert [one["event"].decode() for one in bench.events()] == history.model.events
    bench.remove()
