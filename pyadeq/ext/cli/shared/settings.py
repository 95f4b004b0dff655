"""The settings of a queue and of a lock domain: `adeq queue configure` and `adeq lock configure`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Set
from enum import StrEnum
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.shared.arguments import Domain, time_option
from pyadeq.ext.cli.shared.common import DEFAULT_URL, Format, Output, Url, connected, print_json
from pyadeq.ext.cli.shared.queue_arguments import QueueName
from pyadeq.ext.cli.shared.resolve import existing_domain, existing_queue, queue_or_new
from pyadeq.ext.cli.shared.tables import print_fields
from pyadeq.keys import shown
from pyadeq.models.setting import Setting
from pyadeq.models.settings import SETTINGS

if TYPE_CHECKING:
    from pyadeq import Backoff, LockSettings, Settings

TYPES = {"seconds": float, "ratio": float, "int": int, "bool": bool}
STATE = {"layout", "mode"}
"""What models of settings have that tables of settings do not show."""


def with_settings(noun: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each setting of a noun, in place of **settings."""

    def made(command: Callable[..., None]) -> Callable[..., None]:
        known = signature(command, eval_str=True)
        own = [one for one in known.parameters.values() if one.kind != one.VAR_KEYWORD]
        first = next(at for at, one in enumerate(own) if one.default is not Parameter.empty)
        options = [_option(one, {other.name for other in SETTINGS[noun]}) for one in SETTINGS[noun]]
        parameters = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in [*own[:first], *options, *own[first:]]]
        command.__signature__ = known.replace(parameters=parameters)  # type: ignore[attr-defined]
        return command

    return made


def _option(setting: Setting, names: Set[str]) -> Parameter:
    """names: of all settings. The texts of some name others."""
    word = _word(setting.name)
    doc = re.sub("`(.+?)`", lambda match: f"--{_word(match[1])}" if match[1] in names else match[1], setting.doc)
    numbers = f", {setting.least:g} to {setting.most:g}" if setting.kind == "ratio" else ""
    help = f"{doc[:1].upper()}{doc[1:]}{numbers}."
    kind: Any = TYPES.get(setting.kind) or StrEnum(setting.name, {one: one for one in setting.words})
    if setting.kind == "seconds":
        option = time_option(help, f"--{word}")
    else:
        option = typer.Option(f"--{word}/--no-{word}" if setting.kind == "bool" else f"--{word}", help=help)
    return Parameter(
        word.replace("-", "_"), Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def _word(name: str) -> str:
    return name.replace(".", "-").replace("_", "-")


def _given(noun: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the given options. Those of an object are a dict of its fields."""
    found: dict[str, Any] = {}
    for setting in SETTINGS[noun]:
        value = options[_word(setting.name).replace("-", "_")]
        if value is None:
            continue
        name, _, part = setting.name.partition(".")
        if part:
            found.setdefault(name, {})[part] = value
        else:
            found[name] = str(value) if setting.words else value
    return found


@with_settings("queue")
def configure_queue(
    name: QueueName,
    expect: Annotated[
        str | None, typer.Option(metavar="DIGEST", help="Change nothing if the settings have another digest by now.")
    ] = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
    **settings: Any,
) -> None:
    """Show the settings of a queue; with options, change those, and create the queue if it does not exist.

    TIME is in seconds, or with a unit: 90, 500ms, 1.5h, 7d.
    """
    given = _given("queue", settings)
    with connected(url) as adeq:
        queue = queue_or_new(adeq, name) if given else existing_queue(adeq, name)
        if "backoff" in given:
            stored = queue.settings()
            given["backoff"] = _backoff({**stored.backoff.model_dump(), **given["backoff"]})
            expect = expect or stored.digest
        found = queue.configure(expect=expect, **given) if given else queue.settings()
    if output != Format.table:
        print_json({"queue": name, "settings": found.model_dump()}, output)
    else:
        print_settings("queue", found)


@with_settings("lock")
def configure_domain(
    domain: Domain = "default", url: Url = DEFAULT_URL, output: Output = Format.table, **settings: Any
) -> None:
    """Show the settings of a domain; with options, change those, and create the domain if it does not exist.

    TIME is in seconds, or with a unit: 90, 500ms, 1.5h, 7d.
    """
    given = _given("lock", settings)
    with connected(url) as adeq:
        found = adeq.locks(domain).configure(**given) if given else existing_domain(adeq, domain).stats().settings
    if output != Format.table:
        print_json({"domain": domain, "settings": found.model_dump()}, output)
    else:
        print_settings("lock", found)


def print_settings(noun: str, settings: Settings | LockSettings) -> None:
    """Print settings, times in seconds."""
    otherwise = {setting.name: setting.otherwise for setting in SETTINGS[noun]}
    fields = _flat(settings.model_dump(exclude=STATE))
    rows = [(_word(name), otherwise[name] if value is None else _shown(value)) for name, value in fields]
    print_fields(rows, ("setting", "value"))


def _flat(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names and values; each field of an object for itself."""
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{part}", one) for part, one in value.items())
        else:
            yield name, value


def _shown(value: float | str | bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:,g}" if value % 1 else f"{value:,.0f}"


def _backoff(fields: dict[str, float]) -> Backoff:
    from pydantic import ValidationError

    from pyadeq import Backoff

    try:
        return Backoff.model_validate(fields)
    except ValidationError as error:
        problem = error.errors()[0]
        raise ConfigError(
            f"--backoff-{problem['loc'][0]}: {shown(problem['input'])} is not accepted: {problem['msg']}"
        ) from None
