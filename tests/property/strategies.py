"""What the state machine draws from: few values, so that they meet."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.property.records import Answer, Backoff

LANES = ("any", "group/g", "group/g/inst/i")
WORKERS = ("w1", "w2")
STATES = ("ready", "delayed", "blocked", "running", "stalled", "completed", "cancelled", "dead")

# What tasks may have; run_after and expires are told from now.
TRAITS: list[dict[str, Any]] = [
    {"lane": "group/g"}, {"lane": "group/g/inst/i"}, {"priority": 0}, {"priority": 9}, {"payload": b"p" * 1100},
    {"delay": 1}, {"delay": 5000}, {"run_after": -1}, {"run_after": 1000}, {"run_after": 20_000},
    {"expires": 0}, {"expires": 1000}, {"expires": 5000}, {"expires": 30_000}, {"timeout": 500}, {"timeout": 5000},
    {"fallback": ("any",), "fallback_after": 0}, {"fallback": ("group/g", "any"), "fallback_after": 1000},
    {"fallback": ("group/g/inst/i",), "fallback_after": 5000}, {"fallback": ("fail",), "fallback_after": 5000},
    {"fallback": ("group/g", "any", "group/g/inst/i", "fail"), "fallback_after": 500},
    *[{"reply": True}] * 3, {"kind": "mail"}, {"user": "u1"}, {"user": "ü/2"},
    {"tags": ("x",)}, {"tags": ("x", "日本")}, {"tags": ("日本", "日本")}, {"parent": "a"}, {"parent": "p"},
    {"key": "k1"}, {"key": "k2"}, *[{"unique": "u1"}] * 3, {"unique": "u2"}, *[{"scope": "s1"}] * 2, {"scope": "s2"},
    *[{"scope": "s1", "coalesce": "last"}] * 2, {"scope": "s1", "unique": "u1"},
    *[{"order": "o1"}] * 3, {"order": "o2"},
    {"result_ttl": 0}, {"result_ttl": 5000},
    {"max_attempts": 1}, {"max_attempts": 2},
    {"backoff": Backoff(0, 1.0, 0, 0.0)}, {"backoff": Backoff(1, 1.5, 1500, 1.0)},
]  # fmt: skip
# What they have to do with others; these are told from the likeliest to end back, a parent from those that gather.
LINKS: list[dict[str, Any]] = [
    *[{}] * 8, *[{"parent": 0}] * 4, {"parent": 1}, *[{"gather": 1}] * 2, {"gather": 2},
    {"gather": 3, "after_any": True}, *[{"after": (0,)}] * 2, *[{"after": (0, 1)}] * 2, {"after": (0, 2, 99)},
    {"after": (1, 1, 3)},
    {"after": (0, 1), "after_any": True}, {"after": (1, 2, 4), "after_any": True},
    {"after": (0, 1), "after_when": "failed"}, {"after": (0, 2), "after_when": "failed", "after_any": True},
    {"after": (1, 2), "after_when": "ended"}, {"after": (0, 1), "gather": 1}, {"after": (0,), "parent": 0},
]  # fmt: skip
IDS = [*"abcdef", "1", "2", "x:y/z@+-.", None, None, None, None]  # None: an id of its own


def merged(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: value for part in parts for name, value in part.items()}


traits = st.lists(st.sampled_from(TRAITS), max_size=4).map(merged)
specs = st.tuples(st.sampled_from(IDS), st.sampled_from([b"", b"\x00\xff"]), traits, st.sampled_from(LINKS))
lane_lists = st.permutations(LANES).flatmap(lambda lanes: st.integers(1, 3).map(lambda n: lanes[:n]))
lane_lists |= st.just(["any", "group/g", "any"])
picks = st.lists(st.integers(0, 9), min_size=1, max_size=3)
few_picks = st.lists(st.integers(0, 9), max_size=2)
limits = st.sampled_from([1, 2, 3, 10])
lease_times = st.sampled_from([0, 0, 1000, 20_000])
snoozes = st.sampled_from([0, 1000, 12_000])
SETTINGS: list[dict[str, Any]] = [
    {"lease": 1000}, {"lease": 10_000}, {"max_attempts": 1}, {"max_attempts": 4},
    {"max_crashes": 1}, {"max_crashes": 2},
    {"backoff": Backoff(1000, 2.0, 1500, 0.25)}, {"backoff": Backoff(1, 1.5, 60_000, 1.0)},
    *({"finished_max": most} for most in (0, 1, 2, 5)), *({"dead_max": most} for most in (0, 1, 2, 5)),
    *({"finished_keep": keep} for keep in (0, 5000, 30_000)), *({"dead_keep": keep} for keep in (0, 5000, 61_000)),
    {"result_ttl": 0}, {"result_ttl": 10_000}, {"idempotency": 1000}, {"idempotency": 20_000},
    {"timeout": 0}, {"timeout": 3000}, {"timeout_grace": 0}, {"timeout_grace": 1000}, {"presence": 60_000},
    {"reply_ttl": 1000}, {"reply_ttl": 20_000},
]  # fmt: skip
changes = st.lists(st.sampled_from(SETTINGS), max_size=4).map(merged)
failures: st.SearchStrategy[Answer] = st.tuples(
    st.sampled_from([True, True, False]), st.sampled_from(["error", "timeout"]), st.sampled_from(["", "é"]),
    st.sampled_from([0, 123_457, 500_000, 1_000_000]),
    st.sampled_from([
        {}, {}, {}, {"delay": 0}, {"delay": 5000}, {"timeout": 1000}, {"alert": True, "exit_code": 7}, {"exit_code": 0},
    ]),
)  # fmt: skip
notes = st.sampled_from([{"ppm": 500_000}, {"text": "half"}, {"line": "a"}, {"line": "b"}, {}])
modes = st.sampled_from([None, "run", "quiet", "stop"])
numbers_of_tasks = st.sampled_from([None, None, 0, 3])
results = st.sampled_from([b"", b"[]"])
filters = st.lists(
    st.sampled_from([
        *({"state": state} for state in STATES), *({"lane": lane} for lane in LANES), {"user": "u1"}, {"user": "ü/2"},
        {"tag": "x"}, {"tag": "日本"}, {"parent": "a"}, {"kind": "mail"}, {"reason": "expired"},
    ]),
    min_size=1, max_size=3,
).map(merged)  # fmt: skip
