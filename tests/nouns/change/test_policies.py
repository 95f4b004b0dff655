"""Policies of changes: a domain has no more than one call can read."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from tests.nouns.change.states import watched
from tests.nouns.script_bench import MakeAny


@pytest.mark.slow
def test_a_domain_has_a_thousand_policies(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))

    def put(first: int, count: int, **fields: Any) -> Any:
        items = [{"name": f"p{number}", **fields} for number in range(first, first + count)]
        return bench.put("set_policies", item=items).items

    for first in range(0, 1000, 100):
        put(first, 100, required=1)
    with pytest.raises(redis.ResponseError, match=r"ADEQ_ARG .* 1000 policies"):
        put(999, 2, required=2)
    assert [one.status for one in put(900, 100, required=2)] == ["stored"] * 100
    assert put(999, 2, remove=True)[0].status == "removed"
    assert put(1000, 1, required=1)[0].status == "stored"
    assert len(bench.put("get_policies").items) == 1000


def test_events_name_who_has_changed_a_policy(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    for actor in {}, {"actor": "olga"}:
        bench.put("set_policies", item=[{"name": "p", "required": 1}], **actor)
        bench.put("set_policies", item=[{"name": "p", "remove": True}], **actor)
    told = [one.get("payload", b"") for one in bench.events() if one["event"].startswith(b"policy.")]
    assert told == [b"version=1", b"", b"version=2 by=olga", b"by=olga"]
