"""`adeq change`: what agents and people want to do, and others have to approve."""

from __future__ import annotations

from pyadeq.ext.cli import (
    change_apply,
    change_assess,
    change_delegate,
    change_delegation,
    change_diff,
    change_listing,
    change_log,
    change_move,
    change_override,
    change_policy,
    change_put,
    change_respond,
    change_show,
    change_upkeep,
)
from pyadeq.ext.cli.made import add_made
from pyadeq.ext.cli.tree import NOUNS, noun

app = noun(NOUNS["change"])

app.command()(change_listing.ls)
app.command()(change_show.show)
app.command()(change_diff.diff)
app.command()(change_log.log)
app.command()(change_log.watch)
app.command()(change_put.put)
app.command()(change_move.submit)
app.command("withdraw", help="Take a change back from its review, or from its approval: a draft again.")(
    change_move.moving("withdraw")
)
app.command("cancel", help="Cancel a change for good. Its applier is asked to stop, if there is one.")(
    change_move.moving("cancel")
)
app.command("reopen", help="Make a change that was rejected, or has failed, a draft again.")(
    change_move.moving("reopen")
)
app.command()(change_assess.assess)
for action, text in change_respond.HELP.items():
    app.command(action.replace("_", "-"), help=text)(change_respond.answering(action))
app.command()(change_respond.comment)
app.command()(change_delegate.delegate)
app.command("take-back")(change_delegate.take_back)
app.command()(change_delegate.reassign)
app.command()(change_override.override)
app.command()(change_apply.begin)
app.command()(change_apply.heartbeat)
app.command()(change_apply.finish)
app.add_typer(change_policy.app, name="policy")
app.add_typer(change_delegation.app, name="delegation")
add_made(change_policy.app, "change policy")
app.command()(change_upkeep.stats)
app.command()(change_upkeep.sweep)
app.command()(change_upkeep.deliver)
