"""The models of workers, by the name of an earlier release."""

from pyadeq.models.worker import *  # noqa: F403
