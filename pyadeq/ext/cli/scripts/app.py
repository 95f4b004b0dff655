"""`adeq scripts`: the Lua that this release runs, whether a server has it, and whose data it may touch."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated

import typer

from pyadeq import Script, library
from pyadeq.access import ROLES, acl_rules
from pyadeq.errors import AdeqError
from pyadeq.ext.cli.scripts.migrate import migrate
from pyadeq.ext.cli.shared.common import PLACE
from pyadeq.ext.cli.shared.resolve import Only, names_by_noun
from pyadeq.ext.cli.shared.running import Document, Lines, Shown, Table, with_client, without_client
from pyadeq.ext.cli.shared.tree import NOUNS, noun
from pyadeq.keys import check_name

if TYPE_CHECKING:
    from pyadeq import Adeq

app = noun(NOUNS["scripts"])


def _ids(incomplete: str) -> list[str]:
    return [id for id in library() if id.startswith(incomplete)]


@app.command()
@without_client
def ls() -> Lines:
    """List the scripts of this release."""
    return Lines(
        _scripts(),
        ["id", "sha1", "read-only", "role", "does"],
        lambda one: (one.id, one.sha1, "yes" if one.read_only else "no", one.role, first_sentence(one.doc)),
        _about,
        spare=["sha1", "read-only"],
    )


@app.command()
@without_client
def show(
    id: Annotated[str, typer.Argument(metavar="ID", help="The script: queue.enqueue.v1.", autocompletion=_ids)],
) -> Document:
    """Print a script as the server runs it, with its contract first. This command needs no server."""
    if id not in library():
        raise AdeqError(f"script: this release has no {id!r}; see adeq scripts ls")
    script = library()[id]
    return Document({**_about(script), "text": script.text}, lambda: print(script.text, end=""))


@app.command()
@with_client
def load(adeq: Adeq) -> Document:
    """Load all scripts into the server, for a deploy. Clients load missing scripts by themselves."""
    loaded = adeq.load_scripts()
    return Document({"loaded": loaded}, f"{len(loaded)} scripts loaded")


@app.command()
@with_client
def verify(adeq: Adeq) -> Document:
    """Check that the packaged scripts match the manifest, and that the server has them all."""
    scripts = _scripts()
    there = adeq.client.script_exists(*[script.sha1 for script in scripts])
    rows = [
        {"id": script.id, "sha1": script.sha1, "packaged": packaged(script), "loaded": bool(loaded)}
        for script, loaded in zip(scripts, there, strict=True)
    ]
    cells = [(row["id"], "ok" if row["packaged"] else "DIFFERS", "ok" if row["loaded"] else "MISSING") for row in rows]
    shown: list[Shown] = [Table(["id", "file", "server"], cells)]
    if not all(row["packaged"] for row in rows):
        shown.append("Files differ from the manifest: install pyadeq again.")
    if not all(row["loaded"] for row in rows):
        shown.append("The server lacks some of them: run `adeq scripts load`.")
    return Document({"ok": len(shown) == 1, "scripts": rows}, shown, failed=len(shown) > 1)


@app.command()
@without_client
def acl(
    roles: Annotated[
        list[str],
        typer.Argument(
            metavar="ROLE...",
            help=f"{', '.join(ROLES)}; or a role in one noun: lock.work, change.review.",
            autocompletion=lambda: [*ROLES],
        ),
    ],
    user: Annotated[str, typer.Option(metavar="NAME", help="The user name for the ACL line.")] = "USER",
    queue: Annotated[list[str] | None, typer.Option("--queue", "-q", metavar="NAME", help="Only these queues.")] = None,
    domain: Annotated[
        list[str] | None, typer.Option("--domain", "-d", metavar="NAME", help="Only these lock domains.")
    ] = None,
    only: Only = None,
    load: Annotated[bool, typer.Option("--load/--no-load", help="Whether the user may load scripts.")] = True,
    old: Annotated[bool, typer.Option("--old", help="For a server before 7.2.")] = False,
) -> Document:
    """Print a line for the server's ACL: the rights of a user who may do what these roles do, and nothing else.

    It covers all queues, lock domains and so on, unless some are named. This command needs no server.
    """
    check_name("--user", user)
    names, named = list(dict.fromkeys(roles)), names_by_noun(queue, domain, only)
    rules = acl_rules(
        *names,
        queues=named.pop("queue", []) if named else None,
        **({"domains": named.pop("lock")} if "lock" in named else {}),
        **named,
        prefix=PLACE.prefix,
        slot=PLACE.slot,
        load=load,
        old=old,
    )
    return Document(
        {"user": user, "roles": names, "rules": rules}, f"ACL SETUSER {user} reset on >PASSWORD {' '.join(rules)}"
    )


app.command()(migrate)


def packaged(script: Script) -> bool:
    """Whether the file that came with this release has the sum that the manifest says."""
    return hashlib.sha1(script.text.encode(), usedforsecurity=False).hexdigest() == script.sha1


def first_sentence(text: str) -> str:
    """What a script does, in a line."""
    return text.partition(". ")[0].rstrip(".")


def _about(script: Script) -> dict[str, object]:
    return {name: getattr(script, name) for name in ("id", "sha1", "read_only", "role", "doc")}


def _scripts() -> list[Script]:
    scripts = library()
    return [scripts[id] for id in scripts]
