"""Where everything stands in the picture of a Trace: computed once, for all that draws it.

Time goes from left to right, nesting downwards. A lane is a band: its name, a row of bars for each
level, and below them the failures in it, in words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from tilelang_trace.formats.picture import colours, words
from tilelang_trace.formats.picture.axis import duration, ticks
from tilelang_trace.formats.picture.bars import Bar, bars
from tilelang_trace.formats.picture.rows import Band, bands, by_process, depths
from tilelang_trace.formats.picture.shapes import Box, Line, Look, Picture, Text
from tilelang_trace.formats.picture.text_width import ELLIPSIS, shortened, text_width
from tilelang_trace.trace.arguments import (
    DIFFERENCE,
    FAILED,
    INCOMPLETE,
    KINDS,
    OPEN,
    kind_of,
)
from tilelang_trace.trace.failures import Failure, failures, main_failure
from tilelang_trace.trace.headline import headline
from tilelang_trace.trace.model import Ids, Mask, Trace
from tilelang_trace.trace.phases import with_phases

WIDTH = 900
"""Pixels: what GitHub shows of a picture in an issue without making it smaller."""
MARGIN = 12
ROW = 18
"""From one level to the next."""
BAR = 17
SIZE = 11
"""Of the letters in bars."""

_SMALL = 10
_TITLE = 15
_LEAST_WIDTH = 0.75
_GAP = 0.5
_GAP_FROM = 3
_LEAST_FAILED_WIDTH = 5.0
_PAD = 3
_FAILURES_TOLD = 4
"""So many failures are marked and told in words."""
_FAILURES_ALONE = 20
"""So many have a bar of their own, with all that encloses them."""
_TICKS = 10


def layout(trace: Trace) -> Picture:
    """The picture of a Trace. The same Trace gives the same picture."""
    return _Layout(with_phases(trace)).picture()


class _Layout:
    """Puts one thing below the other."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._head = headline(trace)
        self._grid: list[Line] = []
        self._boxes: list[Box] = []
        self._leaders: list[Line] = []
        self._box_of: dict[int, Box] = {}
        """The boxes by the row of the slice, or of the first one."""
        self._texts: list[Text] = []
        self._y = float(MARGIN)
        slices = trace.slices
        self._start = int(slices.begin.min()) if len(slices) else 0
        self._length = max(self._head.wall_ns, 1)
        self._ns_per_pixel = self._length / (WIDTH - 2 * MARGIN)
        self._statuses = trace.arguments.strings("status", len(slices))
        self._status_ids = {text: i for i, text in enumerate(trace.strings) if text in _LOOKS}

    def picture(self) -> Picture:
        """Everything, from the title down to the legend."""
        self._title()
        if len(self._trace.slices):
            self._chart()
        else:
            self._text(MARGIN, SIZE, "Nothing was recorded: there is no slice.", colours.FAINT)
        height = round(self._y + MARGIN)
        alt = words.alt(self._head)
        return Picture(
            WIDTH,
            height,
            alt,
            tuple(self._grid),
            tuple(self._boxes),
            tuple(self._leaders),
            tuple(self._texts),
        )

    def _title(self) -> None:
        head = self._head
        self._text(MARGIN, _TITLE, head.what, colours.INK, bold=True)
        state, colour = words.state(head)
        facts = [f"{head.passes} pass{'es' * (head.passes != 1)}" if head.passes else ""]
        facts.append(head.command if head.kernels else "")
        # The state stands alone where it has a colour, so that it also has a place.
        self._text(MARGIN, SIZE, state, colour, bold=head.failure is not None)
        rest = ", ".join(fact for fact in facts if fact)
        versions = ", ".join(f"{name} {value}" for name, value in head.versions)
        for line in (rest, versions):
            if line:
                self._text(MARGIN, SIZE, line, colours.FAINT)
        self._y += 4

    def _chart(self) -> None:
        trace, slices = self._trace, self._trace.slices
        depth = depths(slices)
        found = failures(trace)
        main = main_failure(trace, found)
        # The one that matters first: it keeps its place where there is little.
        ordered = sorted(found, key=lambda failure: failure is not main)
        drawn, left_out = bands(slices, depth, [failure.row for failure in ordered])
        by_level = self._bars(depth, drawn, ordered)
        told = ordered[:_FAILURES_TOLD]
        top = self._axis()
        for band, process in by_process(trace, drawn):
            self._lane_name(band, process)
            self._levels(band, by_level)
            self._told(band, [f for f in told if int(slices.lane[f.row]) == band.lane])
        self._rule(top)
        if len(ordered) > len(told):
            more = len(ordered) - len(told)
            self._text(MARGIN, SIZE, f"and {more} more failed", colours.FAILED, bold=True)
        if left_out:
            busy = slices.duration[np.isin(slices.lane, left_out) & (depth == 0)].sum()
            rows = f"{len(left_out)} more row{'s' * (len(left_out) > 1)}"
            self._text(MARGIN, _SMALL, f"{rows}, {duration(int(busy))} in all, not shown")
        self._legend()

    # ------------------------------------------------------------------------------------ bars

    def _bars(
        self, depth: Ids, drawn: Sequence[Band], ordered: Sequence[Failure]
    ) -> dict[tuple[int, int], list[Bar]]:
        """The bars of each lane and level."""
        trace, slices = self._trace, self._trace.slices
        wanted = np.zeros(len(slices), np.bool_)
        for band in drawn:
            levels = [level.depth for level in band.levels]
            wanted |= (slices.lane == band.lane) & np.isin(depth, levels)
        alone: set[int] = set()
        for failure in ordered[:_FAILURES_ALONE]:
            row = failure.row
            while row >= 0 and row not in alone:
                alone.add(row)
                row = int(slices.parent[row])
        lengths = np.array([min(len(s), words.LONGEST_NAME) for s in trace.strings], np.int32)
        found = bars(
            slices,
            depth,
            wanted,
            sorted(alone),
            self._having(FAILED) & (trace.kinds() >= 0),
            lengths[slices.name],
            self._ns_per_pixel,
        )
        by_level: defaultdict[tuple[int, int], list[Bar]] = defaultdict(list)
        for bar in found:
            by_level[bar.lane, bar.depth].append(bar)
        return by_level

    def _having(self, status: str) -> Mask:
        mask: Mask = self._statuses == self._status_ids.get(status, -2)
        return mask

    def _levels(self, band: Band, by_level: dict[tuple[int, int], list[Bar]]) -> None:
        for level in band.levels:
            if level.skipped:
                self._note(f"{ELLIPSIS} {level.skipped} levels not shown {ELLIPSIS}")
            # Narrow bars that failed lie over their neighbours.
            for bar in sorted(by_level[band.lane, level.depth], key=lambda bar: bar.failed > 0):
                self._bar(bar)
            self._y += ROW
        if band.below:
            self._note(f"{ELLIPSIS} {band.below} more level{'s' * (band.below > 1)} below")

    def _bar(self, bar: Bar) -> None:
        x, width = self._place(bar)
        category = self._trace.category(bar.row)
        name = self._trace.name(bar.row)
        look = self._look(bar)
        # A merged bar has the colour of its slices if they are of one name as far as one can see.
        fill = colours.fill(category, name) if bar.count == 1 else colours.MERGED
        fill = {"failed": colours.FAILED, "incomplete": colours.INCOMPLETE}.get(look, fill)
        bold = look == "failed"
        colour = colours.ON_FAILED if look == "failed" else colours.INK
        tip = words.tooltip(self._trace, bar, self._start, "" if look == "plain" else look)
        box = Box(x, self._y, width, BAR, fill, look, tip)
        self._boxes.append(box)
        self._box_of[bar.row] = box
        room = width - 2 * _PAD
        shown = words.name_and_time(self._trace, bar)
        if text_width(shown, SIZE, bold) > room:
            shown = words.fitting(words.name(self._trace, bar), SIZE, room, bold)
        if shown:
            self._put(Text(x + _PAD, self._y + 12.5, shown, SIZE, colour, room, bold=bold))

    def _place(self, bar: Bar) -> tuple[float, float]:
        """x and width. A bar is never too narrow to see, nor does it leave the paper."""
        least = _LEAST_FAILED_WIDTH if bar.failed else _LEAST_WIDTH
        x = self._x(bar.begin)
        width = (bar.end - bar.begin) / self._ns_per_pixel
        # A thin gap tells neighbours apart.
        width = max(width - _GAP if width > _GAP_FROM else width, least)
        return min(x, WIDTH - MARGIN - width), width

    def _x(self, time: int) -> float:
        return MARGIN + (time - self._start) / self._ns_per_pixel

    def _look(self, bar: Bar) -> Look:
        if bar.failed:
            return "failed"
        if bar.count > 1:
            return "plain"
        status = int(self._statuses[bar.row])
        text = self._trace.strings[status] if status >= 0 else ""
        # Slices of other tools may have a `status` too; what it means is not ours to say.
        is_ours = kind_of(self._trace.category(bar.row)) is not None
        return _LOOKS.get(text, "plain") if is_ours else "plain"

    # ------------------------------------------------------------------------ around the bars

    def _lane_name(self, band: Band, process: str) -> None:
        lane = self._trace.lanes[band.lane]
        thread = "" if lane.thread is None else self._trace.threads[lane.thread].name
        parts = [thread, lane.name if lane.name != thread else ""]
        name = ", ".join(words.visible(part) for part in parts if part)
        y = self._y + 12
        x = float(MARGIN)
        if process:
            room = (WIDTH - 2 * MARGIN) * 0.7
            shown = shortened(words.visible(process), SIZE, room, bold=True)
            self._put(Text(x, y, shown, SIZE, colours.INK, room, bold=True))
            x += text_width(shown, SIZE, bold=True) + 8
        room = WIDTH - MARGIN - x
        if shown := shortened(name, SIZE, room):
            self._put(Text(x, y, shown, SIZE, colours.FAINT, room))
        self._y += ROW

    def _told(self, band: Band, told: Sequence[Failure]) -> None:
        """The failures of a lane in words, each joined to its bar by a line."""
        for failure in told:
            box = self._box_of[failure.row]
            x = box.x + box.width - _LEAST_FAILED_WIDTH / 2
            left, right = x - 6 - MARGIN, WIDTH - MARGIN - x - 6
            text = shortened(words.visible(failure.name), SIZE, max(left, right), bold=True)
            y = self._y + 13
            if text_width(text, SIZE, bold=True) <= right:
                self._put(Text(x + 6, y, text, SIZE, colours.FAILED, right, bold=True))
            else:
                self._put(Text(x - 6, y, text, SIZE, colours.FAILED, left, "end", bold=True))
            self._leaders.append(Line(x, box.y + BAR, y - 1, 1.5, colours.FAILED))
            self._y += ROW - 1
        self._y += 8

    def _axis(self) -> float:
        """The times above the chart; returns where it begins."""
        y = self._y + 9
        for time, text in ticks(self._length, _TICKS):
            x = self._x(self._start + time)
            width = text_width(text, _SMALL)
            if x + width / 2 > WIDTH - MARGIN:
                self._put(Text(WIDTH - MARGIN, y, text, _SMALL, colours.FAINT, width, "end"))
            elif time == 0:
                self._put(Text(x, y, text, _SMALL, colours.FAINT, width))
            else:
                self._put(Text(x, y, text, _SMALL, colours.FAINT, width, "middle"))
        self._y += 14
        return self._y

    def _rule(self, top: float) -> None:
        """The lines at the times of the axis, from there to here."""
        for time, _ in ticks(self._length, _TICKS):
            x = self._x(self._start + time)
            self._grid.append(Line(x, top, self._y - 4, 1, colours.GRID))

    def _legend(self) -> None:
        x = float(MARGIN)
        y = self._y + 2
        for fill, look, text in list(self._legend_entries()):
            width = text_width(text, _SMALL)
            if x + 18 + width > WIDTH - MARGIN:
                x, y = float(MARGIN), y + 16
            self._boxes.append(Box(x, y, 14, 11, fill, look))
            self._put(Text(x + 18, y + 9.5, text, _SMALL, colours.FAINT, width))
            x += 18 + width + 12
        self._y = y + 12

    def _legend_entries(self) -> Iterator[tuple[str, Look, str]]:
        kinds = self._trace.kinds()
        for number, kind in enumerate(KINDS):
            if (kinds == number).any():
                yield colours.OF_KIND.get(kind, colours.OF_PASS), "plain", kind
        categories = {self._trace.category(row) for row in self._box_of}
        of_differences = {colours.fill(c, "") for c in categories if c.startswith(DIFFERENCE)}
        for text, fill in colours.DIFFERENCES.items():
            if fill in of_differences:
                yield fill, "plain", text
        looks = {box.look for box in self._boxes}
        if "failed" in looks:
            yield colours.FAILED, "failed", "failed"
        if "incomplete" in looks:
            yield colours.INCOMPLETE, "incomplete", "incomplete: what the failure went through"
        if "open" in looks:
            yield colours.PAPER, "open", "still running"
        if any(box.fill == colours.MERGED for box in self._boxes):
            yield colours.MERGED, "plain", "several, too short to show"

    def _note(self, text: str) -> None:
        y, room = self._y + 12, float(WIDTH - 2 * MARGIN)
        self._put(Text(WIDTH / 2, y, text, _SMALL, colours.FAINT, room, "middle"))
        self._y += ROW - 2

    def _text(
        self, x: float, size: int, text: str, colour: str = colours.FAINT, bold: bool = False
    ) -> None:
        room = WIDTH - MARGIN - x
        shown = shortened(words.visible(text), size, room, bold)
        self._put(Text(x, self._y + size, shown, size, colour, room, bold=bold))
        self._y += size + 6

    def _put(self, text: Text) -> None:
        self._texts.append(text)


_LOOKS: dict[str, Look] = {FAILED: "failed", INCOMPLETE: "incomplete", OPEN: "open"}
