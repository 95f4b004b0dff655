"""For other frameworks and libraries: ASGI, Django, OpenFeature, OpenTelemetry, Sentry, and codecs that encrypt."""
