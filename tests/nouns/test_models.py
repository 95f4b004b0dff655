"""Random histories of the nouns in tests/nouns against their models, on a virtual clock.

A `Model` in model.py of a noun has a method for each script that it knows. It takes the arguments of the call, and
answers the status and those fields that it can tell, with times in seconds; or the code of an error, and no fields.
`model.now` is the time, in seconds. If it has `events`, these are the names of all events so far.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyadeq._core.kernel.manifest import library
from pyadeq._core.kernel.nouncalls import Result
from tests.nouns.bench import NounBench
from tests.nouns.found import NOUNS, own
from tests.nouns.script_bench import MakeAny
from tests.nouns.strategies import arguments
from tests.nouns.watched import Refused
from tests.quick import examples

STEPS = 30
PAUSES = (0, 1, 1000, 30_000, 61_000, 86_400_000)  # ms
RECENT = 60_000  # ms, for which the same rid is known
MODELS = {noun: model for noun in NOUNS if (model := own(noun, "model", "Model", None))}


@pytest.mark.parametrize("noun", MODELS)
def test_a_noun_does_what_its_model_does(noun: str, make_any: MakeAny) -> None:
    scripts = {id.split(".")[1]: library()[id] for id in library() if id.startswith(f"{noun}.")}
    verbs = sorted(verb for verb in scripts if hasattr(MODELS[noun], verb))
    assert verbs, "the model has a method for each script that it knows"

    @settings(max_examples=examples(16, 50), deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def history(data: st.DataObject) -> None:
        bench: NounBench = make_any(noun)
        model = MODELS[noun]()
        sent: list[tuple[int, Any, Result]] = []
        for number in range(data.draw(st.integers(1, STEPS))):
            bench.pass_time(data.draw(st.sampled_from(PAUSES)))
            model.now = bench.now / 1000
            again = [one for one in sent if one[0] > bench.now - RECENT]
            if again and data.draw(st.integers(0, 4)) == 4:
                _, call, answer = data.draw(st.sampled_from(again))
                assert timeless(bench.run(call)) == timeless(answer), "the same call, sent again"
                continue
            verb = data.draw(st.sampled_from(verbs))
            given = data.draw(arguments(scripts[verb]))
            with_rid = any(argument.name == "rid" for argument in scripts[verb].args)
            call = bench.call(verb, **given, **({"rid": f"r{number}"} if with_rid else {}))
            status, fields = getattr(model, verb)(**{name: one for name, one in given.items() if one is not None})
            if status.startswith("ADEQ_"):
                with pytest.raises(Refused, match=status):
                    bench.run(call)
                continue
            answer = bench.run(call)
            found = {name: answer.fields[name] for name in fields}
            assert (answer.status, rounded(found)) == (status, rounded(fields)), (verb, given)
            if with_rid:
                sent.append((bench.now, call, answer))
            bench.check()
        if hasattr(model, "events"):
            assert [one["event"].decode() for one in bench.events()] == model.events
        bench.remove()

    history()


def timeless(answer: Result) -> Result:
    return Result(answer.status, {name: one for name, one in answer.fields.items() if name != "now"})


def rounded(value: Any) -> Any:
    """With times to the millisecond: sums of seconds are not exact."""
    match value:
        case float():
            return round(value, 3)
        case dict():
            return {name: rounded(one) for name, one in value.items()}
        case list():
            return [rounded(one) for one in value]
        case Result():
            return value.status, rounded(value.fields)
    return value
