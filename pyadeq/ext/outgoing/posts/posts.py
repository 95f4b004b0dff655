"""What operators do with endpoints of posts: add, list, remove, test."""

from __future__ import annotations

from typing import Any

from pyadeq import Adeq, ConfigConflict
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.outgoing.addresses import Allowed, check_url
from pyadeq.ext.outgoing.patterns import check_id
from pyadeq.ext.outgoing.plain import without_codec
from pyadeq.ext.outgoing.posts.endpoints import NAMESPACE, QUEUE, Endpoint, Service, is_url, new_endpoint
from pyadeq.ext.outgoing.posts.groups import TOLD, task
from pyadeq.ext.outgoing.stamps import stamp_key, stamped
from pyadeq.ext.outgoing.times import server_time
from pyadeq.ids import new_ulid
from pyadeq.keys import hint
from pyadeq.models.base import Seconds
from pyadeq.models.worker import Outcome


class Posts:
    """The endpoints of posts of an installation.

    allowed: where posts may go, besides public addresses by https. The process that sends checks it again, by its own
    settings.
    """

    def __init__(self, adeq: Adeq, *, allowed: Allowed | None = None) -> None:
        self._adeq = adeq
        self._config = adeq.config(NAMESPACE)
        self._allowed = allowed or Allowed()

    def add(self, id: str, service: Service, url: str, *, actor: str | None = None, **options: Any) -> Endpoint:
        """Add an endpoint. It gets posts about what happens from now on.

        service: `zulip`, `ntfy`, `slack` or `json`. url: its host is checked now and before each post, or only before
        each post if it is a reference. options: those of Endpoint. Raises ConfigError if something is not accepted, or
        if the id is taken.
        """
        made = new_endpoint(service, url, now=server_time(self._adeq), **options)
        if is_url(url):
            check_url(url, self._allowed)
        try:
            self._config.set(check_id(id), made.encoded(), expect=0, actor=actor, reason="added")
        except ConfigConflict:
            raise ConfigError(f"endpoint: there is one with the id {id!r}; remove it, or choose another id") from None
        return made

    def list(self) -> dict[str, Endpoint]:
        """Return all endpoints by their ids."""
        stored = self._config.list()
        return {id: one for id in sorted(stored) if (one := Endpoint.read(stored[id]))}

    def get(self, id: str) -> Endpoint:
        """Return an endpoint. Raises AdeqError if there is none."""
        found = Endpoint.read(self._config.get(check_id(id)))
        if not found:
            raise AdeqError(f"endpoint: there is no {id!r}{hint(id, [*self.list()])} See adeq post ls")
        return found

    def remove(self, id: str, *, actor: str | None = None) -> None:
        """Remove an endpoint. Posts that wait are not sent any more. Raises AdeqError if there is none."""
        self.get(id)
        self._config.set_many({}, remove=[id, TOLD + id], actor=actor, reason="removed")

    def test(self, id: str, *, wait: Seconds = 30.0) -> Outcome:
        """Have a post sent that says it is a test, and return how that ended. It is tried once.

        Raises WaitTimeout if no process sends posts.
        """
        self.get(id)
        key = stamp_key(self._adeq, NAMESPACE)
        (made,) = stamped(key, [task(id, f"post:{id}:test:{new_ulid()}", post="test")])
        with without_codec(self._adeq) as plain:
            _, outcome = plain.queue(QUEUE)._run_to_end(
                made.payload,
                id=made.id,
                kind=made.kind,
                user=id,
                headers=made.headers,
                priority=made.priority,
                max_attempts=1,
                wait=wait,
            )
        return outcome
