# Generated from tests/integration/aio/test_clients_tls.py by pyadeq/_unasync.py; do not edit.
"""TLS, on a server that has it: that of the distribution."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from redis import Redis, RedisCluster

from pyadeq._sync.kernel.hints import Hints
from pyadeq._core.kernel.packing import pack
from pyadeq import Adeq
from pyadeq.errors import TransportError
from tests.conftest import CLUSTER, free_port, serve_all_slots
from tests.integration.servers import HOST, make_certificates, start
from tests.waiting import DEADLINE

BINARY = shutil.which("redis-server")
pytestmark = [
    pytest.mark.skipif(BINARY is None, reason="needs a redis-server on the PATH, for its TLS"),
    pytest.mark.skipif(CLUSTER, reason="these have servers of their own"),
]


class Secure(NamedTuple):
    port: int
    ca: str


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    """A cluster of one node, whose TLS port serves clients of one server as well."""
    certificates = make_certificates(tmp_path_factory.mktemp("certificates"))
    port = free_port()
    settings = {"tls-port": str(port), "tls-auth-clients": "no", "cluster-enabled": "yes"}
    settings |= {"tls-cluster": "yes", **certificates}
    with start(Path(str(BINARY)), settings) as server:
        serve_all_slots(server)
        yield Secure(port, certificates["tls-ca-cert-file"])


@pytest.mark.parametrize("cluster", [False, True])
def test_by_url(secure: Secure, base_name: str, cluster: bool) -> None:
    url = f"rediss://{HOST}:{secure.port}"
    with Adeq.from_url(url, cluster=cluster, ssl_ca_certs=secure.ca) as adeq:
        use(adeq, base_name)


@pytest.mark.parametrize("kind", [Redis, RedisCluster])
def test_by_client(secure: Secure, base_name: str, kind: type) -> None:
    with kind(host=HOST, port=secure.port, ssl=True, ssl_ca_certs=secure.ca) as client, Adeq(client) as adeq:
        use(adeq, base_name)


def test_a_certificate_of_a_stranger_is_refused(secure: Secure, base_name: str) -> None:
    with Adeq.from_url(f"rediss://{HOST}:{secure.port}", retry_for=0.1) as adeq:
        with pytest.raises(TransportError, match=r"(?i)certificate") as refused:
            adeq.queue(base_name).enqueue(1)
        assert not refused.value.may_have_applied


@pytest.mark.parametrize("cluster", [False, True])
def test_hints(secure: Secure, base_name: str, cluster: bool) -> None:
    url = f"rediss://{HOST}:{secure.port}"
    with Adeq.from_url(url, cluster=cluster, ssl_ca_certs=secure.ca) as adeq:
        hints = Hints(adeq._nodes)
        with hints.listening(base_name) as ear:
            for n in range(100):
                with hints.listening(f"{base_name}-{n}") as other:
                    for channel in (base_name, f"{base_name}-{n}"):
                        adeq._nodes.exchange(
                            adeq._nodes.routes.node_of(channel), [pack("SPUBLISH", channel, "w")]
                        )
                    assert ear.wait(DEADLINE) == other.wait(DEADLINE) == ["w"]
        hints.close()


def use(adeq: Adeq, name: str) -> None:
    queue = adeq.queue(name)
    receipt = queue.enqueue(1)
    (lease,) = queue.claim(wait=5)
    assert lease.id == receipt.id
    assert not queue.leases.block(["any"], 0.01)
