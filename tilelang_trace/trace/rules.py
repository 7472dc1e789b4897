"""What a file should keep to, so that Perfetto shows it as meant: the table of all rules, with what
Perfetto makes of a file that breaks one, and the mend.
"""

from __future__ import annotations

from dataclasses import dataclass


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


# ------------------------------------------------------------- of archives, and Perfetto itself
HIDDEN_TRACE = Rule(
    "hidden-trace",
    "passes by what is in a folder, or has a name, that begins with a dot",
    "pack it under a name without one",
)
UNKNOWN_MEMBER = Rule(
    "unknown-member",
    "refuses the whole archive (v58; v52 refuses any with a file that is no trace)",
    "leave it out, or pack it into a folder whose name begins with a dot",
)
JSON_MEMBER = Rule(
    "json-member",
    "takes it for a trace",
    "leave it out, or pack it into a folder whose name begins with a dot",
)
FOLDER_ENTRY = Rule(
    "folder-entry", "refuses the whole archive", "pack files only: zip -D, or bundle"
)
BAD_MANIFEST = Rule("bad-manifest", "refuses the whole archive", "correct the manifest")
IDLE_MANIFEST = Rule("idle-manifest", "passes it by silently", "correct the manifest")
BEFORE_ZERO = Rule(
    "before-zero",
    "drops what is moved to before 0, as the names of processes and threads, whose time is 0",
    "leave the latest trace as it is, and move the others to it: compare -o OUT.zip does",
)
SAME_PID = Rule(
    "same-pid",
    "makes one process of both",
    "give each file a machine in the manifest: compare -o OUT.zip does",
)
ENGINE = Rule(
    "engine",
    "says so itself, when it imports the file",
    "convert writes a file that it takes without a word",
)

# ------------------------------------------------------------------- of events, in any format
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
    "nests events of the same time in the order of the file, but X before B",
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
    "drops events whose time is missing or no number; v52 refuses JSON as a whole",
    "convert leaves it out; give each event a time",
    is_loss=True,
)
FAR_TIME = Rule(
    "far-time",
    "drops it, shows it centuries away, or takes its time (from 2^63 ns on) for a negative one",
    "times in JSON are microseconds, whatever is shown; convert leaves it out",
    is_loss=True,
)
NO_DURATION = Rule(
    "no-duration",
    "drops slices whose duration is missing or no number; v52 refuses the whole file",
    "convert gives it 1 ns",
    is_loss=True,
)
ODD_NUMBER = Rule(
    "odd-number",
    "refuses the whole file (v52), or all behind it, for a time that is no number of JSON",
    "convert writes it as a number, or leaves it out where it is none",
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
    "drops async events without a pid or an id, which is text or a number of 64 bits, and "
    "instants without their thread or process",
    "convert gives them one",
)
BAD_COUNTER = Rule(
    "bad-counter",
    "passes by values of counters that are no numbers, or never ends loading (v52, NaN)",
    "convert leaves them out",
)
COUNTER_ID = Rule(
    "counter-id",
    "passes by ids of counters that are no text, so that all of one name are one row",
    "convert writes them into the names",
)
BAD_FLOW = Rule(
    "bad-flow",
    "reads ids of arrows as numbers, text as hexadecimal ones, and draws no other arrow, nor to a "
    "slice that an event E of the same time ends, or that begins in front of its event",
    "convert draws it",
)
LOOSE_FLOW = Rule(
    "loose-flow",
    "draws no arrow that has no start, or no slice at one of its ends",
    "convert leaves it out",
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
    "shows slices with 512 or more around them in a wrong place or not at all",
    "leave out levels that say nothing; convert keeps them",
)
BAD_METADATA = Rule("bad-metadata", "passes it by", "convert leaves it out")

# ------------------------------------------------------ of the bytes of a file, and JSON as text
COMPRESSION = Rule(
    "compression",
    "recognises gzip and zip only (v58 zstd too)",
    "convert writes it plain, or as gzip",
)
BEHIND_GZIP = Rule(
    "behind-gzip",
    "refuses gzip data with anything but more gzip data behind them",
    "convert writes the trace alone",
)
DAMAGED = Rule(
    "damaged",
    "refuses it, or shows what is wrong",
    "convert keeps what can be unpacked; get the file once more, if you can",
    is_loss=True,
)
FILE_START = Rule(
    "file-start",
    'does not recognise JSON unless it starts with {" or [{" in UTF-8, without a byte-order mark',
    "convert writes such a file",
)
UNCLOSED = Rule(
    "unclosed",
    "shows a list that is not closed, refuses an object that is not, as strict readers do both",
    "convert closes it",
)
BROKEN_EVENT = Rule(
    "broken-event", "refuses the whole file at it", "convert leaves it out", is_loss=True
)
NOT_A_NUMBER = Rule(
    "not-a-number",
    "drops it with the arguments after it, or never comes to an end",
    "convert writes null",
)
LOOSE_JSON = Rule(
    "loose-json",
    "refuses some of what is almost JSON and drops other, as strict readers refuse it all",
    "convert writes JSON",
)
COMMAS = Rule(
    "commas",
    "refuses a comma too many, unless at the end; strict readers refuse one too few too",
    "convert sets them right",
)
NOT_UTF8 = Rule("not-utf-8", "shows broken characters", "convert writes UTF-8")
CONTROL_CHARACTER = Rule(
    "control-character",
    "cuts a text at a NUL; strict readers refuse the whole file",
    "convert writes an escape",
)
BAD_ESCAPE = Rule(
    "bad-escape",
    "shows the escape as it is written, or loses its backslash; strict readers refuse the file",
    "convert writes the characters that are meant",
)
ESCAPES = Rule(
    "escapes",
    r"shows escapes as they are written, in texts without \" (v52; v58 shows what they stand for)",
    "write characters as UTF-8; convert to .pftrace keeps texts of several lines",
)
SURROGATES = Rule(
    "surrogates",
    r"refuses the whole file at an escaped surrogate in a text with \", else shows the escape",
    "convert writes characters as UTF-8",
)
DEEP_VALUE = Rule(
    "deep-value",
    "takes lists and objects of any depth, which other tools refuse",
    "convert leaves out what is nested deeper than the limit",
    is_loss=True,
)
TRAILING_TEXT = Rule(
    "trailing-text", "passes it by; strict readers refuse the file", "convert leaves it out"
)
SEVERAL_LISTS = Rule(
    "several-lists",
    "shows all events; strict readers those of the last list, or none",
    "convert writes one list",
)
EVENT_LINES = Rule(
    "event-lines", "shows nothing of events that stand in no list", "convert puts them into one"
)

# ------------------------------------------------------------------- in Perfetto's protobuf form

BROKEN_PACKET = Rule(
    "broken-packet",
    "refuses the file, or shows less of it without a word",
    "convert keeps every other packet",
    is_loss=True,
)
MISSING_SEQUENCE = Rule(
    "missing-sequence",
    "drops the event",
    "convert writes it; each packet needs a trusted_packet_sequence_id above 0",
)
UNKNOWN_CLOCK = Rule(
    "unknown-clock",
    "drops the event: nothing relates its clock to that of the trace",
    "a ClockSnapshot with both clocks must stand before it; convert leaves the event out",
    is_loss=True,
)
LOST_PACKETS = Rule(
    "lost-packets",
    "shows what is left and counts the loss",
    "record again with larger buffers; convert keeps what is there",
    is_loss=True,
)
NO_STATE = Rule(
    "no-state",
    "drops the packet: what its ids mean was lost, or never told",
    "the first packet of a sequence, and of each part after a loss, must have "
    "SEQ_INCREMENTAL_STATE_CLEARED; convert leaves the packet out",
    is_loss=True,
)
NAMES_WITHOUT_STATE = Rule(
    "names-without-state",
    "passes the interned names by, so that events have none",
    "convert uses them; a packet with SEQ_INCREMENTAL_STATE_CLEARED must stand before them",
)
UNTOLD_NAME = Rule(
    "untold-name",
    "shows the event without the name, and drops arguments with it",
    "convert leaves the name empty: the file doesn't tell it",
    is_loss=True,
)
INCOMPLETE_IDS = Rule(
    "incomplete-ids",
    "passes the descriptor by, so that its events are on a nameless track",
    "convert keeps the track; a thread needs pid and tid, a process its pid, a track its uuid",
)
CHANGED_TRACK = Rule(
    "changed-track",
    "keeps to the first descriptor of a uuid",
    "convert does too; give each track a uuid of its own",
)
LOST_PARENT = Rule(
    "lost-parent",
    "drops all events of the track: its parents are missing, more than 100, or go in a circle",
    "convert puts the track at the top",
)
SHARED_ID = Rule(
    "shared-id",
    "takes the second one for a later process or thread, and gives it the threads of the first",
    "convert keeps both apart",
)
SHARED_NAME = Rule(
    "shared-name",
    "shows tracks of one name and parent as one",
    "convert keeps them apart, by SIBLING_MERGE_BEHAVIOR_NONE",
)
CHANGED_NAME = Rule(
    "changed-name",
    "puts _ for each dot and bracket in the name of an argument",
    "use other characters, or nested arguments",
)
UNREAD_ARGUMENT = Rule(
    "unread-argument",
    "shows it if it knows the message's type",
    "convert leaves it out: only Perfetto's own types of values are read",
    is_loss=True,
)
UNPLACED = Rule(
    "unplaced",
    "drops the event: it says too little of where it belongs, or of its value",
    "convert leaves it out",
    is_loss=True,
)
NO_TRACK_EVENTS = Rule(
    "no-track-events",
    "shows what else the file holds, and no slice",
    "record track events, or look at the file in Perfetto itself",
)

RULES = {rule.name: rule for rule in globals().values() if isinstance(rule, Rule)}
