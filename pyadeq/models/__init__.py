"""Models: the arguments and answers of calls. This module has the models of the queue, and the base of all models."""

from pyadeq.models.base import *  # noqa: F403
from pyadeq.models.queue import *  # noqa: F403
