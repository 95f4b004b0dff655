"""The models of a lock domain, by the name of an earlier release."""

from pyadeq.models.lock import *  # noqa: F403
