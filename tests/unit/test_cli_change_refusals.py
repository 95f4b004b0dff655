"""Each answer of the scripts of changes that is no success has words for people."""

from typing import Any

import pytest

from pyadeq import library
from pyadeq.ext.cli.change.refusals import NEXT, NOT_ELIGIBLE, REFUSALS

OTHERS = {"outdated", "state", "not_eligible", "closed"}  # with words of their own
NEVER_SEEN = {"later"}  # `changes.respond` sends such an item again
DONE = {
    *(
        "ok",
        "created",
        "revised",
        "edited",
        "unchanged",
        "recorded",
        "commented",
        "same",
        "begun",
        "renewed",
        "confirmed",
        "raised",
        "kept",
    ),
    *("draft", "submitted", "reviewing", "approved", "rejected", "completed", "failed", "cancelled", "cancelling"),
    *("stored", "removed", "unknown", "found", "not_kept", "request", "entry", "follow", "timed_out"),
}
SCRIPTS = [script for script in library().manifest["scripts"] if script["noun"] == "change"]
ANSWERS = [
    (script["id"], answer)
    for script in SCRIPTS
    for answers in (script["returns"], *script.get("shapes", {}).values())
    for answer in answers
]


@pytest.mark.parametrize(("script", "answer"), ANSWERS, ids=[f"{id}-{one['status']}" for id, one in ANSWERS])
def test_a_refusal_has_words(script: str, answer: dict[str, Any]) -> None:
    status = answer["status"]
    assert status in REFUSALS.keys() | OTHERS | NEVER_SEEN | DONE, script
    names = {field["name"].removesuffix("_ms") for field in answer["fields"]} | {"id", "who", "domain", "d"}
    if status in REFUSALS and not script.startswith("change.set_delegations."):
        REFUSALS[status].format(**dict.fromkeys(names, ""))
    for field in answer["fields"]:
        if status in OTHERS and field["name"] == "state":
            assert NEXT.keys() >= {*field["values"]}
        if status == "not_eligible" and field["name"] == "reason":
            assert NOT_ELIGIBLE.keys() == {*field["values"]}
