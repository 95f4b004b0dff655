"""Middleware for ASGI applications, such as those of Starlette and FastAPI. It needs no framework."""

from pyadeq.ext.connect.asgi.rates import RateLimits, client_address
from pyadeq.ext.connect.asgi.sessions import RequestSession, Sessions

__all__ = ["RateLimits", "RequestSession", "Sessions", "client_address"]
