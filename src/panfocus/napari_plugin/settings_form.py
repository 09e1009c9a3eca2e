"""The methods' settings and the options of a fusion as widgets."""

from collections.abc import Sequence
from html import escape
from typing import Any

from magicgui.widgets import CheckBox, ComboBox, FileEdit, LineEdit

from panfocus.job import option_schema

OPTIONS = ("align", "hot_pixels", "exposure", "refine")

Form = dict[str, Any]


class Fields:
    """One widget for each field of a form, with its help; numbers are typed, and so as exact as one likes."""

    def __init__(self, fields: Sequence[Form]) -> None:
        self._widgets = {field["name"]: _widget(field) for field in fields}
        self._defaults = {field["name"]: _text(field["default"]) for field in fields}

    def __getitem__(self, name: str) -> Any:
        return self._widgets[name]

    @property
    def widgets(self) -> list[Any]:
        """The widgets, in the order of the fields."""
        return list(self._widgets.values())

    @property
    def values(self) -> dict[str, Any]:
        """Every field's value."""
        return {name: widget.value for name, widget in self._widgets.items()}

    @property
    def typed(self) -> dict[str, str]:
        """The values that are not the default, as text; a field that is left empty has its default."""
        texts = {name: _text(value) for name, value in self.values.items()}
        return {name: text for name, text in texts.items() if text not in ("", self._defaults[name])}


def method_fields(name: str) -> Fields:
    """Make the widgets of a method's settings."""
    return Fields(_method(name)["fields"])


def method_help(name: str) -> str:
    """Say what a method does, as a tooltip."""
    return as_tooltip(_method(name)["summary"])


def option_fields() -> Fields:
    """Make the widgets of what precedes and follows the method."""
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
    """Return a text as one whose lines Qt breaks where they are too long: it does so in rich text alone."""
    return f"<p>{escape(text)}</p>"


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
