"""Widgets for the settings of methods and the options of a fusion, and the wording of the plugin."""

from collections.abc import Sequence
from html import escape
from typing import Any

from magicgui.widgets import CheckBox, ComboBox, FileEdit, LineEdit

from panfocus.errors import Wording
from panfocus.job import option_schema

PLUGIN = Wording(
    setting=lambda name: name.replace("_", " "),  # as the label of its widget
    hints={
        "align_off": "Leave the slice out, or set align to off.",
        "align_similarity": "Set align to similarity to allow scale and rotation.",
        "choose_reference": "Leave the slice out, or set align to off.",
        "fewer_frames": "Use fewer or smaller slices.",
        "free_scratch_space": "Free some space, or set TMPDIR to another folder.",
        "install_extra": "Install it with: pip install 'panfocus[{extra}]'.",
        "more_memory": "Use fewer or smaller slices.",
        "skip_bad": "Leave the slice out.",
    },
)

OPTIONS = ("align", "hot_pixels", "exposure", "decide_channels", "refine")

Form = dict[str, Any]


class Fields:
    """One widget for each field of a form, with its help. Numbers are typed as text, to keep all digits."""

    def __init__(self, fields: Sequence[Form]) -> None:
        self._widgets = {field["name"]: _widget(field) for field in fields}
        self._defaults = {field["name"]: _text(field["default"]) for field in fields}

    def __getitem__(self, name: str) -> Any:
        return self._widgets[name]

    @property
    def widgets(self) -> list[Any]:
        """Widgets in the order of the fields."""
        return list(self._widgets.values())

    @property
    def values(self) -> dict[str, Any]:
        """Values of all fields."""
        return {name: widget.value for name, widget in self._widgets.items()}

    @property
    def typed(self) -> dict[str, str]:
        """Values other than the default, as text; an empty field has its default."""
        texts = {name: _text(value) for name, value in self.values.items()}
        return {name: text for name, text in texts.items() if text not in ("", self._defaults[name])}


def method_fields(name: str) -> Fields:
    """Return the widgets for the settings of a method."""
    return Fields(_method(name)["fields"])


def method_help(name: str) -> str:
    """Return the tooltip of a method."""
    return as_tooltip(_method(name)["summary"])


def option_fields() -> Fields:
    """Return the widgets for the options before and after the method."""
    fields = {field["name"]: field for field in option_schema.options()}
    return Fields([fields[name] for name in OPTIONS])


def _method(name: str) -> Form:
    (form,) = (form for form in option_schema.methods() if form["name"] == name)
    return form


def _widget(field: Form) -> Any:
    about = {
        "name": field["name"],
        "label": field["name"].replace("_", " "),
        "tooltip": as_tooltip(field["help"]),
    }
    if field["kind"] == "boolean":
        return CheckBox(value=field["default"], **about)
    if field["kind"] == "choice":
        return ComboBox(choices=field["choices"], value=field["default"], **about)
    if field["kind"] == "dictionary":
        chooser = FileEdit(filter="*.npz", nullable=True, **about)
        chooser.choose_btn.text = "Browse"
        return chooser
    return LineEdit(value=_text(field["default"]), **about)


def as_tooltip(text: str) -> str:
    """Return a text as rich text, because Qt wraps no other tooltips."""
    return f"<p>{escape(text)}</p>"


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
