"""Time per byte is bounded: what is four times as large takes about four times as long, whatever
its shape, in everything that a file reaches.
"""

from __future__ import annotations

import gc
import gzip
import io
import json
import random
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.traces import main_thread
from tilelang_trace.analysis.compare.timeline import side_by_side
from tilelang_trace.analysis.runs import ELLIPSIS, NEAREST
from tilelang_trace.analysis.selection.choose import select
from tilelang_trace.analysis.selection.selection import selection
from tilelang_trace.analysis.summary import summarize
from tilelang_trace.comparing import NothingToCompare, compare
from tilelang_trace.errors import UserError
from tilelang_trace.formats import files, naming
from tilelang_trace.formats.archives.together import Original
from tilelang_trace.reports.choice import Choice
from tilelang_trace.reports.compare import as_json as compare_as_json
from tilelang_trace.reports.compare import choice as compare_choice
from tilelang_trace.reports.compare import report as compare_report
from tilelang_trace.reports.issue.issue_text import issue_text
from tilelang_trace.reports.kernels.report import make_report as kernels_report
from tilelang_trace.secret_values import spans
from tilelang_trace.sharing.redaction import names, paths
from tilelang_trace.sharing.redaction.choice import Machine
from tilelang_trace.sharing.redaction.learn import EMAIL
from tilelang_trace.sharing.redaction.paths import Folders, Places
from tilelang_trace.sharing.redaction.proof import leaks
from tilelang_trace.sharing.redaction.pseudonyms import Pseudonyms
from tilelang_trace.sharing.redaction.redact import redact
from tilelang_trace.sharing.redaction.search import Finder
from tilelang_trace.sharing.viewing.exhibit import exhibit
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.error_argument import error_argument
from tilelang_trace.trace.model import CounterTrack, Lane, Trace
from tilelang_trace.trace.phases import with_phases

FLOOR_S = 0.03
"""What takes less is too short to be judged by its time."""
MOST = 8
"""Times as long as a quarter of it; four for what is linear, sixteen for what is quadratic."""


def seconds(do: Callable[[], object]) -> float:
    """As `timeit` takes it: without the garbage collector, which walks over all that the tests
    before have left.
    """
    gc.disable()
    try:
        start = time.process_time()
        do()
        return time.process_time() - start
    finally:
        gc.enable()


def check_growth(do: Callable[[Any], object], small: Any, large: Any) -> None:
    """Time what is done to something, and to what is four times as large; the best of some."""
    pairs = []
    for _ in range(3):
        first = max(seconds(lambda: do(small)), FLOOR_S)
        second = seconds(lambda: do(large))
        if second < MOST * first:
            return
        pairs.append((first, second))
    raise AssertionError(f"four times as much takes (s): {pairs}")


# ------------------------------------------------------------------------------------------ traces

Slice = tuple[int, int, str, str, dict[str, Any]]
ERROR = {"type": "E", "cause": "exception", "message": "m"}


def ok(number: int, **more: Any) -> dict[str, Any]:
    return {"sequence": number, "depth": 0, "status": "ok", **more}


def failed(number: int, **more: Any) -> dict[str, Any]:
    return ok(number, **{"status": "failed", "error": ERROR, **more})


def deep(n: int) -> Iterator[Slice]:
    return ((i, 4 * n - i, f"P{i}", "pass", ok(i)) for i in range(n))


def deep_failed(n: int) -> Iterator[Slice]:
    return ((i, 4 * n - i, "P", "pass", failed(i)) for i in range(n))


def deep_caught(n: int) -> Iterator[Slice]:
    yield 0, 9 * n, "Top", "pass", ok(0)
    yield from ((i, 5 * n - i, "P", "pass", failed(i)) for i in range(1, n))


def deep_failed_below(n: int) -> Iterator[Slice]:
    """Each level is incomplete, and has a child of its own that failed."""
    yield 0, 100 * n, "k", "compile", {**failed(0), "kernel": "k", "status": "incomplete"}
    for i in range(1, n // 2):
        around = {**failed(i), "status": "incomplete"}
        yield 9 * i, 90 * n - 9 * i, "P", "pass", around
        yield 9 * i + 1, 9 * i + 3, f"Q{i}", "codegen", failed(i)


def wide(n: int) -> Iterator[Slice]:
    return ((2 * i, 2 * i + 1, f"P{i}", "pass", ok(i)) for i in range(n))


def failures(n: int) -> Iterator[Slice]:
    return ((2 * i, 2 * i + 1, "P", "pass", failed(i)) for i in range(n))


def kernels(n: int) -> Iterator[Slice]:
    for i in range(n // 2):
        more = {"kernel": f"k/{i % 7}", "target": f"t{i}", f"a{i}": i, "configuration": {"x": i}}
        yield 9 * i, 9 * i + 8, f"k{i}", "compile", ok(i, **more)
        yield 9 * i + 1, 9 * i + 5, "P", "pass", ok(i)


def phases_failed(n: int) -> Iterator[Slice]:
    yield 0, 3 * n, "PassContext", "context", {"status": "ok", "context": 0}
    for i in range(n):
        yield 2 * i + 1, 2 * i + 2, "P", "pass", failed(i, phase=f"p{i}", **{f"a{i}": i})


def tools(n: int) -> Iterator[Slice]:
    yield 0, 3 * n, "k", "compile", ok(0, kernel="k")
    for i in range(n):
        command = ["nvcc", f"/home/jdoe{i}/project{i}/a{i}.cu", f"--api-key=x{i:020}Y"]
        yield 2 * i + 1, 2 * i + 2, f"nvcc{i}", "tool", ok(i, command=command)


def secrets(n: int) -> Iterator[Slice]:
    for i in range(n):
        argument = {f"/home/jdoe{i}/x": f"USER=jdoe{i} me{i}@example.com /data/x{i}/y.py"}
        yield 2 * i, 2 * i + 1, f"P{i}", "pass", ok(i, o=argument)


SHAPES: dict[str, Callable[[int], Iterator[Slice]]] = {
    f.__name__: f
    for f in (
        *(deep, deep_failed, deep_caught, deep_failed_below, wide, failures, kernels),
        *(phases_failed, tools, secrets),
    )
}


def of_slices(slices: Iterator[Slice]) -> Trace:
    builder = TraceBuilder()
    lane = main_thread(builder)
    for entry in slices:
        builder.slice(lane, *entry)
    return builder.build()


def many_lanes(n: int) -> Trace:
    """Each slice on a thread of its own, with a counter."""
    builder = TraceBuilder()
    process = builder.process("p", 1)
    for i in range(n):
        thread = builder.thread(process, f"t{i}", i + 1)
        builder.slice(builder.lane(Lane(thread)), i, i + 10, "P", "pass", ok(i))
        builder.counter_tracks.append(CounterTrack("c", "", thread))
        builder.counter(i, i, 1.0)
    return builder.build()


# ------------------------------------------------------------------------------------ what it does


def in_parts(trace: Trace) -> None:
    parts = select(trace, selection(["*"], 0.000_002, "kernel")).parts
    naming.for_kernels(Path("x.json"), [part.kernel for part in parts])


def compared(trace: Trace) -> None:
    trace = with_phases(trace)
    half = of_slices(
        (int(b), int(e), trace.name(row) if row % 2 else "New", "pass", ok(row))
        for row, (b, e) in enumerate(zip(trace.slices.begin, trace.slices.end))
        if trace.slices.lane[row] == 0
    )
    try:
        for new in (trace, half):
            found = compare(trace, new)
            for by in ("pass", "path"):
                shown = compare_report.make_report(found, compare_choice.Choice(by=by))
                compare_as_json.render(shown)
        side_by_side(found, trace, half, align="passes")
    except NothingToCompare:
        pass


def written(known: files.Format) -> Callable[[Trace], None]:
    return lambda trace: [None for _ in known.write(trace)].clear()


USES: dict[str, Callable[[Trace], object]] = {
    "phases": with_phases,
    "report": summarize,
    "report by kernel": lambda trace: kernels_report(trace, "x", Choice()),
    "issue": issue_text,
    "selection": in_parts,
    "compare": compared,
    "picture": written(files.SVG),
    "redaction": lambda trace: redact(trace, machine=Machine()),
    "open": lambda trace: exhibit({"x": [Original("", trace)]}, offline=True),
    **{known.name: written(known) for known in files.FORMATS},
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", [*SHAPES, "many lanes"])
def test_what_is_made_of_a_trace(shape: str) -> None:
    small, large = (
        many_lanes(n) if shape == "many lanes" else of_slices(SHAPES[shape](n)) for n in (500, 2000)
    )
    for use in USES.values():
        use(of_slices(SHAPES["wide"](3)))  # imports what it needs
        check_growth(use, small, large)


# ------------------------------------------------------------------------------------------- texts

PSEUDONYMS = Pseudonyms(kernels={"attention_ptr"})

READERS: dict[str, Callable[[str], object]] = {
    "e-mail": lambda text: EMAIL.sub("x", text),
    "paths": lambda text: paths.rewrite(text, Places(), lambda kind, old, key: old),
    "users": names.told,
    "secrets": spans,
    "names": lambda text: PSEUDONYMS.in_program(text, lambda kind, name: name),
    "error": lambda text: error_argument("E", "exception", text, [("E", text)]),
    "proof": lambda text: leaks([("x", text.encode())], ()),
}
PIECES = (
    *("a", "/", "@", " ", "-", ".", "_", "\\", "%", "~", "=", "'", "\x1b[", "\x1b]", "a/", "a@"),
    *(
        "a.",
        "%2F",
        "C:\\",
        "key=",
        "key ",
        "key:",
        "key='",
        "token",
        "pwd",
        "auth",
        "user: ",
        "-u ",
    ),
    *("a://", "bearer ", "eyJa.", "-----BEGIN PRIVATE KEY-----", 'File "', "HOME=/", "/Users/a A"),
    *("\\\\a\\", "a_", "&#1", "a: T.Buffer", "def a("),
)


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_a_long_text(reader: str) -> None:
    read = READERS[reader]
    for piece in PIECES:
        text = piece * (24_000 // len(piece))
        check_growth(read, text[:6_000], text)


# ------------------------------------------------------------------------------------------- files


def log(lines: Iterator[dict[str, Any]]) -> bytes:
    usual = {"name": "P", "depth": 0}
    texts = (
        json.dumps({**usual, "sequence": i, "start_ns": i, "end_ns": i + 1, **line})
        for i, line in enumerate(lines)
    )
    return "\n".join(['{"pass_events":1}', *texts]).encode()


def zip_of(n: int) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for i in range(n // 4):
            archive.writestr(f"{i}.txt", b"x")
    return content.getvalue()


def tar_of(n: int) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for i in range(n // 4):
            archive.addfile(tarfile.TarInfo(f"{'a' * 300}/{i}"))
    return content.getvalue()


def names_of_names(n: int) -> bytes:
    """A .tar in which each name is said to be followed by a longer one."""
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 4
    return (header.tobuf(tarfile.GNU_FORMAT) + b"abc".ljust(512, b"\0")) * n


FILES: dict[str, Callable[[int], bytes]] = {
    "deep": lambda n: log({"depth": i, "end_ns": 4 * n - i} for i in range(n)),
    "never ended": lambda n: log({"end_ns": None} for _ in range(n)),
    "deep, never ended": lambda n: log({"depth": i, "end_ns": None} for i in range(n)),
    "in turns": lambda n: log(
        {"depth": i % 2, "context": i % 7, "tid": i % 3, "end_ns": None} for i in range(n)
    ),
    "contexts": lambda n: log({"context": i} for i in range(n)),
    "threads": lambda n: log({"pid": i % 99, "tid": i} for i in range(n)),
    "arguments": lambda n: log({"args": {f"a{i}": i}} for i in range(n)),
    "gzip of one byte each": lambda n: b"".join(gzip.compress(b" ") for _ in range(n)),
    "zip": zip_of,
    "tar": tar_of,
    "names of names": names_of_names,
}


@pytest.mark.parametrize("name", FILES)
def test_reading(tmp_path: Path, name: str) -> None:
    def read(data: bytes) -> None:
        (tmp_path / "x").write_bytes(data)
        try:
            files.read(tmp_path / "x")
        except UserError as error:
            assert "\n" not in str(error)

    check_growth(read, FILES[name](1000), FILES[name](4000))


# ------------------------------------------------------------------------------ what that changed


def test_of_very_many_slices_around_a_failure_the_nearest_are_named() -> None:
    trace = of_slices(iter([*deep(300), (300, 301, "Bad", "pass", failed(300))]))
    (found,) = summarize(trace).failures
    nearest = tuple(f"P{i}" for i in range(300 - NEAREST, 300))
    assert found.path == (ELLIPSIS, *nearest)
    entry = next(e for e in compare(trace, trace).passes if e.name == "Bad")
    assert entry.path == (ELLIPSIS, *nearest, "Bad")
    trace = of_slices(iter([*deep(NEAREST), (300, 301, "Bad", "pass", failed(300))]))
    assert summarize(trace).failures[0].path == tuple(f"P{i}" for i in range(NEAREST))


@pytest.mark.parametrize("count", [3, 300])
def test_what_is_searched_for_many_texts_is_found_as_one_by_one(count: int) -> None:
    chance = random.Random(7)

    def text(length: int) -> str:
        return "".join(chance.choices("abé", k=length))

    for _ in range(30):
        wanted = [text(chance.randint(1, 12)) for _ in range(count)]
        within = text(chance.choice([0, 5, 200, 70_000]))
        expected = {one for one in wanted if one in within}
        assert set(Finder(wanted).found_in(within)) == expected
        assert set(Finder([w.encode() for w in wanted]).found_in(within.encode())) == {
            one.encode() for one in expected
        }


def test_the_longest_known_folder_around_a_path() -> None:
    folders = Folders()
    for folder in ("/home/jdoe", "/home/jdoe/work/deep", "C:/Users/JDoe", "/data"):
        folders.add(folder)
    for path, count in {
        "/home/jdoe/x.py": 3,
        "/home/jdoe/work/x.py": 3,
        "/home/jdoe/work/deep/er/x.py": 5,
        "/home/JDoe/x.py": 0,
        "c:/users/jdoe/x.py": 3,
        "/database/x": 0,
        "/data": 2,
        "x": 0,
    }.items():
        assert folders.around(path.split("/")) == count
