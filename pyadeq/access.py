"""ACL rules for a role, computed from what the scripts need.

Each script that writes has a key that it never uses: `<base>!produce`, `<base>!work` or `<base>!operate`. A server
checks the keys of a call before it runs the script. So it refuses a user without the right to that key before anything
happens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, get_args

from pyadeq._core.kernel.manifest import Script, library
from pyadeq.errors import ConfigError
from pyadeq.keys import base_of, partition_base

Role = Literal["observer", "producer", "worker", "operator"]
"""What a user of the server does.

observer: looks. producer: enqueues, cancels, waits for results. worker: does tasks, and takes locks. operator:
settings, limits, schedules, pausing, the dead set, capacities, locks taken away by force; produces, too.
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
    "script|exists select ssubscribe subscribe sunsubscribe unsubscribe xrange xread xrevrange"
)
_LOAD = "script|load"
_WRITE = "evalsha info wait"
_BLOCK = {"work": ("blpop", "client|id", "client|unblock")}  # the last two end a wait, where tasks run beside it
_SINCE_7_2 = {"look": "client|setinfo", "write": "waitaof"}


def acl_rules(
    *roles: Role,
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

    queues, domains: names, with their partitions; all of them, unless one of the two is given.
    others: names of other nouns, by the plural of what a name is called.
    prefix, slot: as the clients have them.
    load: whether the user may load scripts (any scripts), as clients do after a restart of the server. Otherwise
    another user has to load them.
    old: for servers before 7.2, which refuse rules about WAITAOF and CLIENT SETINFO, because they lack both.
    """
    if not roles or any(role not in ROLES for role in roles):
        raise ConfigError(
            f"roles: {', '.join(map(repr, roles)) or 'none'} is not accepted; allowed: {', '.join(ROLES)}"
        )
    gates = list(dict.fromkeys(gate for role in roles for gate in _GATES[role]))
    used = {word for script in _scripts() if gates and script.role in ("any", *gates) for word in script.uses}
    keys, gate_keys, channels = [], [], []
    for noun, base in _bases({"queues": queues, "domains": domains, **others}, prefix, slot):
        own = [gate for gate in gates if gate in noun["roles"]]
        keys.append(f"{'~' if own or noun['word'] in used else '%R~'}{base}:*")
        gate_keys += [f"~{base}!{gate}" for gate in own]
        channels.append(f"&{base}:*")
    commands = [f"+{command}" for command in _commands(gates, load, old)]
    return ["resetkeys", "resetchannels", "-@all", *commands, *keys, *gate_keys, *channels]


def _commands(gates: Sequence[str], load: bool, old: bool) -> list[str]:
    words = {*_LOOK.split(), *([_LOAD] if load else []), *([] if old else [_SINCE_7_2["look"]])}
    if gates:
        words |= {*_WRITE.split(), *([] if old else [_SINCE_7_2["write"]])}
    words |= {word for one in gates for word in _BLOCK.get(one, ())}
    for script in _scripts():
        if script.read_only or (gates and script.role in ("any", *gates)):
            words |= {command.lower() for command in script.commands}
    return sorted(words)


def _bases(
    named: dict[str, Iterable[str] | None], prefix: str, slot: str | None
) -> Iterator[tuple[dict[str, Any], str]]:
    """Return the nouns and the bases of these names, or patterns that match all bases."""
    nouns = {f"{noun['field']}s": noun for noun in library().manifest["nouns"].values()}
    if unknown := named.keys() - nouns.keys():
        raise ConfigError(f"{min(unknown)} is not known; allowed: {', '.join(sorted(nouns))}")
    for field, noun in nouns.items():
        names = named.get(field)
        if isinstance(names, str):
            raise ConfigError(f"{field}: {names!r} is not accepted; allowed: a list of names")
        if all(given is None for given in named.values()):
            yield noun, _any(base_of(noun["word"], "x", prefix, slot, noun["field"]))
        for name in names or ():
            yield noun, base_of(noun["word"], name, prefix, slot, noun["field"])
            if "partition" in noun["bases"] and slot is None:
                yield noun, _any(partition_base(name, "x", prefix))


def _any(base: str) -> str:
    """Return the pattern of all bases that differ from this one only in its last x."""
    head, _, tail = base.rpartition("x")
    return f"{head}*{tail}"


def _scripts() -> Iterator[Script]:
    return map(library().__getitem__, library())
