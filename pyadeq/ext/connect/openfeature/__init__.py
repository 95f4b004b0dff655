"""Feature flags for OpenFeature, evaluated in the process. Needs the extra `openfeature`."""

from __future__ import annotations

from pyadeq.errors import ConfigError

try:
    import openfeature  # noqa: F401  (only whether it is there)
except ModuleNotFoundError as error:
    raise ConfigError("OpenFeature needs the extra `openfeature`: pip install 'pyadeq[openfeature]'") from error

from pyadeq.ext.connect.openfeature.provider import FlagProvider

__all__ = ["FlagProvider"]
