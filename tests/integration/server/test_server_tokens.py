"""Tokens: who gets in, and who does not."""

import hashlib
import time
from typing import Any

import pytest
from fastapi import Request
from httpx import ASGITransport, AsyncClient, Response

from pyadeq.asyncio import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import ConfigError
from pyadeq.ext.operations.rights import all_rights
from pyadeq.ext.server import Tokens, app, attempts, authentication
from pyadeq.ext.server.attempts import Attempts, address_of
from pyadeq.ext.server.buckets import Buckets
from pyadeq.ext.server.tokens import DAY, LIFETIME, TOMBSTONE, Rate, new_token, old_tokens, read_token, revoked
from tests.waiting import DEADLINE, eventually

pytestmark = pytest.mark.any_engine
TASKS = "/v1/queues/mail/tasks"
STATS = "/v1/queues/mail/stats"


class Service:
    """The service with tokens, whose clock is ahead by some seconds."""

    def __init__(self, adeq: Adeq) -> None:
        self.adeq = adeq
        self.ahead = 0.0
        self.app = app(adeq, authenticate=Tokens(adeq, clock=lambda: time.time() + self.ahead))

    async def make(self, *rights: str, **options: Any) -> str:
        """The text of a new token that the service knows."""
        id, text, token = new_token("ann", rights or ["operator"], **options)
        await self.adeq.config("_tokens").set(id, token.encoded())
        return text

    async def revoke(self, text: str) -> None:
        tokens, id = self.adeq.config("_tokens"), text.split("_")[1]
        found = await tokens.get(id)
        token = found and read_token(found.value)
        assert token
        await tokens.set(id, revoked(token).encoded())

    async def get(
        self, text: str | None, path: str = STATS, *, address: str = "192.0.2.1", method: str = "GET", **options: Any
    ) -> Response:
        headers = {} if text is None else {"Authorization": f"Bearer {text}"}
        transport = ASGITransport(self.app, raise_app_exceptions=False, client=(address, 1))
        async with AsyncClient(transport=transport, base_url="http://service", headers=headers) as client:
            return await client.request(method, path, **options)

    async def knows(self, text: str) -> None:
        """Wait until the token is accepted."""

        async def accepted() -> bool:
            return (await self.get(text, address="198.51.100.1")).status_code in (200, 403, 404)

        await eventually(accepted)


@pytest.fixture
async def service(adeq: Adeq) -> Service:
    await adeq.queue("mail").enqueue(1, id="a", user="ann")
    await adeq.queue("mail").enqueue(1, id="b", user="ben")
    return Service(adeq)


async def test_a_token_gets_in_with_its_rights(service: Service) -> None:
    text = await service.make("queue.observe", names=["mail"])
    assert (await service.get(text, f"{TASKS}/a")).status_code == 200
    assert (await service.get(text, f"{TASKS}/a:cancel", method="POST")).status_code == 403
    assert (await service.get(text, "/v1/queues/news/stats")).status_code == 404
    assert (await service.get(None)).status_code == 401


async def test_what_is_done_names_the_owner(service: Service) -> None:
    text = await service.make("operator")
    made = (await service.get(text, TASKS, method="POST", json={})).json()["id"]
    assert (await service.get(text, f"{TASKS}/{made}")).json()["source"] == "api:ann"


async def test_a_token_of_a_user_sees_only_their_tasks(service: Service) -> None:
    text = await service.make("queue.observe", user="ann")
    assert (await service.get(text, f"{TASKS}/a")).status_code == 200
    assert (await service.get(text, f"{TASKS}/b")).status_code == 404
    assert [one["id"] for one in (await service.get(text, TASKS, params={"state": "ready"})).json()["items"]] == ["a"]


async def test_the_server_never_has_the_secret(service: Service) -> None:
    text = await service.make()
    _, id, secret = text.split("_", 2)
    found = await service.adeq.config("_tokens").get(id)
    token = found and read_token(found.value)
    assert found
    assert token
    assert secret.encode() not in found.value
    assert token.hash == hashlib.sha256(secret.encode()).hexdigest()
    assert token.hash not in repr(token)
    assert len(secret) == 43


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "adeq_",
        "x",
        "adeq_{id}",
        "adeq_{id}_",
        "adeq_{id}_{short}",
        "adeq_{id}_{secret}x",
        "adeq_{id}_{secret} x",
        "ADEQ_{id}_{secret}",
        "adeq_{other}_{secret}",
        "adeq_{id}_{guess}",
        "{id}_{secret}",
        "adeq_{id}_{hash}",
        "adeq_flag:x_{secret}",
        "x" * 60_000,
    ],
)
async def test_what_is_not_the_token_is_refused(service: Service, wrong: str) -> None:
    text = await service.make()
    _, id, secret = text.split("_", 2)
    given = wrong.format(
        id=id,
        secret=secret,
        short=secret[:-1],
        other="0" * 12,
        guess="A" * 43,
        hash=hashlib.sha256(secret.encode()).hexdigest()[:43],
    )
    refused = await service.get(given)
    assert (refused.status_code, refused.json()["code"]) == (401, "UNAUTHENTICATED")
    assert secret not in refused.text
    assert refused.headers["www-authenticate"] == 'Bearer error="invalid_token"'
    assert (await service.get(text)).status_code == 200


async def test_other_headers_do_not_get_in(service: Service) -> None:
    text = await service.make()
    transport = ASGITransport(service.app)
    async with AsyncClient(transport=transport, base_url="http://service") as client:
        basic = await client.get(STATS, headers={"Authorization": f"Basic {text}"})
        assert basic.status_code == 401
        twice = [("Authorization", f"Bearer {text}"), ("Authorization", "Bearer adeq_0_0")]
        assert (await client.get(STATS, headers=twice)).status_code == 400
        assert (await client.get(STATS, headers={"X-Token": text, "Cookie": f"token={text}"})).status_code == 401


async def test_an_expired_token_is_refused(service: Service) -> None:
    text = await service.make()
    assert (await service.get(text)).status_code == 200
    service.ahead = LIFETIME - 60
    assert (await service.get(text)).status_code == 200
    service.ahead = LIFETIME + 1
    refused = await service.get(text)
    assert (refused.status_code, refused.json()["code"]) == (401, "TOKEN_EXPIRED")
    wrong = f"{text[:-43]}{'A' * 43}"
    assert (await service.get(wrong)).json()["code"] == "UNAUTHENTICATED", "only who has the secret learns of it"


async def test_a_token_without_an_end(service: Service) -> None:
    text = await service.make(lifetime=None)
    service.ahead = 1000 * 365 * DAY
    assert (await service.get(text)).status_code == 200


async def test_revocation_takes_effect_by_the_hint(service: Service) -> None:
    text, other = await service.make(), await service.make()
    await service.knows(text)
    await service.revoke(text)

    async def refused() -> bool:
        return (await service.get(text)).status_code == 401

    await eventually(refused)
    assert (await service.get(other, address="192.0.2.2")).status_code == 200


async def test_revocation_takes_effect_without_the_hint(adeq: Adeq, monkeypatch: pytest.MonkeyPatch) -> None:
    assert authentication.POLL < 10
    monkeypatch.setattr(authentication, "POLL", 0.1)
    listening = adeq.hints.listening
    monkeypatch.setattr(adeq.hints, "listening", lambda channel: listening(f"{channel}:other"))
    await adeq.queue("mail").configure()
    service = Service(adeq)
    text = await service.make()
    await service.knows(text)
    await service.revoke(text)

    async def refused() -> bool:
        return (await service.get(text)).status_code == 401

    await eventually(refused)


async def test_no_token_reaches_the_tokens(service: Service) -> None:
    """It could give itself more rights."""
    text = await service.make(*sorted(all_rights()))
    id = text.split("_")[1]
    for method, path, body in (
        ("GET", "/v1/configs/_tokens/values", None),
        ("GET", f"/v1/configs/_tokens/values/{id}", None),
        ("GET", f"/v1/configs/%5Ftokens/values/{id}/history", None),
        ("PUT", f"/v1/configs/_tokens/values/{id}", {}),
        ("DELETE", f"/v1/configs/_tokens/values/{id}", None),
        ("POST", f"/v1/configs/_tokens/values/{id}:revert", {"version": 1}),
    ):
        refused = await service.get(text, path, method=method, json=body)
        assert (refused.status_code, refused.json()["code"]) == (404, "NOT_FOUND"), path
    await service.adeq.config("shop").configure()
    assert (await service.get(text, "/v1/configs")).json()["items"] == ["shop"]


async def test_a_token_of_another_installation_is_refused(service: Service, url: str, base_name: str) -> None:
    text = await service.make()
    async with Adeq.from_url(url, prefix=f"{base_name}-other") as adeq:
        other = Service(adeq)
        await other.make()
        assert (await other.get(text)).status_code == 401
    assert (await service.get(text)).status_code == 200


async def test_records_that_are_no_tokens_let_nobody_in(service: Service) -> None:
    text = await service.make()
    id = text.split("_")[1]
    tokens = service.adeq.config("_tokens")
    found = await tokens.get(id)
    assert found
    good = found.value
    await service.knows(text)
    for wrong in (b"", b"{}", b"null", b"\xff", good.replace(b'"user"', b'"more"'), good.replace(b'"names"', b'"x"')):
        version = await tokens.set(id, wrong)

        async def refused() -> bool:
            return (await service.get(text, address="2001:db8::1")).status_code in (401, 429)

        await eventually(refused)
        assert version
    await tokens.set(id, good)
    await service.knows(text)


async def test_rights_that_are_not_known_allow_nothing(service: Service) -> None:
    id, text, token = new_token("ann", ["queue.observe"])
    more = token.model_copy(update={"rights": ("queue.observe", "queue.destroy")})
    await service.adeq.config("_tokens").set(id, more.encoded())
    assert (await service.get(text)).status_code == 200


async def test_guesses_are_limited(service: Service) -> None:
    text, other = await service.make(), await service.make()
    guess = f"{text[:-43]}{'A' * 43}"
    for _ in range(attempts.MOST):
        assert (await service.get(guess)).status_code == 401
    refused = await service.get(guess)
    assert (refused.status_code, refused.json()["code"]) == (429, "TOO_MANY_ATTEMPTS")
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert (await service.get(text)).status_code == 429, "also the right one, or guessing would go on"
    assert (await service.get(other)).status_code == 200, "others behind the same address are not locked out"
    assert (await service.get(text, address="192.0.2.9")).status_code == 200
    for number in range(attempts.MOST):
        assert (await service.get(f"adeq_{number:012x}_{'A' * 43}")).status_code == 401
    assert (await service.get("adeq_x")).status_code == 429
    assert (await service.get(other)).status_code == 200


def test_attempts_are_counted_in_a_bounded_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "MOST_KEYS", 100)
    now = [0.0]
    counted = Attempts(lambda: now[0])
    for _ in range(attempts.MOST):
        assert counted.wait(("a", "t")) == 0
        counted.failed(("a", "t"))
    assert counted.wait(("a", "t")) == 60
    now[0] = 59.5
    assert counted.wait(("a", "t")) == 1
    now[0] = 60
    assert counted.wait(("a", "t")) == 0
    counted.failed(("a", "t"))
    assert counted.wait(("a", "t")) == 0
    for number in range(1000):
        counted.failed((str(number), "t"))
    assert len(counted._failed) == 100


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        (None, "unix"),
        ("", "unix"),
    ],
)
def test_an_address_that_is_counted(host: str | None, address: str) -> None:
    client = None if host is None else (host, 1)
    assert address_of(Request({"type": "http", "headers": [], "client": client})) == address


async def test_the_server_away(binary: Any) -> None:
    with EmbeddedServer(binary=binary) as server:
        async with Adeq.from_url(server.url, retry_for=0.2) as adeq:
            service = Service(adeq)
            text = await service.make()
            assert (await service.get(text)).status_code == 404
            snapshot = service.app.state.gate._authenticate._snapshot
            server.kill()
            assert (await service.get(text)).json()["code"] != "TOKENS_UNKNOWN"
            snapshot._heard_at -= 61  # a minute ago
            refused = await service.get(text)
            assert (refused.status_code, refused.json()["code"]) == (503, "TOKENS_UNKNOWN")
            assert refused.headers["retry-after"] == "1"
            assert refused.json()["retryable"] is True
            server.restart()

            async def back() -> bool:
                return (await service.get(text)).status_code == 404

            await eventually(back, DEADLINE)


async def test_the_server_away_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyadeq.ext.server.authentication.FIRST_LOAD", 0.1)
    async with Adeq.from_url("redis://127.0.0.1:1", retry_for=0.1) as adeq:
        id, text, token = new_token("ann", ["operator"])
        service = Service(adeq)
        assert (await service.get(text)).status_code == 503
        assert id
        assert token


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rights": []}, "rights: none"),
        ({"rights": ["queue.destroy"]}, "rights: 'queue.destroy' is not accepted; allowed: observer"),
        ({"names": []}, "names: 0 patterns"),
        ({"names": ["[a-z]"]}, "names: '[a-z]' is not accepted"),
        ({"names": ["*"] + [f"a{n}" for n in range(40)]}, "names: 41 patterns"),
        ({"owner": "a b"}, "owner: 'a b' is not accepted"),
        ({"user": "a b"}, "user: 'a b' is not accepted"),
        ({"lifetime": 0}, "expires: 0 s is not accepted"),
    ],
)
def test_a_token_that_cannot_be_made(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as error:
        new_token(**{"owner": "ann", "rights": ["operator"], **options})
    assert str(error.value).startswith(says)


def test_tombstones_stay_until_the_token_would_have_expired() -> None:
    now = 1_000_000.0
    _, _, short = new_token("Ann", ["operator"], lifetime=100, now=now)
    _, _, endless = new_token("ann", ["operator"], lifetime=None, now=now)
    assert short.owner == "ann", "Ann and ann are one person"
    stored = {
        "short": short.encoded(),
        "ended": revoked(short, now).encoded(),
        "endless": endless.encoded(),
        "ended-endless": revoked(endless, now).encoded(),
        "no-token": b"x",
    }
    assert old_tokens(stored, now + 99) == []
    assert old_tokens(stored, now + 100) == ["short", "ended"]
    assert old_tokens(stored, now + TOMBSTONE) == ["short", "ended", "ended-endless"]
    assert len(old_tokens({str(n): short.encoded() for n in range(500)}, now + 100)) == 99
    assert revoked(short).hash == ""
    assert not revoked(short).fits("")


async def test_a_token_has_its_rate_and_others_have_theirs(service: Service) -> None:
    limited, other = await service.make(rate=(2, 3600)), await service.make()
    await service.adeq.queue("mail").enqueue(1)
    first, last = [await service.get(limited) for _ in range(2)]
    assert (first.status_code, last.status_code) == (200, 200)
    refused = await service.get(limited)
    left = [(one.headers["ratelimit-policy"], one.headers["ratelimit"]) for one in (first, last, refused)]
    assert {policy for policy, _ in left} == {'"token";q=2;w=3600'}
    assert [rest for _, rest in left] == ['"token";r=1;t=1800', '"token";r=0;t=3600', '"token";r=0;t=3600']
    assert "ratelimit" not in (await service.get(other)).headers
    assert (refused.status_code, refused.json()["code"]) == (429, "TOO_MANY_REQUESTS")
    assert (refused.json()["retryable"], int(refused.headers["retry-after"])) == (True, 1800)
    assert (await service.get(limited, "/v1/queues/none/stats")).status_code == 429, "nothing is told before"
    assert (await service.get(other)).status_code == 200
    assert (await service.get(limited[:-1] + ("A" if limited[-1] != "A" else "B"))).status_code == 401


def test_a_rate_is_an_even_flow_after_one_period_at_once() -> None:
    now = 0.0
    buckets = Buckets(clock=lambda: now)
    rate = Rate(limit=10, period=5)
    assert [buckets.wait("a", rate) for _ in range(11)] == [0] * 10 + [1]
    now = 0.5
    assert [buckets.wait("a", rate) for _ in range(2)] == [0, 1]
    now = 100.0
    assert [buckets.wait("a", rate) for _ in range(11)] == [0] * 10 + [1]
    assert buckets.wait("b", rate) == 0
    slow = Rate(limit=1, period=60)
    assert (buckets.wait("c", slow), buckets.wait("c", slow)) == (0, 60)
    left = [buckets.headers(key, rate)["RateLimit"] for key in "abx"]
    assert left == ['"token";r=0;t=5', '"token";r=9;t=1', '"token";r=10;t=0']


def test_only_so_many_flows_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyadeq.ext.server.buckets.MOST_KEYS", 2)
    buckets, rate = Buckets(clock=lambda: 0.0), Rate(limit=1, period=60)
    assert [buckets.wait(key, rate) for key in ("a", "b", "c", "b", "a")] == [0, 0, 0, 60, 0]


def test_a_token_without_a_rate_is_as_older_services_know_it() -> None:
    _, _, token = new_token("ann", ["observer"])
    assert b"rate" not in token.encoded()
    _, _, limited = new_token("ann", ["observer"], rate=(100, 1))
    assert read_token(limited.encoded()) == limited
    for wrong in ((0, 1), (1_000_001, 1), (1, 0.5), (1, 90_000)):
        with pytest.raises(ConfigError, match="allowed: 1 to 1,000,000 requests"):
            new_token("ann", ["observer"], rate=wrong)
