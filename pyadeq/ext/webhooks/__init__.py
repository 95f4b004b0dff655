"""Webhooks: signed messages about events, to the URLs of others. Sending needs the extra `webhooks`."""

from __future__ import annotations

from pyadeq.ext.webhooks.signing import BadSignature, new_secret, sign, verify

__all__ = ["BadSignature", "new_secret", "sign", "verify"]
