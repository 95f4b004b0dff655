"""Feature flags: values of the config with names `flag:<name>`, in the format of flagd."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, NoReturn

from pyadeq._core.config.rules import MAX_DEPTH, Compiler, Rule, Scope, refuse, shown
from pyadeq._core.config.values import as_text, is_number

PREFIX: Final = "flag:"
"""Names of flags in a config begin with this."""
FIELDS: Final = ("state", "variants", "defaultVariant", "targeting", "metadata")
STATES: Final = ("ENABLED", "DISABLED")
MAX_BYTES: Final = 65_536
MAX_VARIANTS: Final = 200

Kind = Literal["boolean", "string", "number", "object"]


class FlagChoice(NamedTuple):
    """What a flag has decided.

    variant: the name of the variant. None: the default value of the caller holds.
    reason: `STATIC`: the flag has no targeting. `TARGETING_MATCH`: its rule chose the variant. `DEFAULT`: its rule
    chose nothing, or the flag names no default variant. `DISABLED`. `ERROR`: its rule chose a variant that does not
    exist, which is in `variant`.
    """

    variant: str | None
    reason: Literal["STATIC", "TARGETING_MATCH", "DEFAULT", "DISABLED", "ERROR"]


class Flag:
    """A feature flag in flagd's format, checked and compiled. Raises BadArgument, which names the field, for others.

    name: of the flag, with or without `flag:`. The attribute and rules have it without.
    text: its JSON. The texts `enabled` and `disabled` are flags, too: they say the state of a boolean flag that is true
    if it is enabled.
    enabled: whether its state is `ENABLED`.
    kind: of the values of its variants: `boolean`, `string`, `number` or `object`.
    variants: name → value.
    default_variant: the variant if no rule chooses one. None: the caller's default value holds.
    metadata: what answers carry.
    data: the flag as an object in flagd's format. Do not change it.
    """

    __slots__ = ("_otherwise", "_rule", "data", "default_variant", "enabled", "kind", "metadata", "name", "variants")

    def __init__(self, name: str, text: str | bytes) -> None:
        key = name.removeprefix(PREFIX)
        data = _load(key, text)
        if unknown := data.keys() - FIELDS:
            raise refuse(f"flag {key}", f"field {shown(min(unknown))} is not accepted; allowed: {', '.join(FIELDS)}")
        state = data.get("state")
        if state not in STATES:
            raise refuse("state", f"{shown(state)} is not accepted; allowed: {' or '.join(STATES)}")
        variants, kind = _variants(data.get("variants"))
        default = data.get("defaultVariant")
        if default is not None and (not isinstance(default, str) or default not in variants):
            raise refuse("defaultVariant", f"{shown(default)} is not accepted; allowed: {_names(variants)}, or null")
        metadata = _metadata(data.get("metadata"))
        targeting = data.get("targeting")
        if not isinstance(targeting, dict | None):
            raise refuse("targeting", f"{shown(targeting)} is not accepted; allowed: an object with one operator")
        rule = Compiler(key, variants).compile(targeting, "targeting", chooses=True) if targeting else None
        self.name = key
        self.enabled = state == "ENABLED"
        self.kind = kind
        self.variants = variants
        self.default_variant = default
        self.metadata = metadata
        self.data = data
        self._rule: Rule | None = rule if self.enabled else None
        self._otherwise = FlagChoice(default, "DEFAULT" if rule or default is None else "STATIC")
        if not self.enabled:
            self._otherwise = FlagChoice(None, "DISABLED")

    def choose(self, attributes: Mapping[str, Any], targeting_key: str | None, now: int) -> FlagChoice:
        """Decide for one context.

        attributes: what rules read with `var`.
        targeting_key: whom the decision is for, `targetingKey` in rules.
        now: seconds since 1970, `$flagd.timestamp` in rules.
        """
        if self._rule is None:
            return self._otherwise
        chosen = self._rule(Scope(attributes, targeting_key, now))
        if chosen is None:
            return self._otherwise
        variant = chosen if isinstance(chosen, str) else as_text(chosen)
        if variant in self.variants:
            return FlagChoice(variant, "TARGETING_MATCH")
        return FlagChoice(shown(chosen) if variant is None else variant, "ERROR")


def check_flag(name: str, value: bytes) -> bytes:
    """Return the value. Raises BadArgument if the name is that of a flag, and the value is no flag."""
    if name.startswith(PREFIX):
        Flag(name, value)
    return value


def _load(key: str, text: str | bytes) -> dict[str, Any]:
    """The object that a text contains."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if (word := raw.strip().strip(b'"')) in (b"enabled", b"disabled"):
        return {"state": word.decode().upper(), "variants": {"on": True, "off": False}, "defaultVariant": "on"}
    if len(raw) > MAX_BYTES:
        raise refuse(f"flag {key}", f"{len(raw)} bytes are not accepted; allowed: at most {MAX_BYTES}")
    try:
        data = json.loads(raw, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        what = "too deep" if isinstance(error, RecursionError) else str(error)
        raise refuse(f"flag {key}", f"this is not JSON ({what}); allowed: an object in flagd's format") from None
    if not isinstance(data, dict):
        raise refuse(f"flag {key}", f"{shown(data)} is not accepted; allowed: an object in flagd's format")
    return data


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not in JSON")


def _variants(found: Any) -> tuple[dict[str, Any], Kind]:
    """The variants, and the one kind that all their values have."""
    if not isinstance(found, dict) or not 1 <= len(found) <= MAX_VARIANTS:
        raise refuse(
            "variants", f"{shown(found)} is not accepted; allowed: an object with 1 to {MAX_VARIANTS} names and values"
        )
    first = next(iter(found))
    kind = _kind(found[first], f"variants.{first}")
    for name, value in found.items():
        where = f"variants.{name}"
        if not name:
            raise refuse("variants", "'' is not accepted; allowed: names of at least one character")
        if _kind(value, where) != kind:
            raise refuse(where, f"{shown(value)} is not accepted; allowed: a {kind}, as that of {first!r}")
        if kind == "object":
            _check_depth(value, where)
    return found, kind


def _kind(value: Any, where: str) -> Kind:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (dict, list)):
        return "object"
    if is_number(value):
        return "number"
    raise refuse(where, f"{shown(value)} is not accepted; allowed: a boolean, string, number, object or list")


def _check_depth(value: Any, where: str) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for one in level
            if isinstance(one, (dict, list))
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return
    raise refuse(where, f"the value is too deep; allowed: at most {MAX_DEPTH} levels")


def _metadata(found: Any) -> dict[str, Any]:
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(isinstance(value, (str, int, float)) for value in found.values()):
        raise refuse("metadata", f"{shown(found)} is not accepted; allowed: an object of texts, numbers and booleans")
    return found


def _names(variants: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, variants))
