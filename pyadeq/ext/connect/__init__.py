"""Connections to other frameworks: ASGI, Django, OpenFeature, OpenTelemetry, Sentry, and codecs that encrypt."""
