"""Where things stand in a picture: positions typed out by hand, what is merged, what is left out.

Most traces last 876 µs: the picture is 900 pixels wide with margins of 12, so that 1 µs is a pixel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.traces import TRACES, failed_compile, main_thread, one_lane, still_running
from tilelang_trace.analysis.compare.timeline import side_by_side
from tilelang_trace.comparing import compare
from tilelang_trace.formats.picture.axis import duration, ticks
from tilelang_trace.formats.picture.layout import layout
from tilelang_trace.formats.picture.shapes import Box, Picture
from tilelang_trace.formats.picture.text_width import shortened, text_width
from tilelang_trace.trace.build import TraceBuilder
from tilelang_trace.trace.model import Lane, Trace

US = 1000
WHOLE = 876 * US
ERROR = {"type": "ValueError", "cause": "exception", "message": "no room"}


def box(picture: Picture, name: str) -> Box:
    """The one box whose tooltip begins with a name."""
    found = [b for b in picture.boxes if b.tooltip.partition(",")[0] == name]
    assert len(found) == 1, [b.tooltip for b in picture.boxes]
    return found[0]


def place(one: Box) -> tuple[float, float, float]:
    return round(one.x, 3), one.y, round(one.width, 3)


def texts(picture: Picture) -> list[str]:
    return [text.text for text in picture.texts]


def a_pass(begin: int, end: int, name: str, **arguments: Any) -> tuple[Any, ...]:
    return begin * US, end * US, name, "pass", {"status": "ok", **arguments}


def test_boxes_stand_where_time_and_nesting_say() -> None:
    picture = layout(
        one_lane(
            a_pass(0, 876, "Outer"),
            a_pass(100, 300, "First"),
            a_pass(300, 876, "Second"),
            a_pass(300, 302, "Short"),
        )
    )
    # 12 of margin, 21 of title, twice 17 of text, 4, 14 of axis, 18 for the name of the lane.
    assert place(box(picture, "Outer")) == (12, 103, 875.5)
    # The gap of half a pixel tells neighbours apart.
    assert place(box(picture, "First")) == (112, 121, 199.5)
    assert place(box(picture, "Second")) == (312, 121, 575.5)
    assert place(box(picture, "Short")) == (312, 139, 2)
    assert {b.height for b in picture.boxes if b.tooltip} == {17}
    assert picture.width == 900


def test_a_bar_says_name_and_time_and_the_lane_its_thread() -> None:
    picture = layout(one_lane(a_pass(0, 876, "Outer"), a_pass(0, 60, "tirx.StorageRewrite")))
    assert "Outer  876 us" in texts(picture)
    assert "Storag…" in texts(picture)  # where not all has room, the part that tells most
    assert "mlp.py (71)" in texts(picture) and "MainThread" in texts(picture)


def test_children_lie_below_and_within_their_parents() -> None:
    trace = TRACES["nested_compile"]()
    picture = layout(trace)
    for child, parent in (("FuseTIR", "sequential"), ("cc", "mlp"), ("LegalizeOps", "lower")):
        inner, outer = box(picture, child), box(picture, parent)
        assert outer.x <= inner.x and inner.x + inner.width <= outer.x + outer.width + 0.01
        assert inner.y >= outer.y + 18


def test_what_is_too_narrow_to_see_is_one_bar_that_says_how_many() -> None:
    # 200 passes of 0.5 µs each, next to each other, which is half a pixel: 100 pixels in all.
    narrow = [(600_000 + n * 500, 600_000 + (n + 1) * 500, "Simplify", "pass") for n in range(200)]
    picture = layout(one_lane(a_pass(0, 876, "Outer"), *narrow, a_pass(800, 801, "Alone")))
    merged = box(picture, "200 passes")
    assert place(merged) == (612, 121, 99.5)
    assert "200 passes" in texts(picture)
    assert "the longest: Simplify" in merged.tooltip
    assert place(box(picture, "Alone")) == (812, 121, 1)
    assert "several, too short to show" in texts(picture)


def test_narrow_ones_with_a_gap_between_them_stay_apart() -> None:
    picture = layout(
        one_lane(a_pass(0, 876, "Outer"), a_pass(10, 11, "Left"), a_pass(14, 15, "Right"))
    )
    assert place(box(picture, "Left")) == (22, 121, 1)
    assert place(box(picture, "Right")) == (26, 121, 1)


def test_a_failure_is_marked_and_told_however_short_it_is() -> None:
    failed = {"status": "failed", "error": {**ERROR, "detail": "no room\nat all"}}
    around = {"status": "incomplete", "error": ERROR}
    many = [(100_000 + n, 100_001 + n, "Simplify", "pass") for n in range(1_000)]
    picture = layout(
        one_lane(
            a_pass(0, 876, "Outer", **around),
            *many,
            (875_999, 876_000, "Last", "pass", failed),
        )
    )
    last = box(picture, "Last")
    assert last.look == "failed" and last.fill == "#cf222e"
    assert place(last) == (883, 121, 5)  # as wide as can be seen, and within the paper
    assert box(picture, "Outer").look == "incomplete"
    told = next(text for text in picture.texts if text.text == "Last failed: no room")
    assert told.anchor == "end" and told.y > last.y + last.height
    (leader,) = picture.leaders
    assert last.x < leader.x < last.x + last.width
    assert leader.top == last.y + last.height and leader.bottom > told.y - 8
    assert {"failed", "incomplete: what the failure went through"} <= set(texts(picture))
    assert "failed in Last after 876 us" in texts(picture)
    assert picture.alt == "Flame chart of the compile of mlp.py: failed in Last after 876 us"


def test_what_is_around_a_failure_is_shown_among_others_that_are_merged() -> None:
    around = {"status": "incomplete", "error": ERROR}
    narrow = [(n * 1_000, n * 1_000 + 500, "Simplify", "pass") for n in range(1, 875)]
    narrow[400] = (401_000, 401_500, "Around", "pass", around)
    failed = (401_400, 401_500, "Guilty", "pass", {"status": "failed", "error": ERROR})
    picture = layout(one_lane(a_pass(0, 876, "Outer", **around), *narrow, failed))
    assert place(box(picture, "Around")) == (413, 121, 0.75)
    assert box(picture, "Around").look == "incomplete"
    assert place(box(picture, "Guilty")) == (413.4, 139, 5)
    assert box(picture, "400 passes") and box(picture, "473 passes")


def test_the_failure_that_ended_the_compile_is_told_before_one_that_was_caught() -> None:
    picture = layout(failed_compile())
    told = [text for text in texts(picture) if " failed: " in text]
    assert told == [
        'InjectPipeline failed: tile "24" is not a multiple of 16',
        "ApplySchedule failed: no schedule",
    ]
    assert "failed in InjectPipeline after 50.0 us (and 1 more)" in texts(picture)


def test_many_failures_are_counted() -> None:
    failed = {"status": "failed", "error": ERROR}
    picture = layout(one_lane(*(a_pass(n * 8, n * 8 + 8, f"P{n}", **failed) for n in range(100))))
    assert len([text for text in texts(picture) if text.endswith("failed: no room")]) == 4
    assert "and 96 more failed" in texts(picture)


def test_what_still_runs_has_a_look_of_its_own() -> None:
    picture = layout(still_running())
    looks = {b.tooltip.partition(",")[0]: b.look for b in picture.boxes if b.tooltip}
    assert looks["Tune"] == "open"
    assert "still running" in texts(picture) and "still running after 95 ns" in texts(picture)


def test_a_failure_keeps_its_level_where_nesting_is_too_deep_to_show() -> None:
    nest = [a_pass(n, 876 - n, f"P{n}") for n in range(200)]
    nest[180] = a_pass(180, 696, "Guilty", status="failed", error=ERROR)
    picture = layout(one_lane(*nest))
    guilty = box(picture, "Guilty")
    assert box(picture, "P179").y == guilty.y - 18
    assert box(picture, "P0").y < box(picture, "P10").y < guilty.y
    assert not [b for b in picture.boxes if b.tooltip.startswith("P100,")]
    assert [text for text in texts(picture) if "levels not shown" in text]
    assert picture.height < 1600


def threads(count: int, failing: int | None = None) -> Trace:
    """Threads that are busy for longer and longer; one may fail at once."""
    builder = TraceBuilder()
    process = builder.process("tune.py", 7)
    for number in range(count):
        lane = builder.lane(Lane(builder.thread(process, f"worker {number}", number)))
        fails = number == failing
        arguments = {"status": "failed", "error": ERROR} if fails else {"status": "ok"}
        end = 1 if fails else 1_000 + number
        builder.slice(lane, 0, end, "Guilty" if fails else "Work", "pass", arguments)
    return builder.build()


def test_lanes_that_have_no_room_are_counted_and_the_failed_one_is_shown() -> None:
    picture = layout(threads(500, failing=3))
    shown = {text for text in texts(picture) if text.startswith("worker ")}
    assert len(shown) == 32
    assert {"worker 3", "worker 499", "worker 470"} <= shown
    assert box(picture, "Guilty").look == "failed"
    assert "failed in Guilty after 1 ns, 1.50 us in all" in texts(picture)
    # 468 lanes, of 1000 to 1468 ns without the failed one.
    assert "468 more rows, 578 us in all, not shown" in texts(picture)
    assert picture.height < 1600


def test_a_comparison_is_called_after_its_sides_and_its_bars_say_the_change() -> None:
    base, new = failed_compile(), failed_compile()
    both = side_by_side(compare(base, new), base, new, min_ns=0)
    picture = layout(both)
    assert picture.alt.startswith("Flame chart of the compile of base: base, new: new, difference")
    assert {"base: MainThread", "new: MainThread"} <= set(texts(picture))
    assert len([b for b in picture.boxes if b.tooltip.startswith("LowerTIR, pass")]) == 2
    changed = one_lane(
        (0, WHOLE, "LegalizeOps +1.20 ms (+9 %)", "difference,slower"),
        (0, 300 * US, "FuseOps.Long name +1.20 ms (+9 %)", "difference,faster"),
    )
    picture = layout(changed)
    assert "LegalizeOps +1.20 ms (+9 %)" in texts(picture)
    fills = [b.fill for b in picture.boxes if b.tooltip]
    assert fills == ["#f2a65a", "#7ccf8a"] and {"slower", "faster"} <= set(texts(picture))
    assert "same" not in texts(picture)


def test_every_lane_is_named_under_its_process() -> None:
    builder = TraceBuilder()
    for name in ("base", "new"):
        builder.slice(main_thread(builder, name, None), 0, 10, f"in {name}", "pass")
    shown = texts(layout(builder.build()))
    assert {"base", "new"} <= set(shown) and shown.count("MainThread") == 2


@pytest.mark.parametrize("name", TRACES)
def test_nothing_leaves_the_paper_and_texts_fit_their_room(name: str) -> None:
    picture = layout(TRACES[name]())
    for one in picture.boxes:
        assert one.x >= 0 and one.x + one.width <= picture.width - 12 + 0.01
        assert one.y >= 0 and one.y + one.height <= picture.height
    for text in picture.texts:
        assert text_width(text.text, text.size, text.bold) <= text.room + 0.01
        width = text_width(text.text, text.size, text.bold)
        left = {"start": 0.0, "middle": width / 2, "end": width}[text.anchor]
        assert text.x - left >= 11.9 and text.x - left + width <= picture.width - 11.9
        assert text.text.isprintable()
    assert picture == layout(TRACES[name]())


def test_a_large_trace_makes_a_small_picture() -> None:
    rng = np.random.default_rng(6)
    edges = np.sort(rng.integers(0, 10**9, 20_000)).tolist()
    slices = [(a, b, f"Pass{n % 300}", "pass") for n, (a, b) in enumerate(zip(edges, edges[1:]))]
    picture = layout(one_lane(*(s for s in slices if s[1] > s[0])))
    shown = [b for b in picture.boxes if b.tooltip]
    assert len(shown) <= 900
    counted = sum(
        int(b.tooltip.split()[0]) if b.tooltip.split()[1] == "passes," else 1 for b in shown
    )
    assert counted == len([s for s in slices if s[1] > s[0]])


@pytest.mark.parametrize(
    ("ns", "shown"),
    [
        (0, "0 ms"),
        (7, "7 ns"),
        (1_234, "1.23 us"),
        (93_175_977, "93.2 ms"),
        (999_999, "1000 us"),
        (1_114_635_158, "1.11 s"),
        (3_880_000_000_000, "3880 s"),
    ],
)
def test_times_have_three_digits(ns: int, shown: str) -> None:
    assert duration(ns) == shown


def test_ticks_are_round_and_few() -> None:
    assert ticks(93_175_977, 10)[1] == (10_000_000, "10 ms") and len(ticks(93_175_977, 10)) == 10
    assert [text for _, text in ticks(1_114_635_158, 10)][1::2] == ["200 ms", "600 ms", "1000 ms"]
    assert [text for _, text in ticks(4_000_000_000, 10)][:3] == ["0 s", "0.5 s", "1 s"]
    assert ticks(1, 10) == [(0, "0 ns"), (1, "1 ns")]


def test_texts_are_cut_to_their_room() -> None:
    assert shortened("LegalizeOps", 11, 1_000) == "LegalizeOps"
    cut = shortened("LegalizeOps", 11, 50)
    assert cut == "Legali…" and text_width(cut, 11) <= 50
    assert shortened("LegalizeOps", 11, 5) == ""
    assert text_width("漢字", 10) >= 20 and text_width("ö", 10) == text_width("o", 10)
