"""Signatures of Standard Webhooks 1.0, against published vectors and the published package."""

import json
import time
from base64 import b64encode
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from pyadeq.errors import ConfigError
from pyadeq.ext.connect.crypto import Encrypted, Signed, new_key
from pyadeq.ext.outgoing.references import check_reference
from pyadeq.ext.outgoing.webhooks.signing import BadSignature, new_secret, read_secret, sign, stored_secret, verify

VECTORS = [
    (
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'),
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    ),
    (
        "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
        ("msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", 1649367553, b'{"email":"test@example.com","username":"test_user"}'),
        "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=",
    ),
]
BODY = json.dumps({"type": "task.completed", "word": "größer"}).encode()


def headers(secrets: list[str], id: str = "m1", at: int | None = None, body: bytes = BODY) -> dict[str, str]:
    at = int(time.time()) if at is None else at
    return {"Webhook-Id": id, "webhook-timestamp": str(at), "webhook-signature": sign(secrets, id, at, body)}


@pytest.mark.parametrize(("secret", "message", "signature"), VECTORS)
def test_published_vectors(secret: str, message: tuple[str, int, bytes], signature: str) -> None:
    assert sign([secret], *message) == signature


def test_the_published_package_accepts_it_during_a_rotation() -> None:
    old, new, other = new_secret(), new_secret(), new_secret()
    both = headers([new, old])
    for secret in (old, new):
        assert Webhook(secret).verify(BODY, both) == json.loads(BODY)
        assert verify([secret], both, BODY) == "m1"
    with pytest.raises(WebhookVerificationError):
        Webhook(other).verify(BODY, both)
    with pytest.raises(BadSignature, match="known secret"):
        verify([other], both, BODY)


def test_what_is_changed_or_old_is_refused() -> None:
    secret = new_secret()
    good = headers([secret], at=1000)
    assert verify([secret], good, BODY, now=1300) == "m1"
    for late in (699, 1301):
        with pytest.raises(BadSignature, match="away from this clock"):
            verify([secret], good, BODY, now=late)
    changes = [{"Webhook-Id": "m2"}, {"webhook-timestamp": "1001"}, {"webhook-signature": "v1a,AAAA"}]
    for change in changes:
        with pytest.raises(BadSignature, match="known secret"):
            verify([secret], {**good, **change}, BODY, now=1000)
    with pytest.raises(BadSignature, match="known secret"):
        verify([secret], good, BODY + b" ", now=1000)
    for missing in good:
        with pytest.raises(BadSignature, match="missing"):
            verify([secret], {name: value for name, value in good.items() if name != missing}, BODY, now=1000)


def test_secrets_are_read_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = new_secret()
    file = tmp_path / "secret"
    file.write_text(f"{secret}\n")
    monkeypatch.setenv("HOOK", secret)
    assert read_secret("one", "env:HOOK", None) == read_secret("one", f"file:{file}", None) == secret
    short = "whsec_" + b64encode(b"x" * 23).decode()
    for wrong in (short, "whsec_" + b64encode(b"x" * 65).decode(), secret.removeprefix("whsec_"), "whsec_?"):
        file.write_text(wrong)
        with pytest.raises(ConfigError, match="24 to 64 bytes") as raised:
            read_secret("one", f"file:{file}", None)
        assert wrong not in str(raised.value)
    with pytest.raises(ConfigError, match="no such variable"):
        read_secret("one", "env:HOOK_2", None)
    with pytest.raises(ConfigError, match="No such file"):
        read_secret("one", f"file:{tmp_path}/none", None)
    for reference in (secret, "file:relative", "env:", "env:A B", "vault:x"):
        with pytest.raises(ConfigError, match="allowed: env:NAME") as raised:
            check_reference("secret", reference)
        assert reference not in str(raised.value).replace("env:NAME", "")


def test_a_sealed_secret_opens_for_its_endpoint_only() -> None:
    secret, old, new = new_secret(), new_key(), new_key()
    stored = stored_secret("one", secret, Encrypted([old]))
    assert stored.startswith("sealed:")
    assert secret not in stored
    assert read_secret("one", stored, Encrypted([new, old])) == secret
    for id, codec, why in (
        ("two", Encrypted([old]), "for something else"),
        ("one", Encrypted([new]), "with another key"),
        ("one", None, "no codec to open it"),
    ):
        with pytest.raises(ConfigError, match=why) as raised:
            read_secret(id, stored, codec)
        assert stored not in str(raised.value)
    with pytest.raises(ConfigError, match="sealed one"):
        read_secret("one", "sealed:?", Encrypted([old]))


def test_a_secret_is_not_stored_in_clear() -> None:
    secret = new_secret()
    for codec, why in (
        (None, "no codec to seal it"),
        (Signed([new_key()]), "only signs"),
        (Encrypted([new_key()], seal=False), "only signs"),
    ):
        with pytest.raises(ConfigError, match=why) as raised:
            stored_secret("one", secret, codec)
        assert secret not in str(raised.value)
    for wrong in ("sealed:AAAA", "whsec_AAAA", "x"):
        with pytest.raises(ConfigError, match=r"accepted|no secret"):
            stored_secret("one", wrong, Encrypted([new_key()]))
