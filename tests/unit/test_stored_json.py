"""Values that any program may have stored, as readers of JSON get them."""

import json
from base64 import b64decode
from typing import Any

import pytest

from pyadeq import TaskView, tiers
from pyadeq.models.base import MOST_LEVELS, flaw, shown_json
from pyadeq.models.worker import Outcome

DEEP = b"[" * (MOST_LEVELS + 1) + b"]" * (MOST_LEVELS + 1)
HALF, NO_NUMBER = "it has half of a surrogate pair", "which JSON does not have"


@pytest.mark.parametrize(
    ("data", "why", "value"),
    [
        (None, "", None),
        (b"", "", None),
        (b'{"a": [1, null, "\\ud83d\\ude00"]}', "", {"a": [1, None, "\N{GRINNING FACE}"]}),
        (str(2**80).encode(), "", 2**80),
        ("kein JSON: \u00fc".encode(), "", "kein JSON: \u00fc"),
        (b"\xff\xfe", "it is not UTF-8", "\ufffd\ufffd"),
        (b'"hello \\ud83d"', HALF, None),
        (b'{"\\ud83d": 1}', HALF, None),
        (b'"\xed\xa0\xbd"', HALF, None),
        (b"[[NaN]]", NO_NUMBER, None),
        (b"-1e999", NO_NUMBER, None),
        (b"9" * 400 + b".0", NO_NUMBER, None),
        (rb'["\\ud83d", "\\\"", "NaN", "1e999"]', "", [r"\ud83d", r"\"", "NaN", "1e999"]),
        (rb'["\ud83d\\\ude00"]', HALF, None),
        (rb'"\ud83d\ud83d\ude00"', HALF, None),
        (json.dumps([{"]": "[" * 300}] * 300).encode(), "", [{"]": "[" * 300}] * 300),
        (b'["]",' * (MOST_LEVELS + 1) + b"1" + b',"["]' * (MOST_LEVELS + 1), "nested deeper than 200 levels", None),
        ('["\ud83d"]'.encode("utf-16", "surrogatepass"), HALF, None),
        (DEEP[1:-1], "", json.loads(DEEP[1:-1])),
        (DEEP, "nested deeper than 200 levels", None),
        (b"[" * 100_000, "nested deeper than 200 levels", None),
    ],
)
def test_what_not_each_program_could_read_is_given_as_bytes(data: bytes | None, why: str, value: Any) -> None:
    assert why in flaw(data)
    assert bool(why) == bool(flaw(data))
    assert shown_json(data) == value
    task = TaskView.model_validate({"id": "a", "state": "completed", **dict.fromkeys(TaskView.STORED.values(), data)})
    whole = json.loads(task.model_dump_json())
    assert whole == json.loads(json.dumps(task.model_dump(mode="json"), allow_nan=False))
    for name in TaskView.STORED:
        assert whole[name] == value
        assert whole["unreadable"].get(name, "") == flaw(data)
        assert (b64decode(whole[f"{name}_base64"]) if why else whole[f"{name}_base64"]) == (data if why else None)
    outcome = Outcome(status="completed", data=data).model_dump(mode="json")
    assert (outcome["result"], outcome["unreadable"].get("result", "")) == (value, flaw(data))
    shown = tiers.shown(task.model_copy(update={"tier": "confidential"})).model_dump(mode="json")
    assert not any(shown[name] or shown[f"{name}_base64"] or shown["unreadable"] for name in TaskView.STORED)
