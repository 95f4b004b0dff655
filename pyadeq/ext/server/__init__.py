"""A service with a REST interface. It needs the extra `server`: pip install "pyadeq[server]"."""

from __future__ import annotations

from pyadeq.ext.server.application import app
from pyadeq.ext.server.rights import Principal, Scope, everything, rights_of

__all__ = ["Principal", "Scope", "app", "everything", "rights_of"]
