"""The proof: a finished archive is searched for everything that it was to hide."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilelang_trace.sharing.redaction.secret import Secret


@dataclass(frozen=True)
class Leak:
    """A secret that is in an archive."""

    member: str
    """Name of the archive's member; of what is packed in it, `trace.json.gz: content`."""
    secret: Secret
    place: str
    """`its name`, or where in the content: `byte 1234`."""
    form: str
    """As what it stands there: `text`, `JSON`, `percent`, `HTML`, `UTF-16`, `base64`."""


def leaks(members: Iterable[tuple[str, bytes]], secrets: Iterable[Secret]) -> list[Leak]:
    """What is found of the secrets in the names and contents of an archive's members, at most one
    Leak for each secret, member and form. Packed members (.gz, .zip) are unpacked.
    """
    raise NotImplementedError
