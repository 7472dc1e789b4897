"""Random Chrome JSON, as any tool might write it and as none should: for readers.

Times and ids are few, so that events meet; what is odd comes now and then, so that most events are
read.
"""

from __future__ import annotations

import json
import random
from typing import Any

_PHASES = "XXXXXXBBBBEEEEEiIRCCMMbbnneesttfOoNDPpSTFvVcZ"
_NAMES = ("a", "b", "pass", "Lower", "", "a\nb", "größe", "\ud800", "\\", '"', "0", "x" * 300)
_CATEGORIES = ("", "pass", "context,error", "failure", "a,b", ",", "disabled-by-default-x")
_TIMES = (0, 0, 1, 1, 1.5, 2, 3, 3.001, 5, 8, 8, 10, 10.0005, 20, 1000)
_ODD_TIMES = (
    *(-5, -0.0, 1e-9, 2**53, 2**62 // 1000, 1e15, 1760000000123456.001, 1.76e15, 1e300, 2**70),
    *(
        "12",
        "12.5",
        "1.5e3",
        "-3",
        "",
        "abc",
        " 7 ",
        "0x10",
        "1_000",
        "NaN",
        "1.76e15",
    ),
    *(float("nan"), float("inf"), float("-inf"), None, True, [], {}, [1], "١٢"),
)
_IDS = (0, 1, 1, 2, 2, 3)
_ODD_IDS = (-1, 2**31, 2**32 + 1, 2**63, 2**70, 1.5, 1.0, "1", "stream 7", "", None, True, [], {})
_VALUES = (
    *(0, 1, -1, 1.5, "text", "", True, None, [], {}, [1, "a"], {"a": {"b": 1}}, 2**63, 2**64),
    *(float("nan"), float("inf"), 1e400, -0.0, "\ud800x", "a\0b", "failed", "ok", [[[]]], "0x1f"),
)
_KEYS = ("a", "b", "a.b", "", "status", "error", "sequence", "depth", "phase", "\ud800", "\udfff")
_METADATA = (
    *("process_name", "thread_name", "process_sort_index", "thread_sort_index", "process_labels"),
    *("other", ""),
)


def json_trace(chance: random.Random, *, damaged: bool = True) -> bytes:
    """A file of events; sometimes damaged, unless that is not wanted."""
    oddness = chance.choice((0.0, 0.02, 0.1, 0.4))
    count = chance.choice((0, 1, 3, 10, 30))
    found: list[Any] = []
    time = 0.0
    for _ in range(count):
        if chance.random() < 0.5:
            time += chance.choice(_TIMES)
        found.append(_event(chance, time, oddness))
    text = _file(chance, found, oddness)
    return _damaged(chance, text, oddness if damaged else 0)


def _is_odd(chance: random.Random, oddness: float) -> bool:
    return chance.random() < oddness


def _event(chance: random.Random, time: float, oddness: float) -> Any:
    if _is_odd(chance, oddness / 4):
        return chance.choice(_VALUES)
    phase = chance.choice(_PHASES)
    event: dict[str, Any] = {
        "ph": phase if not _is_odd(chance, oddness / 2) else chance.choice(_VALUES),
        "ts": _time(chance, time + chance.choice((0, 0, 0, -1, 2)), oddness),
        "pid": _id(chance, oddness),
        "tid": _id(chance, oddness),
        "name": chance.choice(_NAMES) if not _is_odd(chance, oddness) else chance.choice(_VALUES),
    }
    if phase == "X":
        event["dur"] = _time(chance, chance.choice(_TIMES), oddness)
    if chance.random() < 0.5:
        event["cat"] = chance.choice(_CATEGORIES)
    if phase in "bnestfSTFpNODO(),C" and chance.random() < 0.8:
        event[chance.choice(("id", "id", "id", "id2", "bind_id"))] = _flow_id(chance, oddness)
    if phase == "C":
        event["args"] = {chance.choice(_KEYS): chance.choice((1, 2, -1, 0.5))}
    elif phase == "M":
        event["name"] = chance.choice(_METADATA)
        event["args"] = {chance.choice(("name", "sort_index", "labels")): chance.choice(_NAMES)}
    elif chance.random() < 0.4:
        event["args"] = {
            chance.choice(_KEYS): chance.choice(_VALUES) for _ in range(chance.randrange(4))
        }
    for key, values in (
        *(("args", _VALUES), ("bp", ("e", "", 1)), ("s", ("g", "p", "t", 1, None))),
        *(("tdur", _ODD_TIMES), ("tts", _ODD_TIMES), ("flow_in", _VALUES), ("flow_out", _VALUES)),
        *(("id", _VALUES), ("cat", _VALUES), ("dur", _ODD_TIMES), ("sf", _VALUES)),
    ):
        if _is_odd(chance, oddness / 4):
            event[key] = chance.choice(values)
    if event and _is_odd(chance, oddness):
        del event[chance.choice(list(event))]
    return event


def _time(chance: random.Random, usual: float, oddness: float) -> Any:
    return chance.choice(_ODD_TIMES) if _is_odd(chance, oddness) else usual


def _id(chance: random.Random, oddness: float) -> Any:
    return chance.choice(_ODD_IDS) if _is_odd(chance, oddness) else chance.choice(_IDS)


def _flow_id(chance: random.Random, oddness: float) -> Any:
    if _is_odd(chance, oddness):
        return chance.choice((*_ODD_IDS, {"local": "0x1"}, {"global": 2}, {"local": []}))
    return chance.choice((*_IDS, "0x1", "1"))


def _file(chance: random.Random, events: list[Any], oddness: float) -> str:
    is_ascii = chance.random() < 0.5
    between = chance.choice((",", ",\n", ",\n", " ,\r\n"))
    lines = between.join(json.dumps(event, ensure_ascii=is_ascii) for event in events)
    if chance.random() < 0.5:
        return f"[{lines}]"
    others = {
        key: chance.choice((*_VALUES, "ns", [{"id": 1}], {"name": "x"}))
        for key in ("displayTimeUnit", "otherData", "metadata", "stackFrames", "beginTimeMonotonic")
        if chance.random() < 0.2
    }
    more = "".join(f",{json.dumps(key)}:{json.dumps(value)}" for key, value in others.items())
    if _is_odd(chance, oddness):
        return f'{{{more[1:] + "," if more else ""}"traceEvents":[{lines}]}}'
    return f'{{"traceEvents":[{lines}]{more}}}'


def _damaged(chance: random.Random, text: str, oddness: float) -> bytes:
    """The bytes of a file, cut, or in another encoding than they should be."""
    data = text.encode("utf-8", "surrogatepass")
    if not _is_odd(chance, oddness):
        return data
    kind = chance.randrange(6)
    if kind == 0:
        return b"\xef\xbb\xbf" + data
    if kind == 1:
        return text.encode(chance.choice(("utf-16", "utf-16-le", "utf-32")), "surrogatepass")
    if kind == 2:
        return text.encode("latin-1", "replace")
    if kind == 3 and data:
        at = chance.randrange(len(data))
        return data[:at] + bytes((chance.randrange(256),)) + data[at + 1 :]
    if kind == 4:
        return data.replace(b"]", b",]", 1)
    return data[: chance.randrange(len(data) + 1)]
