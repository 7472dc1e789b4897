"""Command lines as a trace may show them: without what looks like a secret."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

MASK = "***"

_SECRET_WORDS = frozenset(
    (
        "token",
        "secret",
        "password",
        "passwd",
        "passphrase",
        "pwd",
        "credential",
        "credentials",
        "auth",
        "authorization",
        "bearer",
        "key",
        "apikey",
    )
)

_ASSIGNMENT = re.compile(r"(-{0,2}[A-Za-z_][\w.-]*)=(.+)", re.DOTALL)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_IN_URL = re.compile(r"(\w+://)[^/@\s]+@")
_HEADER = re.compile(r"(?i)\b(authorization\s*:\s*|bearer\s+).+", re.DOTALL)
_KNOWN_SHAPES = re.compile(
    r"\b(?:hf_|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abp]-|sk-)[\w-]{16,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
)


def masked(command: Sequence[str]) -> list[str]:
    """The command with secrets masked: values of options, definitions and variables that are named
    like one (`--token=...`, `--password ...`, `-DAPI_KEY=...`), user and password in addresses, and
    tokens of well-known shapes.
    """
    shown = []
    value_is_secret = False
    for word in command:
        if value_is_secret and not word.startswith("-"):
            shown.append(MASK)
            value_is_secret = False
            continue
        assignment = _ASSIGNMENT.fullmatch(word)
        if assignment and _is_secret(assignment[1]):
            word = f"{assignment[1]}={MASK}"
        shown.append(masked_text(word))
        value_is_secret = assignment is None and word.startswith("-") and _is_secret(word)
    return shown


def masked_text(text: str) -> str:
    """A text with what is a secret by its shape masked."""
    text = _IN_URL.sub(rf"\1{MASK}@", text)
    text = _HEADER.sub(rf"\1{MASK}", text)
    return _KNOWN_SHAPES.sub(MASK, text)


def words_of(command: Any) -> list[str]:
    """The words of a command as `subprocess` takes it: a sequence, a path, or the text for a shell
    (split at blanks only: it is to be read, not to be run).
    """
    if isinstance(command, (str, bytes)):
        return os.fsdecode(command).split()
    if isinstance(command, os.PathLike):
        return [os.fsdecode(command)]
    return [os.fsdecode(word) for word in command]


def _is_secret(name: str) -> bool:
    return any(word.lower() in _SECRET_WORDS for word in _WORDS.findall(name))
