"""`adeq migrate`: the waiting tasks of another queue move into pyadeq, and back."""

from __future__ import annotations

from pyadeq.ext.cli.migrate import mirror as migrate_mirror
from pyadeq.ext.cli.migrate import move as migrate_move
from pyadeq.ext.cli.migrate import queue as migrate_queue
from pyadeq.ext.cli.shared.tree import NOUNS, noun

app = noun(NOUNS["migrate"])

app.command()(migrate_queue.queue)
app.command()(migrate_move.plan)
app.command()(migrate_move.move)
app.command()(migrate_mirror.mirror)
app.command()(migrate_mirror.shadow)
app.command()(migrate_mirror.cutover)
app.command()(migrate_move.status)
app.command()(migrate_move.rollback)
app.command()(migrate_move.cleanup)
