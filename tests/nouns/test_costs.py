"""What each path costs: the commands of its script, most of its price, and the bytes of its reply. See costs.toml.

Here the costs are recorded; test_scenarios.py compares them.
"""

import json
import os
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from pyadeq._core.kernel.call import Answer, Reply, parse_reply
from tests.nouns.found import NOUNS
from tests.nouns.scenarios import SCENARIOS, AnyCall, Scenario
from tests.nouns.script_bench import Bench, MakeAny
from tests.nouns.watched import Refused

pytestmark = pytest.mark.any_engine

FILE = Path(__file__).with_name("costs.toml")
HEADING = """\
# How many commands (redis.call) the script of a call sends, and how many bytes its reply has in RESP2, by path; n is
# the number of items, where there are any. Commands are most of what a script costs the server, and replies of what it
# costs the wire and the client. A rise needs a reason in the same commit; a fall is welcome. Of a page of a scan, which
# is not all there is, the reply counts up to the cursor: which entries it has, depends on the hash seed of the server.
# Each path has its answer, too: its status, then those of entries of lists.
# After a change: ADEQ_UPDATE_COSTS=1 python -m pytest tests/nouns/test_costs.py; or of a noun or a script: =queue.ack

"""
UPDATE = os.environ.get("ADEQ_UPDATE_COSTS", "")  # 1, a noun, or a script: `queue.cancel`
FILES: dict[str, Path] = {noun: FILE.parent / f"{noun}/costs.toml" for noun in NOUNS}
RECORDED: dict[str, dict[str, Any]] = {}
for path in () if UPDATE else (FILE, *FILES.values()):
    RECORDED |= tomllib.loads(path.read_text()) if path.exists() else {}


if UPDATE:

    def test_record_the_costs(make_any: MakeAny) -> None:
        found: dict[Path, dict[str, Any]] = defaultdict(dict)
        for scenario in SCENARIOS:
            path = FILES.get(scenario.noun, FILE)
            if UPDATE in ("1", scenario.noun, f"{scenario.noun}.{scenario.verb}"):
                bench = make_any(scenario.noun, scenario.clock)
                found[path][scenario.name] = found_of(bench, watched_reply(bench, scenario(bench)))
                bench.remove()
        names = {scenario.name for scenario in SCENARIOS}
        for path, own in found.items():
            old = tomllib.loads(path.read_text()) if path.exists() else {}
            entries = sorted((name, cost) for name, cost in (old | own).items() if name in names)
            path.write_text(HEADING + "".join(map(line, entries)))


def line(entry: tuple[str, dict[str, Any]]) -> str:
    cost = ", ".join(f"{what} = {json.dumps(n)}" for what, n in entry[1].items())
    return f'"{entry[0]}" = {{ {cost} }}\n'


def watched_reply(bench: Bench, call: AnyCall) -> Reply | str:
    """What the script answers under watch; the text, if that is an error."""
    try:
        return bench.watched.call(call)
    except Refused as refused:
        return str(refused)


def check_costs(scenario: Scenario, bench: Bench, reply: Reply | str) -> None:
    """The call that was just watched costs what is recorded."""
    found, recorded = found_of(bench, reply), RECORDED.get(scenario.name)
    assert recorded is not None, "see the top of costs.toml"
    assert found == recorded, "see the top of costs.toml"


def found_of(bench: Bench, reply: Reply | str) -> dict[str, Any]:
    """Also what the call is answered: its status, and those of the entries of lists."""
    words = (
        reply.split(" ", 1)[:1] if isinstance(reply, str) else statuses(parse_reply(bench.watched.last.script, reply))
    )
    return {**costs(bench, reply), "answer": " ".join(words)}


def statuses(answer: Answer) -> list[str]:
    lists = [one for one in answer.fields.values() if isinstance(one, list)]
    entries = [status for one in lists for entry in one if isinstance(entry, Answer) for status in statuses(entry)]
    return [answer.status, *dict.fromkeys(entries)]


def costs(bench: Bench, reply: Reply | str) -> dict[str, int]:
    commands = bench.watched.last.commands
    if isinstance(reply, str):
        return {"commands": len(commands), "reply": 0}
    scanned = [words[2] for words in commands if words[0] in (b"HSCAN", b"ZSCAN")]
    is_part = scanned and (scanned != [b"0"] or reply[2] != b"")
    return {"commands": len(commands), "reply": size(reply[:2] if is_part else nameless(bench, reply))}


def nameless(bench: Bench, reply: Any) -> Any:
    """Without the name of the base, which is that of a test."""
    if isinstance(reply, list):
        return [nameless(bench, one) for one in reply]
    return reply.replace(bench.domain.encode(), b"") if isinstance(reply, bytes) else reply


def size(reply: Any) -> int:
    """Its bytes on the wire, where its integers are those of a script."""
    match reply:
        case list():
            return len(b"*%d\r\n" % len(reply)) + sum(map(size, reply))
        case int():
            return len(b":%d\r\n" % reply)
        case bytes():
            return len(b"$%d\r\n" % len(reply)) + len(reply) + 2
    raise TypeError(f"{type(reply).__name__} in a reply")


def test_every_recorded_path_exists() -> None:
    assert RECORDED.keys() <= {scenario.name for scenario in SCENARIOS}


@pytest.mark.parametrize(
    ("reply", "expected"), [([], 4), ([b"ok", 1, [b"a"]], 4 + 8 + 4 + 4 + 7), (b"x" * 10, 17), (-12, 6)]
)
def test_the_size_of_a_reply(reply: Any, expected: int) -> None:
    assert size(reply) == expected
