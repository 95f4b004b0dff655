"""ACL rules for a role, computed from what the scripts need.

Each script that writes has a key that it never uses: `<base>!produce`, `<base>!work` or `<base>!operate`. A server
checks the keys of a call before it runs the script. So it refuses a user without the right to that key before anything
happens. Services keep what only `operate` may read at such a key, see `pyadeq.ext.outgoing.stamps`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, get_args

from pyadeq._core.events.bases import NOUN as EVENTS
from pyadeq._core.kernel.manifest import Script, library
from pyadeq.errors import ConfigError
from pyadeq.keys import base_of, no_base

Role = Literal["observer", "producer", "worker", "operator"]
"""What a user of the server does, in all nouns.

observer: looks. producer: enqueues, cancels, waits for results. worker: does tasks, and takes locks. operator:
settings, limits, schedules, pausing, the dead set, capacities, locks taken away by force; produces, too.

A role in one noun only is `<noun>.<role>`, such as `lock.work`: see the roles in lua/<noun>/noun.toml.
"""

ROLES: Final[tuple[Role, ...]] = get_args(Role)
_GATES: Final[dict[Role, tuple[str, ...]]] = {
    "observer": (),
    "producer": ("produce",),
    "worker": ("work",),
    "operator": ("operate", "produce"),
}
# What clients send in addition to scripts: their own, those of redis-py, events, hints, and the command line's.
_LOOK = (
    "asking client|setname cluster|shards cluster|slots command evalsha_ro exists hscan ping readonly scan "
    "script|exists select ssubscribe subscribe sunsubscribe unsubscribe xrange xread xrevrange zmscore"
)
_LOAD = "script|load"
_WRITE = "evalsha info wait"
_BLOCK = {"work": ("blpop", "client|id", "client|unblock")}  # the last two end a wait, where tasks run beside it
REGISTRY: Final = "registry"
_USUAL = {"usual", "in_slot"}  # bases with nothing but the name; the others are those of partitions
_ARGUMENT = {"queue": "queues", "lock": "domains"}  # what takes the names of a noun, if it is not the word
_SINCE_7_2 = {"look": "client|setinfo", "write": "waitaof"}


def acl_rules(
    *roles: Role | str,
    queues: Iterable[str] | None = None,
    domains: Iterable[str] | None = None,
    prefix: str = "ade",
    slot: str | None = None,
    load: bool = True,
    old: bool = False,
    **others: Iterable[str] | None,
) -> list[str]:
    """Return the rules of a user with these roles, for ACL SETUSER or an ACL file. They contain no password.

    All existing rights of the user are removed first. Each role may also read, including payloads and results.

    roles: what the user does in all nouns (`Role`), or in one, as `<noun>.<role>`: `lock.work`.
    queues, domains: names, with their partitions; all of them, unless any names are given.
    others: names of other nouns, by the noun: `memo=["a"]`. If any names are given, all else is refused.
    prefix, slot: as the clients have them.
    load: whether the user may load scripts (any scripts), as clients do after a restart of the server. Otherwise
    another user has to load them.
    old: for servers before 7.2, which refuse rules about WAITAOF and CLIENT SETINFO, because they lack both.
    """
    named = {"queues": queues, "domains": domains, **others}
    gates = _gates(roles)
    using = [script for script in _scripts() if script.uses and script.role in _may(script, gates)]
    used = {word for script in using for word in script.uses}
    apart = {script.id.partition(".")[0] for script in using}  # the other noun may be elsewhere: then `<base>!none`
    keys, gate_keys, channels = [], [], []
    for word, base in _bases(named, prefix, slot):
        writes = bool(gates[word]) or word in used
        keys.append(f"{'~' if writes else '%R~'}{base}:*")
        keys += [f"~{no_base(base)}:*"] if word in apart else []
        gate_keys += [f"~{base}!{gate}" for gate in gates[word]]
        if gates[EVENTS]:
            keys += [] if writes else _event_keys(base, gates[EVENTS])
            gate_keys += [f"~{base}!{EVENTS}.{gate}" for gate in gates[EVENTS]]
        channels.append(f"&{base}:*")
    commands = [f"+{command}" for command in _commands(gates, load, old)]
    return ["resetkeys", "resetchannels", "-@all", *commands, *keys, *gate_keys, *channels]


def _event_keys(base: str, roles: Sequence[str]) -> list[str]:
    """The keys of the event groups of a noun. The scripts of `operate` also read the noun's `config`."""
    return [f"~{base}:events", f"~{base}:events:*", *([f"~{base}:config"] if "operate" in roles else [])]


def _gates(roles: Sequence[str]) -> dict[str, list[str]]:
    """Return the roles in each noun that a user with these roles has."""
    nouns = library().manifest["nouns"]
    own = {f"{word}.{role}" for word, noun in nouns.items() for role in noun["roles"]}
    if not roles or any(role not in (*ROLES, *own) for role in roles):
        raise ConfigError(
            f"roles: {', '.join(map(repr, roles)) or 'none'} is not accepted; allowed: {', '.join(ROLES)}, "
            f"and in one noun: {', '.join(sorted(own))}"
        )
    general = {gate for role in ROLES if role in roles for gate in _GATES[role]}
    found = {
        word: [role for role in noun["roles"] if role in general or f"{word}.{role}" in roles]
        for word, noun in nouns.items()
    }
    if any(own for word, own in found.items() if word != EVENTS):
        found[REGISTRY] = sorted({*found[REGISTRY], "register"})  # who writes to a name also adds it to the registry
    return found


def _may(script: Script, gates: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """The roles of the scripts, of this script's noun, that a user may call."""
    own = gates[script.id.partition(".")[0]]
    return ["observe", "any", *own] if own else ["observe"]


def _commands(gates: Mapping[str, Sequence[str]], load: bool, old: bool) -> list[str]:
    words = {*_LOOK.split(), *([_LOAD] if load else []), *([] if old else [_SINCE_7_2["look"]])}
    every = {gate for own in gates.values() for gate in own}
    if every:
        words |= {*_WRITE.split(), *([] if old else [_SINCE_7_2["write"]])}
    words |= {word for gate in every for word in _BLOCK.get(gate, ())}
    for script in _scripts():
        if script.role in _may(script, gates):
            words |= {command.lower() for command in script.commands}
    return sorted(words)


def _bases(named: Mapping[str, Iterable[str] | None], prefix: str, slot: str | None) -> Iterator[tuple[str, str]]:
    """Return nouns and the bases of these names, or patterns that match all bases."""
    nouns = {_ARGUMENT.get(word, word): noun for word, noun in library().manifest["nouns"].items() if word != EVENTS}
    if unknown := named.keys() - nouns.keys():
        raise ConfigError(f"{min(unknown)} is not known; allowed: {', '.join(sorted(nouns))}")
    for argument, noun in nouns.items():
        word, names = noun["word"], named.get(argument)
        if isinstance(names, str):
            raise ConfigError(f"{argument}: {names!r} is not accepted; allowed: a list of names")
        if all(given is None for given in named.values()):
            yield word, _any(base_of(word, "x", prefix, slot, noun["field"]))
        for name in names or ():
            yield word, base_of(word, name, prefix, slot, noun["field"])
            yield from (
                (word, _pattern(noun["bases"][kind], prefix, name, slot))
                for kind in sorted(noun["bases"].keys() - _USUAL)
                if ("<slot>" in noun["bases"][kind]) == (slot is not None)
            )


def _pattern(base: str, prefix: str, name: str, slot: str | None) -> str:
    """Return the pattern of all bases of a name that are made like this, such as those of its partitions."""
    given = base.replace("<prefix>", prefix).replace("<name>", name).replace("<slot>", slot or "")
    return re.sub("<[^>]*>", "*", given)


def _any(base: str) -> str:
    """Return the pattern of all bases that differ from this one only in its last x."""
    head, _, tail = base.rpartition("x")
    return f"{head}*{tail}"


def _scripts() -> Iterator[Script]:
    return map(library().__getitem__, library())
