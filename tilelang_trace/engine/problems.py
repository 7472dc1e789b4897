"""What Perfetto counts as wrong or lost when it imports a trace: rows of its table `stats`."""

from __future__ import annotations

from typing import TypedDict

# Perfetto v52 counts these as "info", yet each means that something in the file was not shown.
LOSS_BY_ANOTHER_NAME = (
    "flow_end_without_start",
    "flow_step_without_start",
    "interned_data_tokenizer_errors",
    "tokenizer_skipped_packets",
    "track_event_parser_errors",
    "track_event_tokenizer_errors",
)


class Problem(TypedDict):
    """One count that is not zero, as Perfetto names it."""

    name: str
    idx: int | None
    severity: str
    value: int
    description: str | None


def problems_sql(description: str = "description") -> str:
    """The query whose rows are Problems; `description` is SQL for their last column."""
    also = ", ".join(f"'{name}'" for name in LOSS_BY_ANOTHER_NAME)
    return (
        f"select name, idx, severity, value, {description} as description from stats "
        f"where value > 0 and (severity in ('error', 'data_loss') or name in ({also})) "
        "order by name, idx"
    )
