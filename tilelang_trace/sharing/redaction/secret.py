"""One thing that is hidden, and how it is known where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "user", "host", "home", "folder", "temporary folder", "e-mail", "token", "kernel", "buffer"
]

Search: TypeAlias = Literal["anywhere", "word", "path", "name"]


@dataclass(frozen=True, order=True)
class Secret:
    """Something that was hidden, to be searched for in what is shared."""

    kind: Kind
    text: str
    """As it stood in the Trace, without escapes."""
    search: Search
    """Where it is a secret: `anywhere`, also inside words; as a whole `word`; as the beginning of a
    `path`; or only where something that says so stands before it, as `USER=` does before the
    `name` of a user who is called `a`.
    """
