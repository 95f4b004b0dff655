"""`adeq serve`: the REST service."""

from __future__ import annotations

import asyncio
import json
import logging
import shlex
import socket
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pyadeq.asyncio import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.change.who import actor_of
from pyadeq.ext.cli.operate.dev_server import whose_data
from pyadeq.ext.cli.outgoing.shared import allow_option, http_option, ports_option
from pyadeq.ext.cli.shared.common import PLACE, RETRY_FOR, Format, Output, connected, shown_url
from pyadeq.ext.cli.shared.logs import Lines, LogFormat
from pyadeq.ext.outgoing.addresses import Allowed

if TYPE_CHECKING:
    from fastapi import Request

    from pyadeq.ext.operations.rights import Principal
    from pyadeq.ext.server.authentication import ProxyUsers

PORT = 9478
LOCAL = ("localhost", "127.0.0.1", "[::1]")
"""Names that no site can have."""


def serve(
    host: Annotated[str, typer.Option(metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0: any free one.")] = PORT,
    uds: Annotated[
        Path | None, typer.Option("--uds", metavar="PATH", help="Listen on a unix socket instead of HOST and PORT.")
    ] = None,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Let everybody on this machine in. Only on a loopback address.")
    ] = False,
    trusted_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A further name of this service, as *.example.org. Repeat it."),
    ] = None,
    root_path: Annotated[
        str,
        typer.Option(metavar="PATH", help="The path under which a proxy shows this service, as /tasks."),
    ] = "",
    proxy_user_header: Annotated[
        str | None, typer.Option(metavar="HEADER", help="The header in which a trusted proxy names the user.")
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(metavar="NETWORK", help="Where this proxy is: 10.0.0.0/8, or unix. Repeat it."),
    ] = None,
    proxy_rights: Annotated[
        list[str] | None,
        typer.Option(metavar="RIGHT", help="What its users may do: observer, operator, queue.produce … Repeat it."),
    ] = None,
    proxy_groups_header: Annotated[
        str | None, typer.Option(metavar="HEADER", help="The header in which the proxy names the user's groups.")
    ] = None,
    proxy_group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN", help="Groups that count, as approvers-*: at most 32 of a user. Repeat it. [all]"
        ),
    ] = None,
    webhook_allow: Annotated[list[str] | None, allow_option("WEBHOOK", "--webhook-allow")] = None,
    webhook_http: Annotated[bool, http_option("WEBHOOK", "--webhook-http")] = False,
    webhook_port: Annotated[list[int] | None, ports_option("WEBHOOK", "--webhook-port")] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the private server keeps its data, if no URL is given.")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            envvar="ADEQ_URL",
            help="The server: redis://, rediss://, unix:// or sentinel://. [default: a private one]",
        ),
    ] = None,
    output: Output = Format.table,
) -> None:
    """Serve the REST interface of all queues, domains and namespaces, until a signal ends it.

    Without --url, it starts a private server, which ends with it. Clients need a token: see adeq token. If there is
    none, one for this process only is printed. Then only this machine can reach it. Needs the extra server: pip install
    "pyadeq[server]".
    """
    try:
        from pyadeq.ext.operations.rights import MANAGE, REVEAL, Principal, Scope, all_rights
        from pyadeq.ext.server.application import app
        from pyadeq.ext.server.authentication import Tokens, first_of
        from pyadeq.ext.server.board.logins import Logins
        from pyadeq.ext.server.guard import checked_hosts
        from pyadeq.ext.server.serving import Server, listening, listening_at, place_of
        from pyadeq.ext.server.tokens import new_token
    except ModuleNotFoundError as error:
        raise ConfigError(f'serve: {error.name} is missing; pip install "pyadeq[server]"') from None
    if url is not None and data is not None:
        raise ConfigError("--data: it is of the private server, which is started only without --url and ADEQ_URL")
    proxy = _proxy(proxy_user_header, trusted_proxy, proxy_rights, proxy_groups_header, proxy_group)
    place = place_of(host, port)
    allowed = Allowed.of(webhook_allow or (), http=webhook_http, ports=webhook_port or ())
    if no_auth and (uds is not None or proxy is not None or not place.loopback):
        raise ConfigError("--no-auth: it is only for a loopback address, without --uds and --proxy-user-header")
    own = [] if uds is not None or place.every else [f"[{host}]" if ":" in host else host]
    if uds is None and place.every and not trusted_host:
        raise ConfigError(f"--trusted-host: {host} is any address; say by which names clients know this service")
    hosts = checked_hosts([*LOCAL, *own, *(trusted_host or ())])
    most = Scope(all_rights() - {REVEAL})
    lines = logging.StreamHandler()
    lines.setFormatter(Lines(LogFormat.text))
    logging.basicConfig(handlers=[lines], level=logging.WARNING)
    with ExitStack() as stack:
        if url is None:
            url = stack.enter_context(EmbeddedServer(data)).url
            print(f"No --url and no ADEQ_URL: using a private server. {whose_data(data)}", file=sys.stderr)
        id, text, more = "", None, {}
        if not no_auth and proxy is None and not _has_token(url):
            if uds is None and not place.loopback:
                raise ConfigError(f"--host: others can reach {host}; make a token first, see adeq token add --help")
            id, text, token = new_token(actor_of(None), most.rights, lifetime=None)
            more = {id: token}
        at = stack.enter_context(listening(place) if uds is None else listening_at(uds))
        server = Server()

        async def anybody(_: Request) -> Principal:
            rights = most.rights - {MANAGE}  # a token would outlive this process
            return Principal(actor_of(None), (Scope(rights),), shared=True)

        async def run() -> None:
            async with Adeq.from_url(url, **PLACE.options(), source="api", retry_for=RETRY_FOR) as adeq:
                tokens = Tokens(adeq, more=more)
                logins = None if no_auth else Logins(adeq, tokens)
                who = anybody if no_auth else first_of(*([] if proxy is None else [proxy]), tokens)
                code = None if logins is None or text is None else await logins.code(id)
                service = app(
                    adeq,
                    authenticate=who,
                    hosts=hosts,
                    unmarked=no_auth,
                    logins=logins,
                    root_path=root_path,
                    allowed=allowed,
                )
                _print_start(url, at, text, code, no_auth, output)
                await server.serve(service, at)

        asyncio.run(run())


def _proxy(
    header: str | None,
    networks: list[str] | None,
    rights: list[str] | None,
    groups_header: str | None,
    groups: list[str] | None,
) -> ProxyUsers | None:
    """Return the users that a proxy authenticates; None if no proxy does."""
    from pyadeq.ext.operations.rights import Scope, rights_of
    from pyadeq.ext.server.authentication import ProxyUsers

    if header and networks and rights:
        scopes = [Scope(rights_of(rights))]
        return ProxyUsers(header, networks, scopes, groups_header=groups_header, groups=groups or ("*",))
    if groups_header or groups:
        raise ConfigError("--proxy-groups-header, --proxy-group: they are only for --proxy-user-header")
    if header or networks or rights:
        raise ConfigError("--proxy-user-header, --trusted-proxy, --proxy-rights: one is missing; each needs the others")
    return None


def _has_token(url: str) -> bool:
    """Whether a token is valid now."""
    from pyadeq.ext.server.tokens import NAMESPACE, read_token

    with connected(url) as adeq:
        stored = [read_token(one.value) for one in adeq.config(NAMESPACE).list().values()]
    return any(token and token.state(time.time()) == "valid" for token in stored)


def _print_start(
    url: str, at: socket.socket, text: str | None, code: str | None, no_auth: bool, output: Format
) -> None:
    """Say where the service is, and how to use it if nobody has a token. code: logs in to the board, once."""
    name = at.getsockname()
    if at.family == socket.AF_UNIX:
        where, reach = f"unix:{name}", ["--unix-socket", str(name), "http://localhost"]
    else:
        where = f"http://[{name[0]}]:{name[1]}" if at.family == socket.AF_INET6 else f"http://{name[0]}:{name[1]}"
        reach = [where]
    if output != Format.table:
        board = None if code is None else f"{where}/login?code={code}"
        start = {"url": shown_url(url), "at": where, "token": text, "board": board, "shared": no_auth}
        print(json.dumps(start), flush=True)
        return
    print(f"serving {shown_url(url)} at {where}")
    if no_auth:
        print(f"Nobody logs in: everybody on this machine is {actor_of(None)}, and may act in changes as anybody.")
    if text is not None:
        *options, base = reach
        words = ["curl", *options, "-H", f"Authorization: Bearer {text}", "--json", '{"payload": "hello"}']
        print("There is no token yet. This one is for this process only; to enqueue a task:")
        print(f"  {shlex.join([*words, f'{base}/v1/queues/default/tasks'])}")
    if code is not None and at.family != socket.AF_UNIX:
        print(f"The board; this link logs in once, within an hour:\n  {where}/login?code={code}")
    sys.stdout.flush()
