"""The models of schedules, by the name of an earlier release."""

from pyadeq.models.schedule import *  # noqa: F403
