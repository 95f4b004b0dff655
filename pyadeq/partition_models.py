"""The models of partitions, by the name of an earlier release."""

from pyadeq.models.partition import *  # noqa: F403
