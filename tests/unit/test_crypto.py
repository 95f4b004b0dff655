"""The codecs: what they store, what they read again, and what they do not accept."""

from __future__ import annotations

import builtins
import subprocess
import sys
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyadeq.codec import Codec
from pyadeq.errors import ConfigError, PayloadError
from pyadeq.ext.connect.crypto import Encrypted, Signed, new_key

OLD, NEW = (urlsafe_b64encode(bytes([number]) * 32).decode() for number in (1, 2))
KINDS: list[Callable[..., Codec]] = [Encrypted, Signed]
HERE = b"ade:{queue:mail}:payload"
each = pytest.mark.parametrize("kind", KINDS)


@each
@given(data=st.binary(max_size=2000), context=st.binary(min_size=1, max_size=100).filter(lambda one: b"\0" not in one))
def test_what_was_sealed_opens(kind: Callable[..., Codec], data: bytes, context: bytes) -> None:
    assert kind([NEW]).open(kind([NEW]).seal(data, context), context) == data


@each
def test_no_bit_may_change(kind: Callable[..., Codec]) -> None:
    codec = kind([NEW])
    sealed = codec.seal(b"pay ann 10", HERE)
    for at in range(len(sealed)):
        changed = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
        try:
            found = codec.open(changed, HERE)
        except PayloadError:
            continue
        assert (found, at) == (b"pay ann 10", len(sealed) - 2)  # the last digit of Base64 has bits that say nothing
    for cut in (sealed[:-1], sealed + b"A", sealed[:4], b""):
        with pytest.raises(PayloadError):
            codec.open(cut, HERE)


@each
def test_a_key_is_changed_while_both_are_read(kind: Callable[..., Codec]) -> None:
    before, between, after = kind([OLD]), kind([OLD, NEW]), kind([NEW, OLD])
    for writer in (before, between, after):
        for reader in (between, after):
            assert reader.open(writer.seal(b"x", HERE), HERE) == b"x"
    with pytest.raises(PayloadError, match="another key"):
        kind([NEW]).open(before.seal(b"x", HERE), HERE)


@each
def test_a_result_is_no_payload_and_another_queue_is_another(kind: Callable[..., Codec]) -> None:
    codec = kind([NEW])
    for other in (b"ade:{queue:mail}:result", b"ade:{queue:pay}:payload", b""):
        with pytest.raises(PayloadError, match="something else"):
            codec.open(codec.seal(b"x", HERE), other)


@each
def test_what_is_plain_is_accepted_for_a_while_only(kind: Callable[..., Codec]) -> None:
    assert kind([NEW], plain=True).open(b'{"a":1}', HERE) == b'{"a":1}'
    with pytest.raises(PayloadError, match=r"it is not (encrypted|signed)"):
        kind([NEW]).open(b'{"a":1}', HERE)
    with pytest.raises(PayloadError):
        kind([NEW], plain=True).open(kind([OLD]).seal(b"x", HERE), HERE)


def test_encrypted_shows_nothing_and_signed_everything() -> None:
    assert b"secret" not in Encrypted([NEW]).seal(b"secret", HERE)
    assert Encrypted([NEW]).seal(b"secret", HERE) != Encrypted([NEW]).seal(b"secret", HERE)
    assert Signed([NEW]).seal(b"open", HERE).endswith(b":open")


@each
@pytest.mark.parametrize("keys", [[], "", NEW, [""], [NEW, "short"], [NEW[:-5]], ["é" * 44], [None]])
def test_keys_that_are_none(kind: Callable[..., Codec], keys: Any) -> None:
    with pytest.raises(ConfigError, match="allowed") as refused:
        kind(keys)
    assert NEW not in str(refused.value)
    assert NEW[:-5] not in str(refused.value)


def test_a_key_from_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pyadeq.ext.connect.crypto"], capture_output=True, text=True, check=True
    )
    assert Signed([done.stdout.strip()]).seal(b"x", HERE) != Signed([new_key()]).seal(b"x", HERE)


def test_without_the_extra_signing_works_and_encryption_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def imported(name: str, *rest: Any) -> Any:
        if name.startswith("cryptography"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", imported)
    assert Signed([NEW]).seal(b"x", HERE)
    with pytest.raises(ConfigError, match=r"pip install 'pyadeq\[crypto\]'"):
        Encrypted([NEW])
