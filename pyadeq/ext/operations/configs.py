"""Values of configs, and flags."""

from __future__ import annotations

from typing import Final

from pyadeq.asyncio import Config
from pyadeq.ext.operations.row import Operation

OPERATIONS: Final = (
    Operation("GET /configs/{namespace}/values", needs="observe", name="config_list").at_terminal(
        "config ls [START]",
        "List the names of a namespace and their values.",
        method=Config.list,
        columns="name value at actor version",
    ),
    Operation("GET /configs/{namespace}/values/{name}", needs="observe", name="config_get").at_terminal(
        "config show NAME",
        "Show the value of a name, and who set it. Exits with 1 if it has none.",
        method=Config.get,
    ),
    Operation("PUT /configs/{namespace}/values/{name}", needs="operate", create=True, name="config_set").at_terminal(
        "config set NAME VALUE",
        "Set the value of a name. The namespace is created if it does not exist.\n\n"
        "Exits with 1, and changes nothing, if the name has another version than --expect.",
        method=Config.set,
        text="set {name}: version {version}",
    ),
    Operation(
        "DELETE /configs/{namespace}/values/{name}", needs="operate", create=True, name="config_remove"
    ).at_terminal(
        "config rm NAME...",
        "Remove names.",
        method=Config.remove,
        good="removed",
        fails="one of them has no value, or another version than --expect",
    ),
    Operation("GET /configs/{namespace}/values/{name}/history", needs="observe", name="config_history").at_terminal(
        "config history NAME",
        "List the versions of a name, newest first: who set it, and why.",
        method=Config.history,
        columns="version value at actor reason",
    ),
    Operation(
        "POST /configs/{namespace}/values/{name}:revert", needs="operate", create=True, name="config_revert"
    ).at_terminal(
        "config revert NAME VERSION",
        "Set a name to what it was in an earlier version.",
        method=Config.revert,
        text="{name} is again what it was in version {version}; this is version {new_version}",
    ),
    Operation("POST /flags/{namespace}/{name}:evaluate", needs="observe", name="flag_evaluate"),
)
