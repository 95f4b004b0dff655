# Generated from pyadeq/_async/kernel/wire.py by pyadeq/_unasync.py; do not edit.
"""One exchange on one connection. Only this module and `hints` use redis-py's connections.

They use the connections directly, not `execute_command`, for three reasons. Replies are bytes, whatever the client's
`decode_responses` says. redis-py does not send a command again on its own. And a failed connection can be distinguished
from a lost reply.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from redis import exceptions as redis_errors
from redis import ConnectionPool

from pyadeq._sync.kernel.pools import SOCKET_TIMEOUT, close_pool, own_pool
from pyadeq._core.kernel.refusals import Loss, Refusal, told
from pyadeq._twins import can_read, cancellable, Gate, hang_up, is_cancellation

# redis-py removes the error code from the text if it has an exception class for the code.
_CODES: dict[type[Exception], str] = {
    redis_errors.NoScriptError: "NOSCRIPT",
    redis_errors.OutOfMemoryError: "OOM",
    redis_errors.ReadOnlyError: "READONLY",
    redis_errors.NoPermissionError: "NOPERM",
    redis_errors.ClusterDownError: "CLUSTERDOWN",
    redis_errors.MasterDownError: "MASTERDOWN",
    redis_errors.TryAgainError: "TRYAGAIN",
    redis_errors.ClusterCrossSlotError: "CROSSSLOT",
    redis_errors.MovedError: "MOVED",
    redis_errors.AskError: "ASK",
}
_DEMOTED = ("READONLY", "UNBLOCKED")
# The error texts of a pool without free connections, in all versions of redis-py.
_CROWDED = ("Too many connections", "No connection available")
_POOL_ADVICE = "raise max_connections of the client, or run fewer calls at a time"
# Error replies to a new connection, and how to handle them.
_ADVICE = {
    "max number of clients reached": "raise maxclients of the server, or run fewer clients",
    "Authentication required": "give a user and a password in the URL",
    "invalid username-password pair": "give the right user and password in the URL",
}


class Connections:
    """The connections of a pool, for one exchange at a time each.

    Idle ones stay taken out of a plain pool: to put one back and take it out again costs as much as to send a call.
    Other pools serve waiters, follow a primary, or renew a login when a connection comes back, so they get each one
    back.
    """

    def __init__(self, pool: Any) -> None:
        self.pool = pool
        self._keeps = type(pool) is ConnectionPool and pool.connection_kwargs.get("credential_provider") is None
        self._idle: list[tuple[int, Any]] = []

    def take(self) -> Any:
        """Return a connection on which nothing is left to read."""
        while self._idle:
            try:
                pid, connection = self._idle.pop()
            except IndexError:  # another thread took the last one
                break
            if pid != os.getpid():  # after a fork, it is a connection of the parent
                continue
            fresh = False
            try:
                with suppress(redis_errors.RedisError, OSError):
                    fresh = not can_read(connection)
            finally:
                if not fresh:
                    self.give_back(connection, False)
            if fresh:
                return connection
        return self.pool.get_connection()

    def give_back(self, connection: Any, reusable: bool) -> None:
        """Keep a connection for the next exchange, or close it."""
        if reusable and self._keeps:
            self._idle.append((os.getpid(), connection))
            return
        if not reusable:
            hang_up(connection)
        self.pool.release(connection)

    def release(self) -> None:
        """Return all connections to the pool."""
        while self._idle:
            self.pool.release(self._idle.pop()[1])


class Wire:
    """Sends packed commands and reads their replies, on the connections of one pool, which it owns.

    in_turn: if all connections are in use, callers wait in order for one, for as long as the pool would wait, or 5 s.
    The pools of redis-py do not serve waiters in order.
    """

    def __init__(self, pool: Any, *, in_turn: bool = False) -> None:
        self._connections = Connections(pool)
        self._closed = False
        self._gate = Gate(pool.max_connections, getattr(pool, "timeout", SOCKET_TIMEOUT)) if in_turn else None

    def close(self) -> None:
        """Close the pool. An exchange that is under way keeps no connection open."""
        self._closed = True
        close_pool(self._connections.pool)

    def exchange(self, commands: Sequence[bytes]) -> tuple[list[Any], Loss | None]:
        """Send all commands at once and read one reply, or Refusal, for each.

        If the connection fails, the replies before the failure are returned with the Loss.
        """
        if self._gate is None:
            return self._exchange(commands)
        if not self._gate.enter():
            return [], _loss(redis_errors.ConnectionError(_CROWDED[0]), sent=False)
        try:
            return self._exchange(commands)
        finally:
            self._gate.leave()

    def _exchange(self, commands: Sequence[bytes]) -> tuple[list[Any], Loss | None]:
        connections = self._connections
        try:
            return self._exchange_on(connections, commands)
        except BaseException as error:
            if not is_cancellation(error):
                self._replace(connections)
            raise

    def _replace(self, connections: Connections) -> None:
        """Use a new pool from now on. Exchanges that are under way finish on the old one.

        A signal handler (Ctrl-C) may raise between any two instructions of redis-py. Then the pool may keep a half-made
        connection and return it again and again, or count a connection that is lost.
        """
        if self._connections is connections:
            self._connections = Connections(own_pool(connections.pool))
        with suppress(Exception):
            connections.release()
            connections.pool.disconnect(inuse_connections=False)

    def _exchange_on(self, connections: Connections, commands: Sequence[bytes]) -> tuple[list[Any], Loss | None]:
        replies: list[Any] = []
        connection: Any = None
        reusable = False
        try:
            with cancellable():
                connection = connections.take()
            with cancellable():
                # As one piece: redis-py would send each command by itself.
                connection.send_packed_command([commands[0] if len(commands) == 1 else b"".join(commands)])
            while len(replies) < len(commands):
                replies.append(self._read(connection))
            # After a failover a new connection may find the new primary.
            reusable = not any(isinstance(reply, Refusal) and reply.code in _DEMOTED for reply in replies)
        except redis_errors.RedisError as error:
            return replies, _loss(error, sent=connection is not None)
        finally:
            if connection is not None:
                kept = reusable and not self._closed and connections is self._connections
                connections.give_back(connection, kept)
        return replies, None

    @staticmethod
    def _read(connection: Any) -> Any:
        try:
            return connection.read_response(disable_decoding=True, disconnect_on_error=True)
        except redis_errors.ResponseError as error:
            return refusal(error)


def refusal(error: redis_errors.ResponseError) -> Refusal:
    """Return the error reply from which redis-py made an exception."""
    if code := _CODES.get(type(error)):
        return Refusal(code, str(error))
    code, _, text = str(error).partition(" ")
    return Refusal(code, text)


def _loss(error: Exception, sent: bool) -> Loss:
    # redis-py may wrap the server's reply to a new connection in another exception.
    if isinstance(error.__cause__, redis_errors.RedisError):
        error = error.__cause__
    if isinstance(error, redis_errors.BusyLoadingError):
        return Loss(error, sent=False)
    if isinstance(error, redis_errors.ResponseError) and (words := told(refusal(error))):
        return Loss(redis_errors.ConnectionError(words), sent=False)
    if str(error).startswith(_CROWDED):
        error = redis_errors.ConnectionError(f"{str(error).rstrip('.')}; {_POOL_ADVICE}")
    for words, advice in _ADVICE.items():
        if words in str(error):
            error = type(error)(f"{str(error).rstrip('.')}; {advice}")
    refused = isinstance(error, redis_errors.AuthenticationError | redis_errors.AuthorizationError)
    lost = isinstance(error, redis_errors.ConnectionError | redis_errors.TimeoutError) and not refused
    return Loss(error, sent=sent and not refused, retryable=lost)
