"""The models of limits, by the name of an earlier release."""

from pyadeq.models.limit import *  # noqa: F403
