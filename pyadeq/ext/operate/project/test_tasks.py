"""Tests on a private server: `python -m pytest`. They need pyadeq[testing], and neither a worker nor your server."""

from pyadeq import Adeq
from pyadeq.testing import run_all
from tasks import count_words, queue

pytest_plugins = ["pyadeq.testing.plugin"]


def test_words_are_counted(adeq: Adeq) -> None:
    tested = adeq.queue("default")
    tested.enqueue_many([count_words.item("one two"), count_words.item("")])
    assert [run.result for run in run_all(tested, queue.tasks)] == [2, 0]
