"""Where in a text a password, a token or another value stands that nobody else may see.

Recording hides such values in command lines before they get anywhere, redaction in all texts. Both
ask `spans`. A value is known by its shape (a token of GitHub, a JSON web token, a private key), by
what stands around it (user and password in an address, an `Authorization` header), or by the name
before it (`HF_TOKEN=`, `--api-key `, `"password": `).

A process that is recorded imports this, so an expression is compiled when a text has the words that
it looks for, and not before.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Literal

MASK = "***"

# Shapes, as their issuers document them: GitHub, GitLab, Hugging Face, OpenAI and Anthropic, Slack,
# Google, AWS, npm, PyPI, NVIDIA, Docker, Stripe, and JSON web tokens (RFC 7519).
# A word may begin behind an escape of JSON (\n) or of an address (%3D).
_BEGIN = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
_SHAPES = (
    _BEGIN + r"(?P<v>gh[opsur]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}"
    r"|hf_[A-Za-z0-9]{16,}|sk-[\w-]{16,}|[sr]k_(?:live|test)_\w{16,}|xox[abeoprs]-[\w-]{10,}"
    r"|AIza[\w-]{30,}|(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])|npm_[A-Za-z0-9]{30,}"
    r"|pypi-[\w-]{32,}|nvapi-[\w-]{16,}|dckr_pat_[\w-]{16,}|ya29\.[\w-]{16,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"
)
_RULES: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("private key-----",),
        r"(?P<v>-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?"
        r"(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z))",
    ),
    (
        (
            *("ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "hf_", "sk-"),
            *("k_live_", "k_test_", "xox", "aiza", "akia", "asia", "npm_", "pypi-", "nvapi-"),
            *("dckr_pat_", "ya29.", "eyj"),
        ),
        _SHAPES,
    ),
    (("://",), r"\w://(?!git@|<)(?P<v>[^/@\s\"'<>\\*]+)@"),
    (
        ("authorization", "bearer"),
        r"(?i)(?:\bauthorization\\*[\"']?\s*[:=]\s*\\*[\"']?(?:(?:basic|bearer|digest|token)\s+)?"
        r"|\bbearer\s+(?=[\w.~+/=-]*\d))(?P<v>[^\s\"'<>\\*]+)",
    ),
    (("-u ",), r"(?<!\S)-u\s+[^\s:\"']+:(?P<v>[^\s\"'<>*]+)"),
)

_SHORTEST = 7
"""Characters of the shortest text that one of these finds something in: `-u me:p`, `a://b@c`."""

_WORDS_OF_NAMES = (
    "token",
    "secret",
    "passw",
    "passphrase",
    "pwd",
    "credential",
    "auth",
    "key",
    "cookie",
)
_NAMED = (
    r"(?i)(?:token|secret|passw|passphrase|pwd|credential|auth|key|cookie)[\w.-]{0,200}"
    r"(?P<close>(?:\\*[\"'])?\]?)(?P<sep>\s*(?:=>|[=:]|%3D)\s*|[ ]+)"
    r"(?:[rbuf]?(?P<quote>\\*[\"'])(?P<quoted>(?:(?!(?P=quote))[^\n]){0,4096})(?P=quote)"
    r"|(?P<bare>[^\s\"'`,;&<>()\[\]{}\\]{1,512})(?P<call>[(\[]?))"
)

_MORE = r"[^\s\"'`,;&<>()\[\]{}\\]*"
"""The rest of a bare value: only its beginning is judged, as what follows may be the next name."""
_LONGEST_NAME = 200

_ALONE = frozenset(
    [
        "token",
        "secret",
        "secrets",
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
        "cookie",
    ]
)
"""Words that, at the end of a name, say that its value is secret."""
_SURELY = frozenset(
    [
        "secret",
        "secrets",
        "password",
        "passwd",
        "passphrase",
        "credential",
        "credentials",
        "apikey",
        "cookie",
    ]
)
_SURE_PAIRS = frozenset(
    [
        (a, "key")
        for a in [
            "api",
            "access",
            "private",
            "secret",
            "signing",
            "encryption",
            "master",
            "account",
            "auth",
        ]
    ]
    + [
        (a, "token")
        for a in ["api", "access", "auth", "refresh", "bearer", "session", "secret", "personal"]
    ]
)
_HARMLESS_BEFORE = frozenset(
    [
        "cache",
        "kernel",
        "hash",
        "sort",
        "dict",
        "primary",
        "foreign",
        "config",
        "public",
        "registry",
        "lookup",
        "group",
        "next",
    ]
)
_NOT_A_VALUE = frozenset(("none", "null", "true", "false", "yes", "no", "undefined", ""))
_SPLIT = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+"

Strength = Literal["no", "if random", "yes"]


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


@functools.lru_cache(10_000)
def named_secret(name: str) -> Strength:
    """Whether a name says that its value is secret: surely, or only if the value looks random too.

    `KEY` is as much a tensor of an attention kernel as a key of somebody's account.
    """
    lower = name.lower()
    if not any(word in lower for word in _WORDS_OF_NAMES):
        return "no"
    plain = name.lstrip("-")
    words = [word.lower() for word in _compiled(_SPLIT).findall(plain)]
    words = [word for word in words if not word.isdigit()]
    if not words or plain in ("PWD", "OLDPWD"):  # the shell's working directories
        return "no"
    last = words[-1]
    if last not in _ALONE or (len(words) > 1 and words[-2] in _HARMLESS_BEFORE):
        return "no"
    is_variable = plain.upper() == plain and ("_" in plain or last == "token")
    sure = last in _SURELY or tuple(words[-2:]) in _SURE_PAIRS or is_variable
    # `--token abc`, `-DAPI_KEY=abc`; but `-key` in the text of an option of LLVM is none.
    return "yes" if sure or name.startswith(("--", "-D")) else "if random"


def looks_random(value: str) -> bool:
    """Whether a value is rather made by chance than by a person who names things."""
    if len(value) < 12 or not _compiled(r"[\w+/=.~-]+").fullmatch(value) or value.count("_") > 1:
        return False
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in value if c.isalnum()]
    changes = sum(a != b for a, b in zip(kinds, kinds[1:]))
    return "d" in kinds and changes >= 4 and len(set(value)) >= 8


def is_secret(name: str, value: str) -> bool:
    """Whether the value of this name has to be hidden as a whole."""
    value = value.strip()
    strength = named_secret(name)
    if strength == "no" or value.lower() in _NOT_A_VALUE or value[0] in "<*$%":
        return False
    return strength == "yes" or (strength == "if random" and looks_random(value))


def spans(text: str) -> list[tuple[int, int]]:
    """Where secret values stand in a text: begin and end of each, in order, none inside another."""
    found: list[tuple[int, int]] = []
    lower = text.lower()
    if len(text) >= _SHORTEST:
        for cues, pattern in _RULES:
            for cue in cues:
                if cue in lower:
                    found += [match.span("v") for match in _compiled(pattern).finditer(text)]
                    break
    if "=" in text or ":" in text or "--" in text or "%3" in text:
        found += _named(text, lower)
    if not found:
        return found
    found.sort(key=lambda span: (span[0], -span[1]))
    apart: list[tuple[int, int]] = []
    for begin, end in found:
        if not apart or begin >= apart[-1][1]:
            apart.append((begin, end))
    return apart


def _named(text: str, lower: str) -> list[tuple[int, int]]:
    found = []
    last = 0
    for position in _places_of_names(lower):
        match = _compiled(_NAMED).match(text, position) if position >= last else None
        if match is None:
            continue
        begin = position
        while (
            begin > position - _LONGEST_NAME
            and begin
            and (text[begin - 1].isalnum() or text[begin - 1] in "_-.")
        ):
            begin -= 1
        name = text[begin : match.start("close")]
        if not match["sep"].strip() and not name.startswith("--"):
            continue
        group = "quoted" if match["quoted"] is not None else "bare"
        value = match[group]
        in_address = begin > 0 and text[begin - 1] in "?&"
        if match["call"] or (group == "bare" and _compiled(r"[A-Z]\.\w+").fullmatch(value)):
            continue  # a call, or a type such as `T.Buffer`
        if is_secret(f"--{name}" if in_address else name, value):
            begin, last = match.span(group)
            if group == "bare" and not match["call"]:
                last = _compiled(_MORE).match(text, last).end()  # type: ignore[union-attr]
            found.append((begin, last))
    return found


def _places_of_names(lower: str) -> list[int]:
    places = []
    for word in _WORDS_OF_NAMES:
        position = lower.find(word)
        while position >= 0:
            places.append(position)
            position = lower.find(word, position + 1)
    return sorted(places)


def masked_text(text: str) -> str:
    """A text with what is secret masked."""
    shown, position = [], 0
    for begin, end in spans(text):
        shown += [text[position:begin], MASK]
        position = end
    return "".join([*shown, text[position:]])


def option_before(words: Sequence[str], index: int) -> str:
    """The name that a word of a command line is the value of: the option before it, or ""."""
    before = words[index - 1] if index else ""
    is_value = before.startswith("-") and "=" not in before and not words[index].startswith("-")
    return before if is_value else ""


def masked(command: Sequence[str]) -> list[str]:
    """A command line with what is secret masked, also where name and value are two words."""
    shown = []
    for index, word in enumerate(command):
        option = option_before(command, index)
        if option in ("-u", "--user") and ":" in word:
            shown.append(word.partition(":")[0] + ":" + MASK)
        elif option and is_secret("--" + option.lstrip("-"), word):
            shown.append(MASK)
        else:
            shown.append(masked_text(word))
    return shown
