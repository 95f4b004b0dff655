"""Middleware for ASGI applications, such as those of Starlette and FastAPI. It needs no framework."""

from pyadeq.ext.asgi.rates import RateLimits, client_address

__all__ = ["RateLimits", "client_address"]
