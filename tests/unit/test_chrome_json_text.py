"""JSON as text: each way in which it may be broken, with its right outcome by hand."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilelang_trace import limits
from tilelang_trace.errors import UserError
from tilelang_trace.formats.chrome_json.document import Document
from tilelang_trace.formats.chrome_json.reader import read

A = '{"name":"a","ph":"X","ts":1,"dur":2,"pid":1,"tid":1}'
B = '{"name":"b","ph":"X","ts":5,"dur":2,"pid":1,"tid":1,"args":{"l":[{"x":1},{"y":"},{"}]}}'
PLAIN = B.replace('},{"}]', '"}]')
C = '{"name":"c","ph":"X","ts":9,"dur":2,"pid":1,"tid":1}'
BOTH = f'{{"traceEvents":[{A},{B}]}}'


def document(text: str | bytes) -> Document:
    return Document(text.encode() if isinstance(text, str) else text)


def events(found: Document) -> list[Any]:
    return [event for _, block in found.events for event in block]


def names(found: Document) -> list[str]:
    return [event["name"] for event in events(found)]


def told(found: Document) -> list[str]:
    return [str(finding) for finding in found.findings]


# ------------------------------------------------------------------------------------- good forms


@pytest.mark.parametrize(
    "text",
    [
        f"[{A},{B}]",
        f"[\n{A},\n{B}\n]\n",
        BOTH,
        f'{{"z":{{"traceEvents":[1]}},"y":"]}}","traceEvents":[{A},{B}],"x":[[1],{{}}]}}',
        f'{{ "traceEvents" : [ {A} , {B} ] }} \n',
    ],
)
def test_good_forms(text: str) -> None:
    found = document(text)
    assert names(found) == ["a", "b"]
    assert told(found) == []


def test_what_stands_beside_the_events_is_kept_if_it_is_small() -> None:
    large = json.dumps("x" * 70_000)
    data = (
        f'{{"schemaVersion":1,"systemTraceEvents":{large},"deviceProperties":[{{"id":0}}],'
        f'"traceEvents":[{A}],"otherData":{{"version":"1"}},"rate":NaN}}'
    )
    assert read(data.encode()).metadata["beside_events"] == {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0}],
        "otherData": {"version": "1"},
        "rate": None,
    }


@pytest.mark.parametrize(
    ("beside", "value", "finding"),
    [
        ('"rate":NaN', None, "not-a-number: a value is NaN: read as null"),
        ('"list":[1,-Infinity]', [1, None], "not-a-number"),
        ('"otherData":{"a":01,}', {"a": 1}, "loose-json"),
        ('"rate":0x10', None, "loose-json: left out"),
    ],
)
def test_what_is_no_json_beside_the_events_is_told(
    beside: str, value: object, finding: str
) -> None:
    text = f'{{"traceEvents":[{A}],{beside}}}'
    found = document(text)
    assert list(found.beside.values()) == [value]
    place = text.index(beside) + beside.index(":") + 1
    assert told(found)[0].startswith(f"byte {place}: {finding}")


def test_several_lists_are_read() -> None:
    found = document(f'{{"traceEvents":[{A}],"x":1,"traceEvents":[{B}]}}')
    assert names(found) == ["a", "b"]
    assert told(found) == ["byte 90: several-lists: read one by one"]


@pytest.mark.parametrize("text", [f"{A}\n{B}\n", f"{A},\n{B},\n", f"{A} {B}"])
def test_events_in_no_list(text: str) -> None:
    found = document(text)
    assert names(found) == ["a", "b"]
    assert [finding.rule for finding in found.findings] == ["event-lines"]
    assert found.beside == {}


# ---------------------------------------------------------------------------------------- the end

KEPT = "2 events kept"


@pytest.mark.parametrize(
    ("text", "kept", "finding"),
    [
        (f"[{A},{B}", 2, f"unclosed: {KEPT}, the list is not closed"),
        (f"[{A},{B},\n", 2, f"unclosed: {KEPT}, the list is not closed"),
        (BOTH[:-2], 2, f"cut-off: {KEPT}, the list is not closed"),
        (BOTH[:-1], 2, f"unclosed: {KEPT}, the object is not closed"),
        (BOTH[:-1] + ',"x', 2, f"unclosed: {KEPT}, the object is not closed"),
        (BOTH[:-1] + ',"x"', 2, f"unclosed: {KEPT}, the object is not closed"),
        (BOTH[:-1] + ',"x":', 2, f"unclosed: {KEPT}, the object is not closed"),
        (BOTH[:-1] + ',"x":"a', 2, f"unclosed: {KEPT}, the object is not closed"),
        (BOTH[:-1] + ',"x":[1,{"a":2}', 2, f"unclosed: {KEPT}, the object is not closed"),
        (BOTH[:-5], 1, "cut-off: 1 event kept, the file ends inside event 2"),
        (f"[{A},{B[:20]}", 1, "cut-off: 1 event kept, the file ends inside event 2"),
        (f"[{A},{B[:3]}", 1, "cut-off: 1 event kept, the file ends inside event 2"),
        ('{"traceEvents":[', 0, "cut-off: 0 events kept, the list is not closed"),
    ],
)
def test_the_end_is_missing(text: str, kept: int, finding: str) -> None:
    found = document(text)
    assert names(found) == ["a", "b"][:kept]
    *_, last = found.findings
    assert f"{last.rule}: {last.done}" == finding
    assert last.place == (f"byte {len(text)}" if "\n" not in text.rstrip() else "")


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (f"[{A},{B},]", "commas"),
        (f"[{A},,{B}]", "commas"),
        (f"[{A}{B}]", "commas"),
        (f"[{A}}},{B}]", "loose-json"),
        (BOTH + "junk", "trailing-text"),
        (BOTH + "\0\0", "trailing-text"),
    ],
)
def test_what_is_too_much_or_missing_between(text: str, finding: str) -> None:
    found = document(text)
    assert names(found) == ["a", "b"]
    assert [finding.rule for finding in found.findings] == [finding]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
EVENT = st.fixed_dictionaries({"ph": st.sampled_from("XBE")}, optional={"args": JSON, "name": JSON})


@given(st.lists(EVENT, max_size=4), st.booleans(), st.booleans(), st.data())
def test_a_cut_leaves_all_whole_events(
    all_events: list[Any], is_object: bool, is_ascii: bool, data: st.DataObject
) -> None:
    start, end = (b'{"traceEvents":[', b"]}") if is_object else (b"[", b"]")
    texts = [json.dumps(event, ensure_ascii=is_ascii).encode() for event in all_events]
    text = start + b",".join(texts) + end
    cut = data.draw(st.integers(len(start), len(text)))
    ends = [len(start + b",".join(texts[: count + 1])) for count in range(len(texts))]
    found = document(text[:cut])
    # Through JSON, as a surrogate in an escape becomes U+FFFD.
    whole = [document(b"[" + text + b"]") for text, end in zip(texts, ends) if end <= cut]
    assert events(found) == [event for one in whole for event in events(one)]
    assert found.count == len(whole)
    if cut < len(text):
        assert found.findings


# --------------------------------------------------------------------------------- broken events


@pytest.mark.parametrize(
    "broken",
    [
        PLAIN.replace('"b"', '"b'),
        PLAIN.replace('"b"', 'b"'),
        PLAIN.replace(',"ts"', '"ts"'),
        PLAIN.replace('"ts":5', '"ts":5-3'),
        PLAIN.replace('"ts":5', '"ts":'),
        PLAIN.replace('"ts":5', '"ts"'),
        PLAIN.replace('"ts":5', "ts:5"),
        PLAIN[:-1],
        PLAIN[:-2],
        PLAIN.replace("}]", "}"),
        PLAIN.replace('[{"x"', '{{"x"'),
    ],
)
@pytest.mark.parametrize("separator", [",", ",\n"])
def test_an_event_that_is_broken_is_left_out(broken: str, separator: str) -> None:
    found = document("[" + separator.join((A, broken, C, A)) + "]")
    assert names(found) == ["a", "c", "a"]
    where = f"byte {len(A) + 2}" if separator == "," else "line 2"
    assert told(found) == [f"event 2 ({where}): broken-event: left out"]


@pytest.mark.parametrize(
    ("change", "value", "finding"),
    [
        ('"x":NaN', None, "not-a-number: 'x' is NaN: read as null"),
        ('"x":-Infinity', None, "not-a-number: 'x' is -Infinity: read as null"),
        ('"x":nan', None, "not-a-number: 'x' is nan: read as null"),
        ('"x":-inf', None, "not-a-number: 'x' is -inf: read as null"),
        ('"x":-nan(ind)', None, "not-a-number: 'x' is -nan(ind): read as null"),
        ('"x":1.#INF', None, "not-a-number: 'x' is 1.#INF: read as null"),
        ('"x":1e999', None, "not-a-number: 'x' is 1e999: read as null"),
        ('"x":1.', 1.0, "loose-json: 'x' is 1."),
        ('"x":-.5', -0.5, "loose-json: 'x' is -.5"),
        ('"x":+1', 1, "loose-json: 'x' is +1"),
        ('"x":007', 7, "loose-json: 'x' is 007"),
        ('"x":00', 0, "loose-json: 'x' is 00"),
        ('"x":1.e3', 1000.0, "loose-json: 'x' is 1.e3"),
        ('"x":True', True, "loose-json: 'x' is True"),
        ('"x":None', None, "loose-json: 'x' is None"),
        ('"x":undefined', None, "loose-json: 'x' is undefined"),
        ('"x":[1,]', [1], "commas: one comma too many"),
        ('"x":"a\tb\nc"', "a\tb\nc", "control-character"),
        ('"x":"\\x41\\\'\\d"', "A'\\d", "bad-escape: \\x41 is read as \\u0041"),
        ('"x":"\\ud83d!"', "\ufffd!", "surrogates: \\ud83d is read as \\ufffd"),
        (b'"x":"gr\xf6\xdfe"', "größe", "not-utf-8"),
        (b'"x":"gr\xc3\xb6\xc3"', "gröÃ", "not-utf-8"),
        (b'"x":"\x80"', "€", "not-utf-8"),
        (b'"x":"\xed\xa0\xbd\xed\xb8\x80"', "\U0001f600", "not-utf-8"),
    ],
)
def test_what_is_almost_json_is_read(change: str | bytes, value: object, finding: str) -> None:
    as_bytes = change.encode() if isinstance(change, str) else change
    data = f"[{A},{B},{C}]".encode().replace(b'"x":1', as_bytes)
    found = document(data)
    assert names(found) == ["a", "b", "c"]
    assert events(found)[1]["args"]["l"][0]["x"] == value
    (line,) = told(found)
    assert line.startswith("event 2 (") and finding in line


def test_a_value_that_is_nested_too_deep_is_left_out() -> None:
    for depth in (20, 200, 5_000, 100_000):
        deep = B.replace('"x":1', f'"x":1,"d":{"[" * depth}{"]" * depth}')
        with limits.using(limits.Limits(nesting=12)):
            found = document(f"[{A},{deep},{C}]")
        assert names(found) == ["a", "b", "c"]
        assert [finding.rule for finding in found.findings] == ["deep-value"]
        assert events(found)[1]["args"]["l"][1] == {"y": "},{"}
        value = events(found)[1]["args"]["l"][0]["d"]
        for _ in range(9):
            (value,) = value
        assert value in ([None], None)


# -------------------------------------------------------------------------------------- escapes


def rules_of(text: str) -> list[tuple[str, str]]:
    named = C.replace('"c"', f'"{text}"')
    builder = read(f"[{A},{named}]".encode())
    return [(finding.rule, finding.place) for finding in builder.findings]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("a\\nb", "escapes"),
        ("\\\\", "escapes"),
        ("\\u00e9", "escapes"),
        ('\\"\\n', None),
        ("\\ud83d\\ude00", "surrogates"),
        ('\\"\\uD83D\\uDE00', "surrogates"),
        ("é", None),
    ],
)
def test_escapes_that_perfetto_takes_wrongly(text: str, rule: str | None) -> None:
    assert rules_of(text) == ([(rule, f"event 2 (byte {len(A) + 2})")] if rule else [])


# ----------------------------------------------------------------------------------------- places


def test_places_in_a_long_file() -> None:
    many = [
        A.replace('"a"', f'"a{k}"').replace('"tid":1', '"tid":1,"args":{"l":[{} , {}]}')
        for k in range(3_000)
    ]
    data = "[\n" + ",\n".join(many) + "\n]"
    found = document(data)
    assert found.count == 3_000
    for number in (1, 2, 1_000, 2_999, 3_000):
        assert found.places.event(number) == f"event {number} (line {number + 1})"
        assert found.places.event_at(data.index(f'"a{number - 1}"')) == found.places.event(number)
    found = document("[" + ", ".join(many) + "]")
    for number in (1, 1_777, 3_000):
        place = len(", ".join([*many[: number - 1], ""])) + 1
        assert found.places.event(number) == f"event {number} (byte {place})"


def test_one_broken_event_in_a_long_file() -> None:
    many = [A] * 3_000
    many[1_700] = A.replace('"a"', '"a')
    found = document("[\n" + ",\n".join(many) + "\n]")
    assert (found.count, found.kept) == (3_000, 2_999)
    assert told(found) == ["event 1701 (line 1702): broken-event: left out"]


@pytest.mark.parametrize("broken", [A.replace(":", "="), "x", "17", '"quoted"', "[]"])
def test_after_very_many_that_are_no_events_the_next_ones_are_found(broken: str) -> None:
    found = document("[" + ",".join([A, *[broken] * 3_000, *[A] * 100, B]) + "]")
    whole = [event["name"] for event in events(found) if isinstance(event, dict)]
    assert whole[-1] == "b" and 101 - whole.count("a") <= 1024 / len(A) + 1
    assert set(found.findings.counts) <= {"broken-event"}
    assert "bytes are passed by, behind 500 that are no events" in "".join(told(found))


def test_times_that_no_double_holds_are_given_as_digits() -> None:
    digits = "1760000000123456.001"
    args = f'"args":{{"ts":{digits},"s":"{digits}"}}'
    (event,) = events(document(f'[{{"ph":"X",{args},"ts":{digits},"dur":1.760e15}}]'))
    assert event == {
        "ph": "X",
        "args": {"ts": float(digits), "s": digits},
        "ts": digits,
        "dur": "1.760e15",
    }
    (event,) = events(document('[{"ph":"X","ts":1760000000123456,"dur":12345678.125}]'))
    assert event == {"ph": "X", "ts": 1760000000123456, "dur": 12345678.125}


# ------------------------------------------------------------------------------- no trace, and time


@pytest.mark.parametrize(
    "text", ['{"a":1}', '{"traceEvents":5}', "{", '{"traceEv', "[1,2]", '[{"a":1}]']
)
def test_what_is_no_trace_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="no trace"):
        read(text.encode())


N = 20_000
HOSTILE = {
    "lists": b"[" * N,
    "objects": b'{"a":' * N,
    "lists of events": b'{"traceEvents":' * N,
    "backslashes": b'["' + b"\\" * N,
    "backslashes in an event": b'[{"name":"' + b"\\" * N + b'"}]',
    "events": b"[" + b'{"a":},' * N + b"]",
    "quotes": b"[" + b'{"ph":"X","name":"a},' * N + b"]",
    "braces": b"[" + b'{"ph":"X","args":{"a":1},' * N + b"]",
    "brackets": b"[" + b'{"ph":"X","args":[{"a":1},' * N + b"]",
    "documents": b"[]" * N,
    "commas": b"[" + b"," * N,
    "odd quote": b'["' + b'{"ph":"X","a":"b"},' * N,
    "spaces": b"[" + (b"}" + b" " * 50) * N,
    "closings": b"[" + b'{"ph":"X"x}]' * N,
    "late boundary": b'{"ph":"X"}\n' * N + b'{"a":},{"b"',
    "digits": b'[{"a":NaN,"ts":' + b"1" * N + b"}]",
    "controls": b'[{"a":"' + b"\n\xff" * N + b'"}]',
    "words": b"[" + b"x," * N + b"]",
    "numbers": b"[" + b"1," * N + b"]",
    "strings": b"[" + b'"' * N + b"]",
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_time_is_in_proportion_to_the_text(data: bytes) -> None:
    begin = time.process_time()
    Document(data)
    assert time.process_time() - begin < 0.5 + 5e-6 * len(data)
