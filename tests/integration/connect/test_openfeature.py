"""The provider of feature flags under OpenFeature's SDK, on a real server that comes and goes.

The numbers in names of tests are requirements of OpenFeature's specification of providers.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.evaluation_context import EvaluationContext
from openfeature.event import EventDetails, ProviderEvent
from openfeature.exception import ErrorCode, ProviderNotReadyError
from openfeature.flag_evaluation import Reason
from openfeature.provider import ProviderStatus

from pyadeq import Adeq, Config
from pyadeq.ext.connect.openfeature import FlagProvider
from tests.integration.conftest import Proxy
from tests.quick import slow_after
from tests.waiting import wait_until

pytestmark = pytest.mark.any_engine

ON_OFF = {"state": "ENABLED", "variants": {"on": True, "off": False}, "defaultVariant": "on"}


def flag(variants: dict[str, Any], default: str | None = None, **more: Any) -> dict[str, Any]:
    return {"state": "ENABLED", "variants": variants, "defaultVariant": default or next(iter(variants)), **more}


FLAGS = {
    "flag:boolean": ON_OFF,
    "flag:text": flag({"hello": "hi", "bye": "ciao"}),
    "flag:integer": flag({"ten": 10, "half": 0.5, "whole": 3.0}),
    "flag:half": flag({"half": 0.5}),
    "flag:whole": flag({"whole": 3.0}),
    "flag:object": flag({"one": {"a": [1, {"b": 2}]}}),
    "flag:list": flag({"one": [1, 2]}),
    "flag:rule": flag({"a": "A", "b": "B"}, targeting={"if": [{"==": [{"var": "tier"}, "gold"]}, "b", None]}),
    "flag:computed": flag({"a": "A", "b": "B"}, targeting={"var": "wanted"}),
    "flag:off": {**ON_OFF, "state": "DISABLED"},
    "flag:no-default": {**ON_OFF, "defaultVariant": None},
    "flag:labelled": {**ON_OFF, "metadata": {"team": "web", "level": 2, "ratio": 0.5, "new": True}},
    "other": {"not": "a flag"},
}


class Events:
    """What handlers of the SDK were told, in the order in which they were told."""

    def __init__(self) -> None:
        self._told: list[tuple[ProviderEvent, EventDetails]] = []
        self._handlers = {
            event: lambda details, event=event: self._told.append((event, details)) for event in ProviderEvent
        }
        for event, handler in self._handlers.items():
            api.add_handler(event, handler)

    def forget(self) -> None:
        self._told.clear()

    def of(self, event: ProviderEvent) -> list[EventDetails]:
        return [details for told, details in list(self._told) if told == event]


@pytest.fixture(autouse=True)
def sdk() -> Iterator[None]:
    yield
    api.shutdown()


@pytest.fixture
def config(url: str, base_name: str) -> Iterator[Config]:
    with Adeq.from_url(url) as adeq:
        yield adeq.config(base_name)


@pytest.fixture
def client(config: Config) -> OpenFeatureClient:
    config.set_many(FLAGS)
    api.set_provider_and_wait(FlagProvider(config))
    return api.get_client()


@pytest.fixture
def behind(proxy: Proxy, base_name: str) -> Iterator[Config]:
    """The same namespace, as a client sees it whose way to the server can be cut."""
    with Adeq.from_url(proxy.url) as adeq:
        yield adeq.config(base_name)


def test_2_1_1_the_provider_has_a_name(config: Config) -> None:
    assert FlagProvider(config).get_metadata().name == "pyadeq"


def test_2_2_2_1_each_type_has_a_method_2_2_3_and_its_value(client: OpenFeatureClient) -> None:
    assert client.get_boolean_value("boolean", False) is True
    assert client.get_string_value("text", "x") == "hi"
    assert client.get_integer_value("integer", 1) == 10
    assert client.get_float_value("half", 1.0) == 0.5
    assert client.get_object_value("object", {}) == {"a": [1, {"b": 2}]}
    assert client.get_object_value("list", []) == [1, 2]


async def test_each_type_has_an_async_method(client: OpenFeatureClient) -> None:
    assert await client.get_boolean_value_async("boolean", False) is True
    assert await client.get_string_value_async("text", "x") == "hi"
    assert await client.get_integer_value_async("integer", 1) == 10
    assert await client.get_float_value_async("half", 1.0) == 0.5
    assert await client.get_object_value_async("list", []) == [1, 2]


def test_numbers_are_converted_if_nothing_is_lost(client: OpenFeatureClient) -> None:
    whole = client.get_integer_value("whole", 1)
    assert (whole, type(whole)) == (3, int)
    ten = client.get_float_value("integer", 1.0)
    assert (ten, type(ten)) == (10.0, float)
    half = client.get_integer_details("half", 7)
    assert (half.value, half.error_code, half.variant) == (7, ErrorCode.TYPE_MISMATCH, None)


def test_an_object_is_the_callers_own(client: OpenFeatureClient) -> None:
    mine: Any = client.get_object_value("object", {})
    mine["a"][1]["b"] = 9
    mine["a"].append(3)
    assert client.get_object_value("object", {}) == {"a": [1, {"b": 2}]}


def test_2_2_4_variant_and_2_2_5_reason(client: OpenFeatureClient) -> None:
    told = [
        client.get_string_details("text", "x"),
        client.get_string_details("rule", "x", EvaluationContext("ann", {"tier": "gold"})),
        client.get_string_details("rule", "x", EvaluationContext("ann", {"tier": "tin"})),
        client.get_boolean_details("off", False),
        client.get_boolean_details("no-default", False),
    ]
    assert [(one.value, one.variant, one.reason) for one in told] == [
        ("hi", "hello", Reason.STATIC),
        ("B", "b", Reason.TARGETING_MATCH),
        ("A", "a", Reason.DEFAULT),
        (False, None, Reason.DISABLED),
        (False, None, Reason.DEFAULT),
    ]


def test_2_2_6_and_2_3_2_no_error_in_normal_execution(client: OpenFeatureClient) -> None:
    for key in ("boolean", "off", "no-default", "labelled"):
        told = client.get_boolean_details(key, False)
        assert (told.error_code, told.error_message) == (None, None)


def test_2_2_7_and_2_3_3_errors_have_a_code_and_a_message(client: OpenFeatureClient) -> None:
    missing = client.get_boolean_details("missing", True)
    assert (missing.value, missing.reason, missing.error_code) == (True, Reason.ERROR, ErrorCode.FLAG_NOT_FOUND)
    assert missing.error_message == "there is no flag missing"
    wrong = client.get_integer_details("text", 13)
    assert (wrong.value, wrong.reason, wrong.error_code) == (13, Reason.ERROR, ErrorCode.TYPE_MISMATCH)
    assert wrong.error_message == "text has values of the kind string, not number"
    for key, default in (("boolean", 1), ("integer", 1)):
        assert client.get_string_details(key, str(default)).error_code == ErrorCode.TYPE_MISMATCH
    assert client.get_integer_details("boolean", 5).error_code == ErrorCode.TYPE_MISMATCH
    assert client.get_boolean_details("integer", True).error_code == ErrorCode.TYPE_MISMATCH
    pink = client.get_string_details("computed", "x", EvaluationContext(attributes={"wanted": "pink"}))
    assert (pink.value, pink.reason, pink.error_code) == ("x", Reason.ERROR, ErrorCode.GENERAL)
    assert pink.error_message == "computed: its rule chose pink, which is none of its variants"
    assert client.get_string_value("computed", "x", EvaluationContext(attributes={"wanted": "b"})) == "B"
    assert client.get_boolean_details("other", True).error_code == ErrorCode.FLAG_NOT_FOUND


def test_2_2_9_and_2_2_10_flag_metadata(client: OpenFeatureClient) -> None:
    assert client.get_boolean_details("boolean", False).flag_metadata == {}
    labels = {"team": "web", "level": 2, "ratio": 0.5, "new": True}
    assert client.get_boolean_details("labelled", False).flag_metadata == labels


def test_2_3_1_the_provider_has_hooks(config: Config) -> None:
    assert FlagProvider(config).get_provider_hooks() == []


def test_2_4_1_an_initialized_provider_is_ready_and_2_5_2_shut_down_it_is_not(config: Config) -> None:
    config.set("flag:boolean", ON_OFF)
    provider = FlagProvider(config)
    assert provider.resolve_boolean_details("boolean", False).error_code == ErrorCode.PROVIDER_NOT_READY
    provider.initialize(EvaluationContext())
    assert provider.resolve_boolean_details("boolean", False).value is True
    provider.initialize(EvaluationContext())  # changes nothing
    provider.shutdown()
    assert provider.resolve_boolean_details("boolean", False).error_code == ErrorCode.PROVIDER_NOT_READY
    provider.shutdown()
    provider.initialize(EvaluationContext())
    assert provider.resolve_boolean_details("boolean", False).value is True
    provider.shutdown()
    assert not [thread for thread in threading.enumerate() if thread.name == "pyadeq-flags" and not ends(thread)]


def ends(thread: threading.Thread) -> bool:
    thread.join(5)
    return not thread.is_alive()


def test_2_7_1_tracking_does_nothing(client: OpenFeatureClient) -> None:
    client.track("bought")


def test_a_change_arrives_with_an_event_that_names_the_flags(config: Config, client: OpenFeatureClient) -> None:
    events = Events()
    config.set_many(
        {"flag:boolean": "disabled", "flag:new": ON_OFF, "flag:text": FLAGS["flag:text"]}, remove=["flag:off"]
    )
    wait_until(lambda: client.get_boolean_value("new", False))
    assert client.get_boolean_details("boolean", False).reason == Reason.DISABLED
    assert client.get_boolean_details("off", False).error_code == ErrorCode.FLAG_NOT_FOUND
    wait_until(lambda: events.of(ProviderEvent.PROVIDER_CONFIGURATION_CHANGED))
    (told,) = events.of(ProviderEvent.PROVIDER_CONFIGURATION_CHANGED)
    assert (told.provider_name, told.flags_changed) == ("pyadeq", ["boolean", "new", "off"])
    config.set("other", {"still": "no flag"})
    config.set("flag:last", ON_OFF)
    wait_until(lambda: client.get_boolean_value("last", False))
    wait_until(lambda: len(events.of(ProviderEvent.PROVIDER_CONFIGURATION_CHANGED)) > 1)
    assert [one.flags_changed for one in events.of(ProviderEvent.PROVIDER_CONFIGURATION_CHANGED)][1:] == [["last"]]


def test_a_flag_that_another_program_has_damaged(config: Config, client: OpenFeatureClient) -> None:
    """`set` refuses such a flag, but clients in other languages do not."""
    damaged = {"name": "flag:boolean", "value": b'{"state": "ON"}'}
    config._runner.send(config.calls.build("set", item=[damaged]))
    wait_until(lambda: client.get_boolean_details("boolean", True).error_code)
    told = client.get_boolean_details("boolean", True)
    assert (told.value, told.error_code) == (True, ErrorCode.PARSE_ERROR)
    assert told.error_message == "boolean: state: 'ON' is not accepted; allowed: ENABLED or DISABLED"
    assert client.get_string_value("text", "x") == "hi"
    config.set("flag:boolean", ON_OFF)
    wait_until(lambda: client.get_boolean_details("boolean", False).reason == Reason.STATIC)


def test_a_closed_client_leaves_the_last_flags(url: str, base_name: str) -> None:
    with Adeq.from_url(url) as adeq:
        config = adeq.config(base_name)
        config.set("flag:boolean", ON_OFF)
        api.set_provider_and_wait(FlagProvider(config))
    client = api.get_client()
    told = client.get_boolean_details("boolean", False)
    assert (told.value, told.reason) == (True, Reason.STALE)
    wait_until(lambda: client.get_provider_status() == ProviderStatus.STALE)


def test_an_empty_namespace_is_ready(config: Config) -> None:
    api.set_provider_and_wait(FlagProvider(config))
    client = api.get_client()
    assert client.get_provider_status() == ProviderStatus.READY
    assert client.get_boolean_details("boolean", True).error_code == ErrorCode.FLAG_NOT_FOUND


def test_a_server_away_in_the_middle_and_back(config: Config, behind: Config, proxy: Proxy) -> None:
    config.set_many(FLAGS)
    api.set_provider_and_wait(FlagProvider(behind, poll=0.1))
    client, events = api.get_client(), Events()
    assert client.get_boolean_details("boolean", False).reason == Reason.STATIC
    proxy.deaf = True
    wait_until(lambda: client.get_boolean_details("boolean", False).reason == Reason.STALE)
    gold = EvaluationContext(attributes={"tier": "gold"})
    told = client.get_string_details("rule", "x", gold)
    assert (told.value, told.variant, told.reason, told.error_code) == ("B", "b", Reason.STALE, None)
    assert client.get_boolean_details("off", False).reason == Reason.STALE
    assert client.get_boolean_details("missing", False).error_code == ErrorCode.FLAG_NOT_FOUND
    wait_until(lambda: events.of(ProviderEvent.PROVIDER_STALE))
    wait_until(lambda: client.get_provider_status() == ProviderStatus.STALE)
    config.set("flag:boolean", "disabled")
    events.forget()
    proxy.deaf = False
    wait_until(lambda: client.get_boolean_details("boolean", False).reason == Reason.DISABLED)
    wait_until(
        lambda: events.of(ProviderEvent.PROVIDER_READY) and events.of(ProviderEvent.PROVIDER_CONFIGURATION_CHANGED)
    )
    assert client.get_provider_status() == ProviderStatus.READY
    assert client.get_string_details("rule", "x", gold).reason == Reason.TARGETING_MATCH


def test_2_4_2_1_a_server_away_at_start_without_a_file(config: Config, behind: Config, proxy: Proxy) -> None:
    config.set_many(FLAGS)
    proxy.deaf = True
    with pytest.raises(ProviderNotReadyError):
        api.set_provider_and_wait(FlagProvider(behind, poll=0.1, wait=0.2))
    client, events = api.get_client(), Events()
    told = client.get_boolean_details("boolean", False)
    assert (told.value, told.reason, told.error_code) == (False, Reason.ERROR, ErrorCode.PROVIDER_NOT_READY)
    assert client.get_provider_status() == ProviderStatus.ERROR
    wait_until(lambda: events.of(ProviderEvent.PROVIDER_ERROR))
    proxy.deaf = False
    wait_until(lambda: client.get_boolean_value("boolean", False))
    wait_until(lambda: events.of(ProviderEvent.PROVIDER_READY))
    wait_until(lambda: events.of(ProviderEvent.PROVIDER_CONFIGURATION_CHANGED))
    assert client.get_provider_status() == ProviderStatus.READY
    assert client.get_boolean_details("boolean", False).reason == Reason.STATIC


def test_a_provider_that_was_not_ready_may_be_initialized_again(config: Config, behind: Config, proxy: Proxy) -> None:
    config.set("flag:boolean", ON_OFF)
    proxy.deaf = True
    provider = FlagProvider(behind, poll=60, wait=0.05)
    for _ in range(2):
        with pytest.raises(ProviderNotReadyError, match=r"the flags were not read within 0\.05 s"):
            provider.initialize(EvaluationContext())
    proxy.deaf = False
    wait_until(lambda: provider.resolve_boolean_details("boolean", False).value)
    provider.initialize(EvaluationContext())
    provider.shutdown()


def test_a_server_away_at_start_with_a_file(config: Config, behind: Config, proxy: Proxy, tmp_path: Path) -> None:
    file = tmp_path / "flags.json"
    config.set_many(FLAGS)
    api.set_provider_and_wait(FlagProvider(behind, file=file, poll=0.1), "first")
    wait_until(file.exists)
    proxy.deaf = True
    config.set("flag:boolean", "disabled")
    config.remove("flag:off")
    api.set_provider_and_wait(FlagProvider(behind, file=file, poll=0.1, wait=0.2), "second")
    client = api.get_client("second")
    told = client.get_boolean_details("boolean", False)
    assert (told.value, told.reason, told.error_code) == (True, Reason.STALE, None)
    wait_until(lambda: client.get_provider_status() == ProviderStatus.STALE)
    events = Events()
    proxy.deaf = False
    wait_until(lambda: client.get_provider_status() == ProviderStatus.READY)
    assert client.get_boolean_details("boolean", False).reason == Reason.DISABLED
    assert client.get_boolean_details("off", False).error_code == ErrorCode.FLAG_NOT_FOUND
    wait_until(lambda: "off" not in json.loads(file.read_text())["flags"])
    changed = [one.flags_changed for one in events.of(ProviderEvent.PROVIDER_CONFIGURATION_CHANGED)]
    assert ["boolean", "off"] in changed


def test_the_file_has_flagds_format_and_follows(config: Config, tmp_path: Path) -> None:
    file = tmp_path / "flags.json"
    config.set_many({"flag:a": ON_OFF, "flag:b": "disabled", "other": 1})
    api.set_provider_and_wait(FlagProvider(config, file=file))
    assert json.loads(file.read_text()) == {"flags": {"a": ON_OFF, "b": {**ON_OFF, "state": "DISABLED"}}}
    config.set("flag:b", ON_OFF)
    wait_until(lambda: json.loads(file.read_text())["flags"]["b"] == ON_OFF)
    assert [path.name for path in tmp_path.iterdir()] == ["flags.json"]


@pytest.mark.parametrize("text", slow_after(1, ['{"flags": {"a": {"state": "ON"}}}', "", "{", "[]", '{"flags": 7}']))
def test_a_damaged_file_is_no_file(
    behind: Config, proxy: Proxy, tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "flags.json"
    file.write_text(text)
    proxy.deaf = True
    provider = FlagProvider(behind, file=file, wait=0.05)
    with pytest.raises(ProviderNotReadyError):
        provider.initialize(EvaluationContext())
    provider.shutdown()
    assert "the flags cannot be read from" in caplog.text


def test_a_file_that_cannot_be_written_is_logged(
    config: Config, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config.set("flag:a", ON_OFF)
    api.set_provider_and_wait(FlagProvider(config, file=tmp_path / "none" / "flags.json"))
    assert api.get_client().get_boolean_value("a", False)
    assert "the flags cannot be written to" in caplog.text


def test_without_the_sdk_the_error_names_the_extra() -> None:
    code = "import sys; sys.modules['openfeature'] = None; import pyadeq.ext.connect.openfeature"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "OpenFeature needs the extra `openfeature`: pip install 'pyadeq[openfeature]'" in ended.stderr


def test_two_domains_may_share_a_server(config: Config, url: str, base_name: str) -> None:
    config.set("flag:a", ON_OFF)
    with Adeq.from_url(url) as adeq:
        other = adeq.config(f"{base_name}-2")
        other.set("flag:a", "disabled")
        api.set_provider_and_wait(FlagProvider(config), "one")
        api.set_provider_and_wait(FlagProvider(other), "two")
        assert api.get_client("one").get_boolean_value("a", False) is True
        assert api.get_client("two").get_boolean_value("a", False) is False
