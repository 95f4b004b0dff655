"""The delegations of a change domain: who answers for whom for some time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyadeq._async.change.base import ChangesBase
from pyadeq._core.change import replies
from pyadeq._core.change.people import identified
from pyadeq._core.kernel.nouncalls import Result
from pyadeq.models.base import Moment, to_epoch_ms
from pyadeq.models.change import Delegations, PersonKind


class ChangeDelegations:
    """`changes.delegations`: for some time, another person answers the requests of a person."""

    def __init__(self, changes: ChangesBase) -> None:
        self._changes = changes

    async def set(
        self,
        user: str,
        name: str,
        *,
        to: str,
        start: Moment | None = None,
        until: Moment | None = None,
        types: Sequence[str] = (),
        tags: Sequence[str] = (),
        resources: Sequence[str] = (),
        risk_above: int | None = None,
        risk_below: int | None = None,
        cascade: bool = False,
        active: bool = True,
        actor: str | None = None,
        principal: str | None = None,
        kind: PersonKind | None = None,
        caller: str | None = None,
    ) -> Result:
        """Store a delegation of a person: for some time, another person answers its requests. At most 16 for a person.

        Open requests move now, and move back when it ends. The first delegation that fits decides, by the bytes of the
        names. Returns `stored` or `same`; `cycle` or `full`, and nothing is written.

        start, until: when it begins and ends. None: now, and never.
        types, tags, resources: only changes of one of these types, with one of these tags, to one of these resources.
        risk_above, risk_below: only changes with such a risk score.
        cascade: whether the other person's delegations apply, too.
        actor, principal, kind, caller: who stores it, as in other calls. If an agent stores its own delegation, its
        principal is behind the answers to these requests, and answers no other request of the change.
        """
        fields = {
            "name": name,
            "to": to,
            "from_ms": None if start is None else to_epoch_ms("start", start),
            "until_ms": None if until is None else to_epoch_ms("until", until),
            "types": types or None,
            "tags": tags or None,
            "resources": resources or None,
            "risk_above": risk_above,
            "risk_below": risk_below,
            "cascade": cascade,
            "inactive": not active,
        }
        given = {key: value for key, value in fields.items() if value is not None}
        who = {"actor": actor, "principal": principal, "kind": kind, "caller": caller}
        return await self._set(user, given, who)

    async def remove(
        self,
        user: str,
        name: str,
        *,
        actor: str | None = None,
        principal: str | None = None,
        kind: PersonKind | None = None,
        caller: str | None = None,
    ) -> Result:
        """Remove a delegation of a person. Its open requests move back. Returns `removed` or `unknown`."""
        who = {"actor": actor, "principal": principal, "kind": kind, "caller": caller}
        return await self._set(user, {"name": name, "remove": True}, who)

    async def _set(self, user: str, item: Mapping[str, Any], who: Mapping[str, Any]) -> Result:
        (answer,) = (await self._changes._call("set_delegations", user=user, item=[item], **identified(who))).items
        return answer  # type: ignore[no-any-return]

    async def list(self, user: str) -> Delegations:
        """Return the delegations of a person."""
        return replies.delegations(await self._changes._call("get_delegations", user=user))
