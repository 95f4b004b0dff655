"""A service as users start it, on a private server."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from pyadeq import Adeq, EmbeddedServer, Task
from pyadeq.ext.operations.rights import ACT, all_rights
from pyadeq.ext.server.tokens import NAMESPACE, new_token
from tests.serving import serving

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"


SECRET = "only-for-bob"


class Tenants(NamedTuple):
    """A service with records of bob in objects of the name `box`, and a token for ann alone. adeq: its client."""

    at: str
    ann: str
    adeq: Adeq


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenants]:
    """See `Tenants`."""
    with EmbeddedServer() as server, Adeq.from_url(server.url) as adeq:
        adeq.queue("box").enqueue_many([Task(id=id, user="bob", payload=SECRET) for id in ("a", "b")])
        adeq.changes("box").policies.set("one", required=1)
        adeq.changes("box").put("a", type="t", description="d", actor="bob")
        id, text, token = new_token("ann", all_rights() - {ACT}, user="ann")
        adeq.config(NAMESPACE).set(id, token.encoded())
        with serving(tmp_path_factory.mktemp("tenants") / "log", "--url", server.url) as at:
            yield Tenants(at, text, adeq)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of `adeq serve --no-auth`."""
    with serving(tmp_path_factory.mktemp("service") / "log", "--no-auth") as at:
        yield at
