"""What was not as it should be in an input, and what the reader did about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import overload

KEPT = 1000
"""So many findings of a rule are kept, the others only counted: a file may have millions."""


@dataclass(frozen=True)
class Rule:
    """What a file should keep to, so that Perfetto shows it as meant and nothing is lost."""

    name: str
    perfetto: str
    """What Perfetto makes of a file that breaks it."""
    mend: str
    """What to do about it."""
    is_loss: bool = False
    """Whether to break it means that the file doesn't hold all that happened."""


CUT_OFF = Rule(
    "cut-off",
    "refuses JSON objects and gzip that are cut; of a .pftrace it silently shows what is there",
    "convert keeps every whole event",
    is_loss=True,
)
NEVER_ENDED = Rule(
    "never-ended",
    'shows "did not end", nests every later slice of the track in it, and leaves it out of sums',
    "convert ends it at the end of the trace",
    is_loss=True,
)
END_WITHOUT_BEGIN = Rule(
    "end-without-begin", "drops it", "convert drops it and says so", is_loss=True
)
OVERLAP = Rule(
    "overlap",
    "drops the later slice (v52) or shows it on a lane of its own (v58)",
    "convert moves it to a lane of its own",
)
ROUNDING = Rule(
    "rounding",
    "takes what sticks out of its parent, or into the next slice, by a rounding for an overlap",
    "convert cuts it there; round begin and end, and subtract then",
)
EMPTY_SLICE = Rule(
    "empty-slice", "nests wrongly what follows at the same time", "convert gives it 1 ns"
)
NEGATIVE_DURATION = Rule(
    "negative-duration", "keeps it silently, and sums are wrong", "convert gives it 1 ns"
)
SHIFTED = Rule(
    "shifted",
    "nests events of the same time in the order of the file",
    "convert gives each its own time",
)
UNKNOWN_PHASE = Rule("unknown-phase", "passes it by", "convert leaves it out")
NO_EVENT = Rule(
    "no-event",
    "drops an event without a phase, and the whole file where an event is no object",
    "convert leaves it out",
    is_loss=True,
)
NO_TIME = Rule(
    "no-time",
    "drops events whose time is missing or no number; v52 refuses the whole file",
    "convert leaves it out",
    is_loss=True,
)
FAR_TIME = Rule(
    "far-time", "shows it centuries away, or drops it", "convert leaves it out", is_loss=True
)
NO_DURATION = Rule(
    "no-duration",
    "drops slices whose duration is missing or no number; v52 refuses the whole file",
    "convert gives it 1 ns",
    is_loss=True,
)
NEGATIVE_TIME = Rule(
    "negative-time", "drops what is before zero", "convert writes times from the first one on"
)
COARSE_TIME = Rule(
    "coarse-time",
    "reads times as doubles, and shows this one at another nanosecond",
    "convert writes times from the first one on, which are exact",
)
WIDE_ID = Rule(
    "wide-id",
    "takes a pid or tid that is no number of 32 bits for 0: rows fall together",
    "convert gives small numbers",
)
TEXT_ID = Rule(
    "text-id",
    "gives a pid or tid that is text a number of its own, and shows the text in place of the name",
    "convert gives small numbers, and writes the names",
)
ZERO_ID = Rule(
    "zero-id",
    "takes the tid 0 for the tid that equals the pid: two threads fall together",
    "convert gives each a number of its own",
)
NO_TEXT = Rule("no-text", "takes it for missing", "convert writes it as text")
NO_ARGUMENTS = Rule(
    "no-arguments",
    "passes by arguments that are no object",
    "convert keeps them as one argument",
)
NO_OWNER = Rule(
    "no-owner",
    "drops async events without a pid or an id, and instants without their thread or process",
    "convert gives them one",
)
BAD_COUNTER = Rule(
    "bad-counter",
    "passes by values of counters that are no numbers, or never ends loading (v52, NaN)",
    "convert leaves them out",
    is_loss=True,
)
BAD_FLOW = Rule(
    "bad-flow",
    "reads ids of arrows as numbers, text as hexadecimal ones, and draws no other arrow",
    "convert draws it",
)
LOOSE_FLOW = Rule(
    "loose-flow",
    "draws no arrow that has no start, or no slice at one of its ends",
    "convert leaves it out",
    is_loss=True,
)
REUSED_FLOW = Rule(
    "reused-flow",
    "draws every arrow with this id from the slice where the first one starts",
    "convert draws each from its own start",
)
SORT_INDEX = Rule(
    "sort-index",
    "has another order: v52 passes sort indices by (processes stand by their number of slices, "
    "threads by tid), later versions take numbers only",
    "convert numbers them in order, which is the order of threads everywhere; tell processes "
    "apart by their names",
)
COLOUR = Rule("colour", "passes `cname` by: the name decides the colour", "convert leaves it out")
TOO_DEEP = Rule(
    "too-deep",
    "has no place for what has 512 slices around it: it is dropped, or stands at the top (v52)",
    "record less deep recursion",
)
BAD_METADATA = Rule("bad-metadata", "passes it by", "convert leaves it out")

RULES = {rule.name: rule for rule in globals().values() if isinstance(rule, Rule)}


@dataclass(frozen=True)
class Finding:
    """Something in an input that was not as it should be, and what was done about it."""

    place: str
    """Where: `line 12`, `byte 3456`, or a slice in words."""
    rule: str
    """The name of the rule that it breaks, a key of `RULES`."""
    done: str
    """What the reader did about it, one line."""

    def __str__(self) -> str:
        return f"{self.place}: {self.rule}: {self.done}"


class Findings(Sequence[Finding]):
    """Findings in the order in which they came. All are counted; the first `KEPT` of each rule are
    kept, and are the items.
    """

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        self._kept = list(findings)
        self.counts = Counter(finding.rule for finding in self._kept)
        """How many there are of each rule, kept or not."""

    @property
    def total(self) -> int:
        """How many there are, kept or not."""
        return self.counts.total()

    def add(self, place: str | Callable[[], str], rule: Rule, done: str) -> None:
        """Tell of one more. A place that takes time to name is a function, called if it is kept."""
        self.counts[rule.name] += 1
        if self.counts[rule.name] <= KEPT:
            name = place if isinstance(place, str) else place()
            self._kept.append(Finding(name, rule.name, done))

    def changed(self, change: Callable[[Finding], Finding]) -> Findings:
        """The same, with each one that is kept changed."""
        findings = Findings(map(change, self._kept))
        findings.counts = self.counts.copy()
        return findings

    def copy(self) -> Findings:
        """The same, to which more can be added."""
        return self.changed(lambda finding: finding)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Finding]: ...
    def __getitem__(self, index: int | slice) -> Finding | Sequence[Finding]:
        return self._kept[index]

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._kept)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Findings):
            return NotImplemented
        return self._kept == other._kept and self.counts == other.counts

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Findings({self._kept!r})"
