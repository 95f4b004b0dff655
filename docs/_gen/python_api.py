"""The reference of the Python API, from signatures and docstrings as they stand in the code."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

import pyadeq
from pyadeq._names import MODELS

WIDTH = 80
OPTIONS = re.compile(r"Unpack\[(\w+)\]")
DECLARED = re.compile(r"Annotated\[(.*?), Option\(.*\)\]", re.DOTALL)
IMPLEMENTED_IN = re.compile(r"\bpyadeq\.(?:_\w+|models)\.(?:\w+\.)*")


class Plain(str):
    """A default as its class alone, because its values would take a thousand columns."""

    __repr__ = str.__str__


def python(path: str) -> str:
    """A class or function by its public path, `pyadeq.Queue` for instance, with all its public members."""
    module, _, name = path.rpartition(".")
    thing = getattr(importlib.import_module(module), name)
    parts = [f"## {name} {{ #{name} }}", *(_class(name, thing) if inspect.isclass(thing) else _callable(name, thing))]
    return "\n\n".join(parts)


def models(parts: str) -> str:
    """The public models of some modules of `pyadeq.models`, in their order."""
    names = [name for part in parts.split() for name in MODELS[part].split()]
    return "\n\n".join(python(f"pyadeq.{name}") for name in names)


def errors(_: str = "") -> str:
    """The tree of the exceptions' names, as the module draws it, and each of them."""
    module = importlib.import_module("pyadeq.errors")
    classes = [name for name, thing in vars(module).items() if inspect.isclass(thing) and issubclass(thing, Exception)]
    tree = re.sub(r"(?<=\w) {3,}.*", "", (module.__doc__ or "").partition("\n\n")[2].rstrip())
    return "\n\n".join([f"```text\n{tree}\n```", *(python(f"pyadeq.errors.{name}") for name in classes)])


def _class(name: str, thing: type) -> Iterator[str]:
    told: set[type] = set()
    if issubclass(thing, BaseModel):
        yield _fields(name, thing)
    elif issubclass(thing, Exception) and "__init__" not in vars(thing):
        yield _code(f"class {name}({', '.join(base.__name__ for base in thing.__bases__)})")
    else:
        yield _signature(name, thing)
    yield _prose(thing)
    for member_name, member in _members(thing):
        if member_name.startswith("_"):
            continue
        if (property_doc := _property(member)) is not None:
            yield f"### {member_name} {{ #{name}.{member_name} }}"
            yield property_doc
        elif inspect.isfunction(member) or isinstance(member, classmethod):
            yield f"### {member_name} {{ #{name}.{member_name} }}"
            method = getattr(thing, member_name)
            yield from _callable(member_name, method)
            yield from _notes_on_options(method, told)


def _members(thing: type) -> Iterator[tuple[str, Any]]:
    """What the class and its bases of ours define, each name once."""
    seen: set[str] = set()
    for base in thing.__mro__:
        if base.__module__.startswith("pyadeq.") and base.__name__ != "Model":
            yield from ((name, member) for name, member in vars(base).items() if name not in seen)
            seen |= set(vars(base))


def _callable(name: str, thing: Any) -> Iterator[str]:
    yield _signature(name, thing)
    yield _prose(thing)


def _notes_on_options(thing: Any, told: set[type]) -> Iterator[str]:
    """What the TypedDict of a method's keywords says of them, at the first method of a class that has them."""
    for parameter in inspect.signature(thing).parameters.values():
        options = _options(parameter, thing)
        if options and options not in told:
            told.add(options)
            yield from (part for part in _prose(options).split("\n\n") if part.startswith("- "))


def _property(member: object) -> str | None:
    """The text on an attribute that is computed; None for anything else."""
    getter = getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "wrapped", None)
    if isinstance(getter, property):
        getter = getter.fget
    return _prose(getter) if inspect.isfunction(getter) else None


def _signature(name: str, thing: Any) -> str:
    signature = inspect.signature(thing)
    parameters = [part for one in signature.parameters.values() if one.name != "self" for part in _unpacked(one, thing)]
    signature = signature.replace(parameters=parameters)
    if (
        inspect.isgeneratorfunction(inspect.unwrap(thing))
        and hasattr(thing, "__wrapped__")
        and not hasattr(thing, "route")
    ):
        managed = re.sub(r"^Iterator", "AbstractContextManager", str(signature.return_annotation))
        signature = signature.replace(return_annotation=managed)
    is_async = "async " if inspect.iscoroutinefunction(thing) or inspect.isasyncgenfunction(thing) else ""
    shown = f"{is_async}{name}{_clean(signature)}"
    if len(shown) > WIDTH:
        shown = f"{is_async}{name}(\n{_lines(parameters)}){_clean(signature.replace(parameters=[]))[2:]}"
    return _code(shown)


def _unpacked(parameter: inspect.Parameter, thing: Any) -> list[inspect.Parameter]:
    """`**filter: Unpack[TaskFilter]` as the keywords that it stands for."""
    if (options := _options(parameter, thing)) is None:
        return [parameter]
    keywords = inspect.get_annotations(options)
    return [_keyword(name, str(getattr(kind, "__forward_arg__", kind))) for name, kind in keywords.items()]


def _options(parameter: inspect.Parameter, thing: Any) -> type | None:
    typed = OPTIONS.fullmatch(str(parameter.annotation))
    if typed is None:
        return None
    known: dict[str, Any] = inspect.unwrap(thing).__globals__
    if typed[1] not in known:  # imported for type checkers only: one of the nouns' modules defines it
        for name in pyadeq.__all__:
            getattr(pyadeq, name)
        modules = [module for name, module in sys.modules.items() if name.startswith("pyadeq.")]
        known = next(vars(module) for module in modules if typed[1] in vars(module))
    options: type = known[typed[1]]
    return options


def _keyword(name: str, kind: str) -> inspect.Parameter:
    required = re.fullmatch(r"Required\[(.*)\]", kind)
    default = inspect.Parameter.empty if required else ...
    annotation = required[1] if required else kind
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _lines(parameters: list[inspect.Parameter]) -> str:
    lines, keyword_only = [], False
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            lines.append("    *,\n")
        default = Plain(f"{type(one.default).__name__}()") if len(str(one)) > 2 * WIDTH else one.default
        lines.append(f"    {_clean(one.replace(default=default))},\n")
    return "".join(lines)


def _clean(signature: inspect.Signature | inspect.Parameter) -> str:
    """Annotations are text where they stand in the code, and would be shown in quotes."""
    text = re.sub(r"""((?:: |-> ))(['"])(.*?)\2(?=[,)]| =|$)""", r"\1\3", str(signature)).replace("Ellipsis", "...")
    text = re.sub(r"ForwardRef\((['\"])(.*?)\1\)", r"\2", text)
    text = re.sub(r"<function .*? at 0x\w+>", "...", text)
    return IMPLEMENTED_IN.sub("", text)


def _fields(name: str, model: type[BaseModel]) -> str:
    lines = [f"class {name}:"]
    for base in reversed(model.__mro__):
        for field, annotation in inspect.get_annotations(base).items():
            if field in model.model_fields:
                kind = DECLARED.sub(r"\1", str(getattr(annotation, "__forward_arg__", annotation)))
                line = f"    {field}: {kind}{_default(model, field)}"
                lines += textwrap.wrap(line, WIDTH + 8, subsequent_indent=" " * 8, break_on_hyphens=False)
    return _code("\n".join(lines))


def _default(model: type[BaseModel], field: str) -> str:
    default = model.model_fields[field].default
    if default is PydanticUndefined:
        return ""
    return f" = {type(default).__name__}()" if isinstance(default, BaseModel) else f" = {default!r}"


def _prose(thing: Any) -> str:
    """A docstring as Markdown: its notes on parameters, `name: what it is.`, become a list."""
    doc = inspect.cleandoc(thing.__doc__ or "")
    names = "|".join(_names(thing))
    if not names:
        return doc
    note = rf"(?:{names})(?:, (?:{names}))*: "
    paragraphs = []
    for paragraph in doc.split("\n\n"):
        text = " ".join(paragraph.splitlines())
        parts = re.split(rf"(?:^|(?<=[.);] ))(?={note})", text)
        notes = [re.sub(r"^(.*?): ", r"- `\1`: ", part.strip(" ;")) for part in parts if re.match(note, part)]
        rest = "".join(part for part in parts if not re.match(note, part))
        paragraphs += [part for part in (rest.strip() if notes else paragraph, "\n".join(notes)) if part]
    return "\n\n".join(paragraphs)


def _names(thing: Any) -> list[str]:
    """What notes in a docstring may be about: parameters, fields, attributes."""
    if not inspect.isclass(thing):
        return [name for name in inspect.signature(thing).parameters if name != "self"]
    of_class = [name for base in thing.__mro__ for name in (*inspect.get_annotations(base), *vars(base))]
    names = dict.fromkeys([*of_class, *inspect.signature(thing.__init__).parameters])
    return [name for name in names if not name.startswith("_")]


def _code(text: str) -> str:
    return f"```python\n{text}\n```"
