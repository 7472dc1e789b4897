"""TVM's values as JSON values."""

from __future__ import annotations

import math
from typing import Any

from tilelang_trace.trace.json_values import Json


def plain(value: Any, level: int = 0) -> Json:
    """A value of TVM (a number, a text, an array, a map, a node of attributes such as those of a
    PassContext's option) as a JSON value. Raises TypeError if it is none.
    """
    if value is None or isinstance(value, (bool, str)):
        return value if not isinstance(value, str) else str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if level > 20:
        raise TypeError("too deep")
    kind = type(value).__name__
    if kind == "IntImm":
        number = int(value.value)
        type_ = getattr(value, "dtype", None) or getattr(getattr(value, "ty", None), "dtype", "")
        return bool(number) if str(type_) == "bool" else number
    if kind in ("StringImm", "FloatImm"):
        return plain(value.value, level + 1)
    if isinstance(value, (list, tuple)) or kind in ("Array", "List", "Tuple"):
        return [plain(item, level + 1) for item in value]
    if isinstance(value, dict) or kind in ("Map", "Dict"):
        return {_key(key): plain(item, level + 1) for key, item in value.items()}
    fields = getattr(getattr(type(value), "__tvm_ffi_type_info__", None), "fields", None)
    if fields and kind.endswith(("Config", "ConfigNode")):  # what an option's dictionary became
        return {f.name: plain(getattr(value, f.name), level + 1) for f in fields}
    raise TypeError(f"a {kind}")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key that is a {type(key).__name__}")
    return str(key)
