"""Feature flags for OpenFeature, evaluated in the process. Needs the extra `openfeature`."""

from pyadeq.ext.openfeature.provider import FlagProvider

__all__ = ["FlagProvider"]
