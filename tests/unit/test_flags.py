"""Feature flags: what a text must be, and what its rules choose."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyadeq._core.config.flags import Flag, FlagChoice
from pyadeq._core.config.murmur3 import murmur3, murmur3_in_python
from pyadeq._core.config.rules import MAX_DEPTH, MAX_PARTS, MAX_WEIGHT, OPERATORS
from pyadeq.errors import BadArgument
from tests.quick import examples

VECTORS = json.loads((Path(__file__).parent / "flag_vectors.json").read_text(encoding="utf-8"))
NAMES = ("red", "blue", "green", "grey", "true", "false", "default")
NOW = 1_900_000_000


def flag(targeting: Any = None, **fields: Any) -> Flag:
    data = {"state": "ENABLED", "variants": {name: name for name in NAMES}, "defaultVariant": "default"}
    if targeting is not None:
        data["targeting"] = targeting
    return Flag("flag:flag", json.dumps({**data, **fields}))


def choose(chosen_by: Flag, context: dict[str, Any]) -> FlagChoice:
    attributes = {name: value for name, value in context.items() if name != "targetingKey"}
    return chosen_by.choose(attributes, context.get("targetingKey"), NOW)


@pytest.mark.parametrize("group", ["fractional", "operators"])
def test_other_implementations_choose_the_same(group: str) -> None:
    count = 0
    for vector in VECTORS[group]:
        compiled = flag(vector["rule"])
        for context, variant in vector["cases"]:
            assert (choose(compiled, context).variant, vector["rule"], context) == (variant, vector["rule"], context)
            count += 1
    assert count > 300


def test_other_implementations_compare_versions_the_same() -> None:
    results = {"true": "t", "false": "f", "default": "-"}
    for version, other, expected in VECTORS["sem_ver"]:
        told = ""
        for operator in VECTORS["sem_ver_operators"]:
            chosen = choose(flag({"sem_ver": [{"var": "version"}, operator, other]}), {"version": version})
            told += results[chosen.variant or ""]
        assert (version, other, told) == (version, other, expected)
    assert len(VECTORS["sem_ver"]) > 100


def test_versions_that_other_implementations_read_in_different_ways() -> None:
    """A second v, spaces, and a pre-release of a partial version are no versions, as semver.org says."""
    for version in ("vv1.0.0", " 1.0.0", "1.0.0 ", "1.2-alpha", "1.0.0\n", "1." * 200):
        assert choose(flag({"sem_ver": [{"var": "version"}, "=", "1.0.0"]}), {"version": version}).reason == "DEFAULT"


def test_a_version_has_at_most_256_characters() -> None:
    for length, variant in ((256, "true"), (257, "default")):
        version = "1.0.0-".ljust(length, "a")
        assert choose(flag({"sem_ver": [{"var": "version"}, "<", "1.0.0"]}), {"version": version}).variant == variant


def test_both_hashes_are_the_same() -> None:
    pytest.importorskip("mmh3")
    assert murmur3 is not murmur3_in_python
    draw = random.Random(1)
    for size in [*range(40), 1000]:
        data = draw.randbytes(size)
        assert murmur3_in_python(data) == murmur3(data)


def test_known_hashes() -> None:
    """Known hashes of MurmurHash3_x86_32 with the seed 0."""
    assert murmur3_in_python(b"") == 0
    assert murmur3_in_python(b"test") == 0xBA6BD213
    assert murmur3_in_python(b"Hello, world!") == 0xC0363E43
    assert murmur3_in_python(b"The quick brown fox jumps over the lazy dog") == 0x2E4FF723


@pytest.mark.parametrize("key", [None, 7, True, {"a": 1}])
def test_a_key_that_is_no_text_gives_way_to_flag_and_targeting_key(key: Any) -> None:
    """As the specification of `fractional` and flagd itself say; the libraries of the vectors choose nothing then."""
    by_key = flag({"fractional": [{"var": "email"}, ["red", 1], ["blue", 1], ["green", 1]]})
    short = flag({"fractional": [["red", 1], ["blue", 1], ["green", 1]]})
    for who in map(str, range(20)):
        assert choose(by_key, {"email": key, "targetingKey": who}) == choose(short, {"targetingKey": who})
    assert choose(by_key, {"email": key}) == FlagChoice("default", "DEFAULT")


def test_a_share_gets_as_many_as_its_weight() -> None:
    compiled = flag({"fractional": [["red", 10], ["blue", 90]]})
    red = sum(choose(compiled, {"targetingKey": f"user {n}"}).variant == "red" for n in range(10_000))
    assert 900 < red < 1100


@pytest.mark.parametrize("weight", [1.5, "1", True, MAX_WEIGHT, -1e999, 1e999])
def test_a_computed_weight_that_is_none_chooses_nothing(weight: Any) -> None:
    compiled = flag({"fractional": [["red", {"var": "weight"}], ["blue", 1]]})
    assert choose(compiled, {"targetingKey": "a", "weight": 3.0}).reason == "TARGETING_MATCH"
    assert choose(compiled, {"targetingKey": "a", "weight": weight}) == FlagChoice("default", "DEFAULT")


def test_reasons() -> None:
    assert flag().choose({}, None, NOW) == FlagChoice("default", "STATIC")
    assert flag({}).choose({}, None, NOW) == FlagChoice("default", "STATIC")
    assert flag(defaultVariant=None).choose({}, None, NOW) == FlagChoice(None, "DEFAULT")
    assert flag({"var": "a"}).choose({}, None, NOW) == FlagChoice("default", "DEFAULT")
    assert flag({"var": "a"}, defaultVariant=None).choose({}, None, NOW) == FlagChoice(None, "DEFAULT")
    assert flag({"var": "a"}).choose({"a": "red"}, None, NOW) == FlagChoice("red", "TARGETING_MATCH")
    assert flag({"var": "a"}).choose({"a": "pink"}, None, NOW) == FlagChoice("pink", "ERROR")
    assert flag({"var": "a"}).choose({"a": [1]}, None, NOW) == FlagChoice("[1]", "ERROR")
    assert flag({"var": "a"}, state="DISABLED").choose({"a": "red"}, None, NOW) == FlagChoice(None, "DISABLED")


def test_a_rule_may_choose_by_a_boolean_or_a_number() -> None:
    numbered = flag({"var": "a"}, variants={"1": "x", "2.5": "y", "true": "z"}, defaultVariant="1")
    for value, variant in ((1, "1"), (1.0, "1"), (2.5, "2.5"), (True, "true")):
        assert numbered.choose({"a": value}, None, NOW).variant == variant


def test_texts_are_joined_as_json_writes_them() -> None:
    joined = flag({"if": [{"==": [{"cat": ["a", 1, 2.0, 0.5, True, {"var": "no"}]}, "a120.5true"]}, "red"]})
    assert choose(joined, {}).variant == "red"


def test_what_flagd_adds_to_a_context_cannot_be_changed_by_it() -> None:
    attributes = {"$flagd": {"flagKey": "other", "timestamp": 1}, "targetingKey": "x"}
    by_flag = flag({"if": [{"==": [{"var": "$flagd.flagKey"}, "flag"]}, "red", "blue"]})
    assert by_flag.choose(attributes, None, NOW).variant == "red"
    by_time = flag({"if": [{"==": [{"var": "$flagd.timestamp"}, NOW]}, "red", "blue"]})
    assert by_time.choose(attributes, None, NOW).variant == "red"
    assert flag({"if": [{"var": "targetingKey"}, "red", "blue"]}).choose(attributes, None, NOW).variant == "blue"
    assert flag({"var": ["targetingKey", "green"]}).choose(attributes, None, NOW).variant == "green"
    assert flag({"var": ["targetingKey", "green"]}).choose(attributes, "blue", NOW).variant == "blue"


@pytest.mark.parametrize(("text", "enabled"), [("enabled", True), (b"disabled", False), ('"enabled"', True)])
def test_enabled_and_disabled_are_the_state_of_a_boolean_flag(text: str | bytes, enabled: bool) -> None:
    found = Flag("deadlock_detection", text)
    assert (found.enabled, found.kind, found.variants) == (enabled, "boolean", {"on": True, "off": False})
    assert found.choose({}, None, NOW) == (("on", "STATIC") if enabled else (None, "DISABLED"))
    assert Flag("deadlock_detection", json.dumps(found.data)).data == found.data


def nested(depth: int) -> Any:
    rule: Any = {"var": "a"}
    for _ in range(depth):
        rule = {"!": [rule]}
    return {"if": [rule, "red"]}


@pytest.mark.parametrize(
    ("targeting", "message"),
    [
        (
            {"if": [{"substr": ["a", 1]}, "red"]},
            f"targeting.if[0]: operator 'substr' is not accepted; allowed: {', '.join(OPERATORS)}",
        ),
        ({"$ref": "shared"}, "targeting: operator '$ref' is not accepted"),
        ({"if": [True, "pink"]}, "targeting.if[1]: variant 'pink' does not exist; allowed: 'red', 'blue',"),
        ({"if": [True, "red", "pink"]}, "targeting.if[2]: variant 'pink' does not exist"),
        ({"if": [True, "red", True, 7, "red"]}, "targeting.if[3]: variant 7 does not exist"),
        ({"fractional": [["pink", 1]]}, "targeting.fractional[0][0]: variant 'pink' does not exist"),
        ({"fractional": [["red", 1.5]]}, "targeting.fractional[0][1]: 1.5 is not accepted; allowed: an integer"),
        ({"fractional": [["red", "1"]]}, "targeting.fractional[0][1]: '1' is not accepted"),
        ({"fractional": [["red", 1, 2]]}, "targeting.fractional[0]: ['red', 1, 2] is not accepted"),
        ({"fractional": ["red", 1]}, "targeting.fractional[1]: 1 is not accepted; allowed: [variant] or"),
        ({"fractional": [[]]}, "targeting.fractional[0]: [] is not accepted"),
        ({"fractional": [{"var": "a"}]}, "targeting.fractional: no variants; allowed: one or more"),
        ({"fractional": []}, "targeting.fractional: 0 arguments are not accepted; allowed: 1 or more"),
        (
            {"fractional": [["red", MAX_WEIGHT], ["blue", 1]]},
            "the weights sum to 2147483648; allowed: at most 2",
        ),
        ({"starts_with": [{"var": "a"}]}, "targeting.starts_with: 1 arguments are not accepted; allowed: 2"),
        ({"<": [1, 2, 3, 4]}, "targeting.<: 4 arguments are not accepted; allowed: 2 to 3"),
        ({"sem_ver": [{"var": "a"}, "==", "1.0.0"]}, "targeting.sem_ver[1]: '==' is not accepted; allowed: = != < <="),
        ({"sem_ver": [{"var": "a"}, ["="], "1.0.0"]}, "targeting.sem_ver[1]: ['='] is not accepted"),
        ({"sem_ver": [{"var": "a"}, "=", "1.x"]}, "targeting.sem_ver[2]: '1.x' is not accepted; allowed: a semantic"),
        ({"var": ""}, "targeting.var: '' is not accepted; allowed: the name of a property"),
        ({"var": {"var": "a"}}, "targeting.var: {'var': 'a'} is not accepted"),
        ({"var": "$flagd.flag"}, "targeting.var: '$flagd.flag' is not accepted; allowed: '$flagd.flagKey'"),
        ({"var": ["a", "pink"]}, "targeting.var[1]: variant 'pink' does not exist"),
        ({"and": [True], "or": [True]}, "is not accepted; allowed: an object with one operator"),
        ({"!": {}}, "targeting.!: {} is not accepted; allowed: an object with one operator"),
        (nested(MAX_DEPTH), f"the rule is too deep; allowed: at most {MAX_DEPTH} levels"),
        ({"in": [1, [0] * MAX_PARTS]}, f"the rule is too large; allowed: at most {MAX_PARTS} operators"),
        ("red", "targeting: 'red' is not accepted; allowed: an object with one operator"),
    ],
)
def test_a_rule_that_is_refused(targeting: Any, message: str) -> None:
    with pytest.raises(BadArgument) as caught:
        flag(targeting)
    assert message in str(caught.value)


def lists(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("most", "more"),
    [
        (nested(31), nested(32)),
        ({"in": [1, lists(31)]}, {"in": [1, lists(32)]}),
        ({"in": [1, [0] * 1997]}, {"in": [1, [0] * 1998]}),
        ({"fractional": [["red", 2**31 - 2], ["blue", 1]]}, {"fractional": [["red", 2**31 - 1], ["blue", 1]]}),
        ({"fractional": [["red", 2**31 - 1]]}, {"fractional": [["red", 2**31]]}),
    ],
    ids=["operators", "lists", "parts", "weights", "weight"],
)
def test_the_bounds_of_a_rule(most: Any, more: Any) -> None:
    flag(most)
    with pytest.raises(BadArgument):
        flag(more)


def test_the_sum_of_computed_weights_is_bounded() -> None:
    compiled = flag({"fractional": [["red", {"var": "weight"}], ["blue", 1]]})
    assert choose(compiled, {"targetingKey": "a", "weight": 2**31 - 2}).reason == "TARGETING_MATCH"
    assert choose(compiled, {"targetingKey": "a", "weight": 2**31 - 1}).reason == "DEFAULT"


def test_how_many_arguments_an_operator_takes() -> None:
    given = {"var": ["a", *["red"] * 5], "sem_ver": ["1.0.0", "=", *["1.0.0"] * 4]}
    taken = {
        operator: "".join(
            str(count) for count in range(7) if accepted({operator: given.get(operator, [{"var": "a"}] * 6)[:count]})
        )
        for operator in OPERATORS
        if operator != "fractional"
    }
    assert taken == {
        "var": "12",
        **dict.fromkeys(("==", "!=", ">", ">=", "in", "starts_with", "ends_with"), "2"),
        **dict.fromkeys(("<", "<="), "23"),
        **dict.fromkeys(("and", "or", "if", "cat"), "123456"),
        "!": "1",
        "sem_ver": "3",
    }


def accepted(targeting: Any) -> bool:
    try:
        flag(targeting)
    except BadArgument:
        return False
    return True


def test_a_long_value_is_cut_in_an_error() -> None:
    with pytest.raises(BadArgument, match=r"'x{60}' is not|'x{56}\.\.\. is not"):
        flag(state="x" * 60)
    with pytest.raises(BadArgument, match=r"state: 'x{58}' is not"):
        flag(state="x" * 58)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"state": "on"}, "state: 'on' is not accepted; allowed: ENABLED or DISABLED"),
        ({"state": None}, "state: None is not accepted"),
        ({"state": ["ENABLED"]}, "state: ['ENABLED'] is not accepted"),
        ({"defaultvariant": "red"}, "flag flag: field 'defaultvariant' is not accepted; allowed: state, variants,"),
        ({"defaultVariant": "pink"}, "defaultVariant: 'pink' is not accepted; allowed: 'red', 'blue',"),
        ({"defaultVariant": True}, "defaultVariant: True is not accepted"),
        ({"variants": {}}, "variants: {} is not accepted; allowed: an object with 1 to 200"),
        ({"variants": ["a"]}, "variants: ['a'] is not accepted"),
        ({"variants": {"a": 1, "b": "x"}}, "variants.b: 'x' is not accepted; allowed: a number, as that of 'a'"),
        ({"variants": {"a": True, "b": 1}}, "variants.b: 1 is not accepted; allowed: a boolean"),
        ({"variants": {"a": None}}, "variants.a: None is not accepted; allowed: a boolean, string, number"),
        ({"variants": {"": 1}}, "variants: '' is not accepted; allowed: names"),
        ({"variants": {str(n): 1 for n in range(201)}}, "allowed: an object with 1 to 200"),
        ({"variants": {"a": nested(40)}}, f"variants.a: the value is too deep; allowed: at most {MAX_DEPTH} levels"),
        ({"metadata": {"a": [1]}}, "metadata: {'a': [1]} is not accepted; allowed: an object of texts, numbers"),
        ({"metadata": [1]}, "metadata: [1] is not accepted"),
    ],
)
def test_a_flag_that_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(BadArgument) as caught:
        flag(**fields)
    assert message in str(caught.value)


def test_a_flag_has_at_most_64_kib() -> None:
    text = json.dumps(flag().data)
    assert Flag("f", text.ljust(65_536)).data == flag().data


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "flag f: this is not JSON"),
        (b"\xff", "flag f: this is not JSON"),
        ("[" * 60_000, "flag f: this is not JSON (too deep)"),
        ('{"state": NaN}', "flag f: this is not JSON (NaN is not in JSON)"),
        ("7", "flag f: 7 is not accepted; allowed: an object in flagd's format"),
        ('"on"', "flag f: 'on' is not accepted"),
        (" " * 65_537, "flag f: 65537 bytes are not accepted; allowed: at most 65536"),
    ],
)
def test_a_text_that_is_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(BadArgument) as caught:
        Flag("f", text)
    assert message in str(caught.value)


NAME = st.sampled_from(
    ["red", "blue", "a", "a.b", "a.0", "targetingKey", "$flagd.flagKey", "$flagd.timestamp", "", "1.2.3"]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | NAME | st.text(max_size=5)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAME, inner, max_size=2), max_leaves=5
)
SHARES = st.lists(st.tuples(SCALARS, st.integers(-3, 2**31) | SCALARS).map(list), max_size=3)
RULES = st.recursive(
    SCALARS | NAME.map(lambda name: {"var": name}),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*OPERATORS]), st.lists(inner, max_size=4) | inner, min_size=1, max_size=1)
        | SHARES.map(lambda shares: {"fractional": shares})
        | st.tuples(inner, st.sampled_from(["=", "<", "^"]), inner).map(lambda three: {"sem_ver": list(three)})
    ),
    max_leaves=12,
)


@settings(max_examples=examples(400, 10_000))
@given(RULES, st.dictionaries(NAME, JSON, max_size=3), st.none() | st.text(max_size=8))
def test_a_rule_is_refused_or_chooses_in_any_context(rule: Any, context: dict[str, Any], key: str | None) -> None:
    try:
        compiled = flag({"if": [rule, "red", {"var": "a"}]})
    except BadArgument:
        return
    variant, reason = compiled.choose(context, key, NOW)
    assert (variant in compiled.variants) is (reason != "ERROR")
    assert compiled.choose(context, key, NOW) == (variant, reason)


@given(JSON)
def test_any_text_is_refused_with_its_place(data: Any) -> None:
    with pytest.raises(BadArgument):
        Flag("f", json.dumps(data))
