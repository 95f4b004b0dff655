# Generated from pyadeq/_async/config/__init__.py by pyadeq/_unasync.py; do not edit.
"""Configs: versioned values of names, and copies of them that stay current."""

from __future__ import annotations

from collections.abc import Iterator, Callable, Iterable, Mapping, Sequence
from typing import Any

from pyadeq._sync.config.snapshot import ConfigSnapshot
from pyadeq._sync.kernel.noun import Noun
from pyadeq._core.config import replies
from pyadeq._core.config.copy import Copy
from pyadeq._core.config.flags import check_flag
from pyadeq._core.kernel.options import checked_list, unfit
from pyadeq.errors import BadArgument, ConfigConflict, ConfigError, ConfigFull
from pyadeq.models.base import Seconds, encode, to_ms
from pyadeq.models.config import ConfigValue, ConfigVersion

MOST = 50
"""How many names one read has, at most."""


class Config(Noun):
    """The values of a namespace. A namespace whose name begins with `_` is for records of a service."""

    noun = "config"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._snapshots: set[ConfigSnapshot] = set()

    # Reading

    def get(self, name: str) -> ConfigValue | None:
        """Return the value of a name; None if it has none."""
        return replies.value((self._call("read", item=[name])).items[0])

    def get_many(self, names: Iterable[str]) -> dict[str, ConfigValue]:
        """Return the values of names, those that have one. Each 50 names are read at one moment."""
        wanted = list(dict.fromkeys(checked_list("names", names)))
        found: dict[str, ConfigValue] = {}
        for start in range(0, len(wanted), MOST):
            answer = self._call("read", item=wanted[start : start + MOST])
            found |= {one.name: one for one in map(replies.value, answer.items) if one is not None}
        return found

    def list(self) -> dict[str, ConfigValue]:
        """Return all values, as they were at one moment."""
        copy = Copy()
        while not copy.take(self._call("read", **copy.wanted())):
            pass
        return dict(copy.content)

    def watch(self, *, on_change: Callable[[frozenset[str]], Any] | None = None, poll: Seconds = 5.0) -> ConfigSnapshot:
        """Return a copy of all values that stays current in the background, once it is started.

            with config.watch() as snapshot:
                snapshot.get("name")

        on_change: called with the names that have changed, also for the first load; in the background, so it should
        not take long. Its errors are logged.
        poll: seconds after which the server is asked, if it has not published a change before.
        """
        seconds = to_ms("poll", poll) / 1000
        if not 0.01 <= seconds <= 3600:
            raise unfit("poll", poll, "0.01 to 3600 seconds")
        return ConfigSnapshot(self._runner, self.calls, self._snapshots, on_change, seconds)

    def history(self, name: str) -> Iterator[ConfigVersion]:
        """Iterate over the versions of a name, newest first: the present one, and what is kept of earlier ones.

        The last 100 are kept, and of the earlier ones at most 1 MiB. The history of a removed name is kept for a day.
        """
        for past in self._pages("history", name=name):
            yield replies.version(past)

    # Writing

    def set(
        self, name: str, value: Any, *, expect: int | None = None, actor: str | None = None, reason: str = ""
    ) -> int:
        """Set the value of a name, and return its version.

        value: bytes, or anything that JSON can hold; at most 64 KiB. If the name begins with `flag:`, it must be a
        feature flag: see `Flag`.
        expect: the version that you have seen; 0: the name must have no value. If it has another version,
        ConfigConflict is raised. None: any.
        actor, reason: who sets it, and why. They are stored with the version.

        Raises ConfigFull if the namespace would have more names than its setting `names_max`, 10,000.
        """
        return self.set_many(
            {name: value}, expect=None if expect is None else {name: expect}, actor=actor, reason=reason
        )

    def set_many(
        self,
        values: Mapping[str, Any],
        *,
        remove: Sequence[str] = (),
        expect: Mapping[str, int] | None = None,
        actor: str | None = None,
        reason: str = "",
    ) -> int:
        """Set values of names and remove others, 1 to 100 in all: all or nothing. Returns the version of all of them.

        expect: the versions of some of these names, as you have seen them. All else is as in `set`. If all names are
        to be removed and have no value, nothing changes, and the rev of the namespace is returned.
        """
        expected = dict(expect or {})
        items: list[dict[str, Any]] = [
            {
                "name": name,
                "value": check_flag(name, encode(value, f"the value of {name}")),
                "expect": expected.pop(name, None),
            }
            for name, value in values.items()
        ]
        items += [
            {"name": name, "remove": True, "expect": expected.pop(name, None)}
            for name in checked_list("remove", remove)
        ]
        if expected:
            raise unfit("expect", next(iter(expected)), "names that this call sets or removes")
        told = self._call("set", item=items, actor=actor, reason=reason)
        if told.status == "full":
            raise ConfigFull(told.names)
        if told.status == "conflict":
            pairs = zip([*values, *remove], told.items, strict=True)
            raise ConfigConflict({name: now.version for name, now in pairs if now.status == "differs"})
        return int(told.rev)

    def remove(self, name: str, *, expect: int | None = None, actor: str | None = None, reason: str = "") -> bool:
        """Remove a name. False if it has no value. expect, actor and reason are as in `set`."""
        told = self._call(
            "set", item=[{"name": name, "remove": True, "expect": expect}], actor=actor, reason=reason
        )
        if told.status == "conflict":
            raise ConfigConflict({name: told.items[0].version})
        return bool(told.items[0].status == "removed")

    def revert(
        self,
        name: str,
        version: int,
        *,
        expect: int | None = None,
        actor: str | None = None,
        reason: str | None = None,
    ) -> int:
        """Set a name to what it was in an earlier version, and return the new version. If it was removed then, it is
        removed.

        expect: as in `set`; None: the version that the name has when the earlier one is read.
        reason: None: `revert to <version>`.
        """
        if self.name.startswith("_"):
            raise ConfigError(f"namespace: {self.name!r} has records of a service, which cannot be reverted")
        found = self._call("history", name=name, version=version)
        if not found.items:
            what = f"version: {version} is not in the history of {name!r}; allowed: those that history names"
            raise BadArgument("ADEQ_ARG", "pyadeq", what)
        before = replies.version(found.items[0])
        return self.set_many(
            {} if before.value is None else {name: before.value},
            remove=[name] if before.value is None else [],
            expect={name: found.version if expect is None else expect},
            actor=actor,
            reason=f"revert to {version}" if reason is None else reason,
        )

    def sweep(self) -> int:
        """Delete what is left of names that were removed more than a day ago, and return their number.

        Writes do it, too: this is for a namespace without writes.
        """
        forgotten, more = 0, True
        while more:
            told = self._call("sweep", limit=1000)
            forgotten, more = forgotten + told.forgotten, bool(told.more)
        return forgotten

    def close(self) -> None:
        """Close all snapshots of this namespace. The client does it when it is closed."""
        for snapshot in list(self._snapshots):
            snapshot.close()
