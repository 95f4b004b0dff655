"""`adeq migrate`: the waiting tasks of another queue move into pyadeq, and back."""

from __future__ import annotations

from pyadeq.ext.cli import migrate_mirror, migrate_move, migrate_queue
from pyadeq.ext.cli.tree import NOUNS, noun

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
