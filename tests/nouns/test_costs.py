"""What each path costs, answers and leaves. See costs.toml.

Costs are the commands of the script, most of its price, and the bytes of its reply. Here all of that is recorded;
test_scenarios.py compares it.
"""

import hashlib
import json
import os
import tomllib
from collections import defaultdict
from pathlib import Path
from pprint import pformat
from typing import Any

import pytest

from pyadeq._core.kernel.call import Answer, Reply, parse_reply
from tests.nouns.found import NOUNS
from tests.nouns.scenarios import SCENARIOS, AnyCall, Scenario, small
from tests.nouns.script_bench import Bench, Dump, MakeAny
from tests.nouns.watched import Refused

pytestmark = pytest.mark.any_engine

FILE = Path(__file__).with_name("costs.toml")
HEADING = """\
# How many commands (redis.call) the script of a call sends, and how many bytes its reply has in RESP2, by path; n is
# the number of items, where there are any. Commands are most of what a script costs the server, and replies of what it
# costs the wire and the client. A rise needs a reason in the same commit; a fall is welcome. Of a page of a scan, which
# is not all there is, the reply counts up to the cursor: which entries it has, depends on the hash seed of the server.
# Each path has its answer, too: its status, then those of entries of lists. Small ones have the digest of their effect:
# of the whole answer, of all that the queue or its like then holds, of the times to live set and of what was published.
# If only a digest has changed, the test prints what it is of. To see what it was, run the test on the last commit.
# After a change: ADEQ_UPDATE_COSTS=1 python -m pytest tests/nouns/test_costs.py; or of a noun or a script: =queue.ack

"""
LASTING = {b"PEXPIRE", b"EXPIRE", b"PEXPIREAT", b"PERSIST", b"SPUBLISH", b"PUBLISH"}  # no dump shows what they do
HASHED = {"overview: of more than 200 lanes", "stats: of more than 1000 lanes"}  # which ones, the server's seed decides
WITH_EFFECT = {scenario.name for scenario in small("test")} - HASHED
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
                reply = watched_reply(bench, scenario(bench))
                found[path][scenario.name] = found_of(scenario, bench, reply, bench.dump(stamps=False))
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


def check_costs(scenario: Scenario, bench: Bench, reply: Reply | str, state: Dump) -> None:
    """The call that was just watched costs, answers and leaves what is recorded."""
    found, recorded = found_of(scenario, bench, reply, state), RECORDED.get(scenario.name)
    assert recorded is not None, "see the top of costs.toml"
    if {**found, "effect": ""} == {**recorded, "effect": ""} and found != recorded:
        pytest.fail(f"another effect; see the top of costs.toml:\n{pformat(effect(bench, reply, state), width=120)}")
    assert found == recorded, "see the top of costs.toml"


def found_of(scenario: Scenario, bench: Bench, reply: Reply | str, state: Dump) -> dict[str, Any]:
    """Also what the call is answered: its status, and those of the entries of lists; and its effect."""
    words = (
        reply.split(" ", 1)[:1] if isinstance(reply, str) else statuses(parse_reply(bench.watched.last.script, reply))
    )
    found = {**costs(bench, reply), "answer": " ".join(words)}
    if scenario.name in WITH_EFFECT and not is_part(bench, reply):
        text = pformat(effect(bench, reply, state), width=120)
        found["effect"] = hashlib.sha256(text.encode()).hexdigest()[:8]
    return found


def effect(bench: Bench, reply: Reply | str, state: Dump) -> dict[str, Any]:
    """All that the last call changed for anyone, without the name of the test. state: what the bench holds after it."""
    answer = reply if isinstance(reply, str) else parse_reply(bench.watched.last.script, reply)  # pairs in no order
    lasting = sorted(words for words in bench.watched.last.commands if words[0] in LASTING)
    found = {"answer": answer, "lasting": lasting, "state": state}
    return {what: nameless(bench, value) for what, value in found.items()}


def statuses(answer: Answer) -> list[str]:
    lists = [one for one in answer.fields.values() if isinstance(one, list)]
    entries = [status for one in lists for entry in one if isinstance(entry, Answer) for status in statuses(entry)]
    return [answer.status, *dict.fromkeys(entries)]


def costs(bench: Bench, reply: Reply | str) -> dict[str, int]:
    commands = bench.watched.last.commands
    if isinstance(reply, str):
        return {"commands": len(commands), "reply": 0}
    return {"commands": len(commands), "reply": size(reply[:2] if is_part(bench, reply) else nameless(bench, reply))}


def is_part(bench: Bench, reply: Reply | str) -> bool:
    """Whether it is a page of a scan, which is not all there is."""
    scanned = [words[2] for words in bench.watched.last.commands if words[0] in (b"HSCAN", b"ZSCAN")]
    return bool(scanned and not isinstance(reply, str) and (scanned != [b"0"] or reply[2] != b""))


def nameless(bench: Bench, reply: Any) -> Any:
    """Without the name of the base, which is that of a test."""
    if isinstance(reply, list | tuple):
        return [nameless(bench, one) for one in reply]
    if isinstance(reply, dict):
        return {name: nameless(bench, value) for name, value in reply.items()}
    if isinstance(reply, Answer):
        return [reply.status, nameless(bench, reply.fields)]
    if isinstance(reply, str):
        return reply.replace(bench.domain, "")
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
