"""Clients in other languages, written from the manifest by templates: one folder of templates is one language."""

from pyadeq.ext.bindings.render import Written, generate, languages

__all__ = ["Written", "generate", "languages"]
