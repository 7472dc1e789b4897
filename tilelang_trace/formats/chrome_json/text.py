"""Values as JSON text that Perfetto takes too."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

_LAST_BACKSLASH = re.compile(rb'(?<!\\)((?:\\\\)*)\\\\"')


def text_of(value: Any) -> bytes:
    """A value as JSON, in UTF-8 and without spaces; what is no number of JSON (NaN) is null."""
    try:
        text = orjson.dumps(value)
    except orjson.JSONEncodeError:  # nested deeper than orjson goes
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return mended(text)


def mended(text: bytes) -> bytes:
    """JSON that means the same, without what Perfetto v52 reads wrongly: it takes a backslash
    before a closing quote for the escape of that quote.
    """
    return _LAST_BACKSLASH.sub(rb'\1\\u005c"', text) if b'\\\\"' in text else text
