"""`adeq after-restore`: what must end after a restore of old data, before anybody uses it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated, Any, Final

import typer

from pyadeq import Adeq
from pyadeq.ext.cli.change.who import YOU, By
from pyadeq.ext.cli.shared.arguments import Yes, confirm, many
from pyadeq.ext.cli.shared.progress import Bar
from pyadeq.ext.cli.shared.running import Document, with_client_of
from pyadeq.ext.cli.token import end_token
from pyadeq.ext.server.tokens import NAMESPACE, all_tokens
from pyadeq.ext.shared.installation import PAGE, primaries

FENCED: Final = ("queue", "change")
"""Nouns whose fence is a counter. The fence of a lock domain follows the server's clock."""
STEPS_A_MS: Final = 10
"""The new fence is the time in steps of 0.1 ms. A queue would need 10,000 leases a second, since 1970, to reach it. It
has 14 digits: Lua writes larger numbers with an exponent.
"""


@with_client_of(codec=None)
def after_restore(
    adeq: Adeq,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    actor: By = YOU,
    yes: Yes = False,
) -> Document:
    """End all sessions and all tokens of the service, and raise the fences of all queues and change domains.

    For a server whose data is old, such as a backup: sessions and tokens that were revoked after it are valid again,
    and fences would be given out a second time. Run it before workers and services start. It may be killed and
    repeated at any time. Locks need nothing.
    """
    if not dry_run:
        confirm("This logs out everybody and ends all tokens.", yes, "nothing was changed")
    done: dict[str, Any] = {}
    for name, label, act in (("fences", "Fences", _fences), ("sessions", "Sessions", _sessions)):
        with Bar(label, None, name) as bar:
            done[name] = act(adeq, dry_run, bar.update)
    done["tokens"] = _tokens(adeq, dry_run, actor)
    would = "would be " if dry_run else ""
    fences, sessions, tokens = (many(count, name[:-1]) for name, count in done.items())
    return Document({**done, "dry_run": dry_run}, f"{fences} {would}raised, {sessions} and {tokens} {would}ended")


def _fences(adeq: Adeq, dry_run: bool, tell: Callable[[int], object]) -> int:
    """Raise each fence that is below the time. It is never lowered, whoever else changes it meanwhile."""
    raised = 0
    for client, key, noun in _configs(adeq):
        seconds, micros = client.time()
        least = (seconds * 1000 + micros // 1000) * STEPS_A_MS
        calls = replace(adeq.noun(noun, "default").calls, base=key.removesuffix(b":config").decode())
        if dry_run:
            raised += int(client.hget(key, "fence") or 0) < least
        else:
            raised += adeq.send(calls.build("raise_fence", least=least)).status == "raised"
        tell(raised)
    return raised


def _configs(adeq: Adeq) -> Iterator[tuple[Any, bytes, str]]:
    """The settings of all queues, partitions and change domains, each with the server that has it and its noun."""
    nouns = "|".join(FENCED)
    head = adeq.prefix if adeq.slot is None else f"{adeq.prefix}:{{{adeq.slot}}}"
    name = rf"\{{({nouns}):[^}}]+\}}" if adeq.slot is None else rf"({nouns}):[^:]+"
    wanted = re.compile(rf"{re.escape(head)}:{name}:config".encode())
    for primary in primaries(adeq.client):
        for key in primary.client.scan_iter(f"{head}:*:config", PAGE):
            if found := wanted.fullmatch(key):
                yield primary.client, key, found[1].decode()


def _sessions(adeq: Adeq, dry_run: bool, tell: Callable[[int], object]) -> int:
    """End the sessions of each user who has one. The server then refuses all that were created before."""
    ended = 0
    for realm in adeq.names("session", scan=True):
        sessions = adeq.sessions(realm)
        last = None
        for one in sessions.iterate():
            if dry_run:
                ended += 1
            elif one.user != last:
                ended += sessions.revoke_all(one.user).ended
                last = one.user
            tell(ended)
    return ended


def _tokens(adeq: Adeq, dry_run: bool, by: str) -> int:
    """Revoke the tokens that are valid."""
    now = time.time()
    valid = [id for id, token in all_tokens(adeq.config(NAMESPACE).list()) if token.state(now) == "valid"]
    for id in [] if dry_run else valid:
        end_token(adeq, id, by)
    return len(valid)
