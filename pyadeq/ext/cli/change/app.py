"""`adeq change`: what agents and people want to do, and others have to approve."""

from __future__ import annotations

from pyadeq.ext.cli.change import apply as change_apply
from pyadeq.ext.cli.change import delegate as change_delegate
from pyadeq.ext.cli.change import diff as change_diff
from pyadeq.ext.cli.change import listing as change_listing
from pyadeq.ext.cli.change import log as change_log
from pyadeq.ext.cli.change import put as change_put
from pyadeq.ext.cli.change import show as change_show
from pyadeq.ext.cli.change import upkeep as change_upkeep
from pyadeq.ext.cli.shared.made import add_made
from pyadeq.ext.cli.shared.tree import NOUNS, noun

app = noun(NOUNS["change"])
PARTS = {
    "policy": "Policies: who has to approve a change, and what happens without an answer.",
    "delegation": "Delegations: for a time, another person answers the requests of a person.",
}

app.command()(change_listing.ls)
app.command()(change_show.show)
app.command()(change_diff.diff)
app.command()(change_log.log)
app.command()(change_log.watch)
app.command()(change_put.put)
add_made(app, "change")
app.command()(change_delegate.reassign)
app.command()(change_apply.begin)
app.command()(change_apply.heartbeat)
app.command()(change_apply.finish)
for name, help in PARTS.items():
    part = noun(help)
    add_made(part, f"change {name}")
    app.add_typer(part, name=name)
app.command()(change_upkeep.stats)
app.command()(change_upkeep.sweep)
app.command()(change_upkeep.deliver)
