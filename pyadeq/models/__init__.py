"""What goes into and comes out of the calls. Here are the models of the queue, and what all models share."""

from pyadeq.models.base import *  # noqa: F403
from pyadeq.models.queue import *  # noqa: F403
