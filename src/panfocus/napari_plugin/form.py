"""The methods' settings and the options of a fusion as widgets."""

from collections.abc import Sequence
from typing import Any

from magicgui.widgets import CheckBox, ComboBox, Container, LineEdit

from panfocus.job import forms

OPTIONS = ("align", "hot_pixels", "exposure", "refine")

Form = dict[str, Any]


class FieldsForm(Container[Any]):
    """One widget for each field of a form, with its help; numbers are typed, and so as exact as one likes."""

    def __init__(self, fields: Sequence[Form], **more: Any) -> None:
        super().__init__(widgets=[_widget(field) for field in fields], **more)
        self._fields = fields

    @property
    def values(self) -> dict[str, Any]:
        """Every field's value."""
        return {field["name"]: self[field["name"]].value for field in self._fields}

    @property
    def typed(self) -> dict[str, str]:
        """The values that are not the default, as text; a field that is left empty has its default."""
        texts = {name: _text(value) for name, value in self.values.items()}
        defaults = {field["name"]: _text(field["default"]) for field in self._fields}
        return {name: text for name, text in texts.items() if text not in ("", defaults[name])}


def method_form(name: str) -> FieldsForm:
    """Make the form of a method's settings."""
    (fields,) = (form["fields"] for form in forms.methods() if form["name"] == name)
    return FieldsForm(fields, labels=True, label="")


def options_form() -> FieldsForm:
    """Make the form of what precedes and follows the method."""
    fields = {field["name"]: field for field in forms.options()}
    return FieldsForm([fields[name] for name in OPTIONS], labels=True, label="")


def _widget(field: Form) -> Any:
    about = {"name": field["name"], "label": field["name"].replace("_", " "), "tooltip": field["help"]}
    if field["kind"] == "boolean":
        return CheckBox(value=field["default"], **about)
    if field["kind"] == "choice":
        return ComboBox(choices=field["choices"], value=field["default"], **about)
    return LineEdit(value=_text(field["default"]), **about)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
