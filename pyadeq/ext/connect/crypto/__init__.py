"""Codecs: payloads, results and errors of tasks, encrypted or signed with keys that the server does not have.

    adeq = Adeq.from_url(url, codec=Encrypted(["…"]))

A key is made once, by `python -m pyadeq.ext.connect.crypto`, and kept where secrets are.
To change it, give all clients the new key as the last one, so that they can read what it sealed; then as the first one,
so that they use it; and leave the old one out when nothing is left that it sealed.
"""

from __future__ import annotations

from pyadeq.ext.connect.crypto.encrypted import Encrypted
from pyadeq.ext.connect.crypto.keys import new_key
from pyadeq.ext.connect.crypto.signed import Signed

__all__ = ["Encrypted", "Signed", "new_key"]
