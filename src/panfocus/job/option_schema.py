"""Describe methods and options as plain data, from which front ends build forms."""

import dataclasses
import typing
from functools import cache
from typing import Any

KINDS = {int: "integer", float: "number", bool: "boolean"}

Form = dict[str, Any]


@cache
def methods() -> list[Form]:
    """Return every method with its settings, the default method first."""
    from panfocus.methods import DEFAULT_METHOD, method_class, method_names

    def describe(name: str) -> Form:
        method = method_class(name)
        summary = (method.__doc__ or "").strip().partition("\n")[0]
        return {
            "name": name,
            "summary": summary,
            "fields": _fields_of(method),
            "maps": list(method.maps),
        }

    return [describe(name) for name in sorted(method_names(), key=lambda name: name != DEFAULT_METHOD)]


@cache
def options() -> list[Form]:
    """Return the options of a fusion that a form offers, with the help texts of the command line."""
    from panfocus.channels import CHOICES as CHANNEL_CHOICES
    from panfocus.job.request import HELP, Request
    from panfocus.preprocess.corrections import EXPOSURE, HOT_PIXELS
    from panfocus.registration import BORDERS, CHOICES

    limits: dict[str, Form] = {
        "align": {"choices": ["auto", "off", *(choice for choice in CHOICES if choice != "auto")]},
        "borders": {"choices": list(BORDERS)},
        "decide_channels": {"choices": list(CHANNEL_CHOICES)},
        "exposure": {"choices": list(EXPOSURE)},
        "hot_pixels": {"choices": list(HOT_PIXELS)},
        "refine": {},
        "refine_strength": {"min": 0},
        "slabs": {},
        "step": {},
        "max_memory": {"kind": "text"},
    }
    kinds, fields = typing.get_type_hints(Request), {f.name: f for f in dataclasses.fields(Request)}
    return [
        {
            "name": name,
            "kind": "choice" if "choices" in limit else _kind(kinds[name]),
            "default": fields[name].default,
            "help": HELP[name],
            **limit,
        }
        for name, limit in limits.items()
    ]


def _fields_of(method: Any) -> list[Form]:
    kinds = typing.get_type_hints(method)
    return [_field(setting, kinds[setting.name]) for setting in dataclasses.fields(method)]


def _field(setting: "dataclasses.Field[Any]", kind: Any) -> Form:
    # A default that a factory makes, such as a dictionary, is not plain data; None stands for it.
    default = None if setting.default is dataclasses.MISSING else setting.default
    form = {"name": setting.name, "kind": _kind(kind), "default": default, "help": setting.metadata["help"]}
    if form["kind"] == "choice":
        form["choices"] = list(typing.get_args(kind))
    return form


def _kind(kind: Any) -> str:
    from panfocus.dictionary import CoupledDictionary

    if kind is CoupledDictionary:
        return "dictionary"
    if typing.get_origin(kind) is typing.Literal:
        return "choice"
    parts = [part for part in typing.get_args(kind) if part is not type(None)]
    return KINDS.get(parts[0] if parts else kind, "text")
