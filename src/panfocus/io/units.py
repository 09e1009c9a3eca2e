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
_OF_NGFF = {sign: name for name, sign in _OF_OME.items()}
_POWERS = {f"{sign}m": power for sign, power in _PREFIXES.values()} | {"Å": -10}


def of_ome(unit: str) -> str:
    """Return how OME's XML writes a unit of NGFF; one that it does not have as it is."""
    return _OF_OME.get(unit, unit)


def of_ngff(unit: str) -> str:
    """Return the name of a unit that OME's XML writes so."""
    return _OF_NGFF.get(unit, unit)


def is_time_of_ngff(unit: str | None) -> bool:
    """Tell whether NGFF has a unit of time of this name."""
    return unit in _TIMES


def converted(length: float, unit: str, to: str) -> float | None:
    """Return a length in another unit, both as OME writes them; None where that is not known."""
    if unit == to:
        return length
    if unit not in _POWERS or to not in _POWERS:
        return None
    power = _POWERS[unit] - _POWERS[to]
    return length * 10.0**power if power >= 0 else length / 10.0**-power  # 500 nm are 0.5 µm, not nearly so
