"""`adeq change`: what agents and people want to do, and others have to approve."""

from __future__ import annotations

from pyadeq.ext.cli import (
    change_apply,
    change_delegate,
    change_diff,
    change_listing,
    change_log,
    change_put,
    change_show,
    change_upkeep,
)
from pyadeq.ext.cli.made import add_made
from pyadeq.ext.cli.tree import NOUNS, noun

app = noun(NOUNS["change"])
PARTS = {
    "policy": "Policies: who has to approve a change, and what happens if nobody answers.",
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
