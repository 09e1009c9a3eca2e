"""Units of length and time: as NGFF names them, and as OME's XML writes them."""

_PREFIXES = {  # of the SI: as they are written, and as powers of ten
    "yocto": ("y", -24),
    "zepto": ("z", -21),
    "atto": ("a", -18),
    "femto": ("f", -15),
    "pico": ("p", -12),
    "nano": ("n", -9),
    "micro": ("µ", -6),
    "milli": ("m", -3),
    "centi": ("c", -2),
    "deci": ("d", -1),
    "": ("", 0),
    "hecto": ("h", 2),
    "kilo": ("k", 3),
    "mega": ("M", 6),
    "giga": ("G", 9),
    "tera": ("T", 12),
    "peta": ("P", 15),
    "exa": ("E", 18),
    "zetta": ("Z", 21),
    "yotta": ("Y", 24),
}
_LENGTHS = {f"{prefix}meter": f"{sign}m" for prefix, (sign, _) in _PREFIXES.items()}
_LENGTHS |= {"angstrom": "Å", "inch": "in", "foot": "ft", "yard": "yd", "mile": "mi", "parsec": "pc"}
_TIMES = {f"{prefix}second": f"{sign}s" for prefix, (sign, _) in _PREFIXES.items()}
_TIMES |= {"minute": "min", "hour": "h", "day": "d"}
_OF_OME = _LENGTHS | _TIMES
_COMMON = {  # names that programs write and neither of the two has
    **dict.fromkeys(("um", "micron", "\\u00b5m", "μm"), "micrometer"),
    **{"inches": "inch", "feet": "foot", "sec": "second", "msec": "millisecond"},
}
_ONLY_OF_OME = ("dam", "thou", "li", "ua", "ly", "pt", "pixel", "reference frame")
_OF_NGFF = {sign: name for name, sign in _OF_OME.items()}
_POWERS = {f"{sign}m": power for sign, power in _PREFIXES.values()} | {"Å": -10}


def of_ome(unit: str) -> str:
    """Return how OME's XML writes a unit of NGFF or of a common name; one that it does not have as it is."""
    if unit in _OF_NGFF:
        return unit
    name = unit.strip().lower().replace("metre", "meter")
    singular = name.removesuffix("s")
    return next((_OF_OME[each] for each in map(_in_ngff, (name, singular)) if each in _OF_OME), unit)


def _in_ngff(name: str) -> str:
    return _COMMON.get(name, name)


def is_length_of_ome(unit: str) -> bool:
    """Tell whether OME's XML has such a unit of length."""
    return unit in _ONLY_OF_OME or of_ome(unit) in _LENGTHS.values()


def written_length(unit: str) -> str:
    """Return how OME's XML writes a unit of length; if it does not have it, its word for none in particular.

    Without a unit, micrometres would be understood.
    """
    return of_ome(unit) if is_length_of_ome(unit) else "reference frame"


def of_ngff(unit: str) -> str:
    """Return the name of a unit that OME's XML writes so."""
    return _OF_NGFF.get(unit, unit)


def is_time(unit: str | None) -> bool:
    """Tell whether a unit is one of time."""
    return unit is not None and of_ome(unit) in _TIMES.values()


def converted(length: float, unit: str, to: str) -> float | None:
    """Return a length in another unit, both as OME writes them; None where that is not known."""
    if unit == to:
        return length
    if unit not in _POWERS or to not in _POWERS:
        return None
    power = _POWERS[unit] - _POWERS[to]
    return length * 10.0**power if power >= 0 else length / 10.0**-power  # 500 nm are 0.5 µm, not nearly so
