"""The napari plugin: a widget that fuses image layers, and the sample that comes with panfocus."""
