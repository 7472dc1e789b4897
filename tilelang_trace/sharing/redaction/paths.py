"""Paths: home folders, working directories, projects and temporary folders in them.

A path is split at its separators and read from the left, so that one set of rules serves POSIX,
Windows (also in a text that is escaped), WSL, UNC and `file:` addresses:

    /home/jdoe/clients/acme/gemm.py     -> <home>/<project 1>/gemm.py
    C:\\Users\\JDoe\\AppData\\Local\\k.cu    -> <home>\\AppData\\Local\\k.cu
    /data/acme/.venv/lib/python3.11/site-packages/tvm/ir/module.py
                                        -> <cwd>/.venv/lib/python3.11/site-packages/tvm/ir/module.py

What the name of a file says stays, and so does what lies in an installed or well-known package.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

# Bounded: from each backslash of a run, all the others to its end would else be tried.
_ESC = r"\\{0,16}"
_BACK = r"\\{1,16}"
_PART = r"[^\s\x00-\x1f/\\:*?\"'`<>|,;()\[\]{}=&]+"
# A path begins where no word ends, behind a flag (-I/opt), behind the // of an address; and a home
# is one wherever it stands. `<home>/x` is none any more.
_POSIX_START = (
    r"(?:(?<![\w.)\]}/>~-])|(?<=://)|(?<=-[A-Za-z])|(?<=isystem)|(?=\\{0,16}/(?:home|Users)\\{0,16}/))"
    r"(?:(?:~[\w.-]*|\$HOME|\$\{HOME\})(?=\\{0,16}/))?"
)
_BLANK = rf"(?:(?:/mnt|/cygdrive)?/[a-z])?/Users/{_PART}(?: [A-Z][\w.-]*){{1,2}}(?=/)"
_POSIX = re.compile(rf"{_POSIX_START}(?:{_BLANK})?(?:{_ESC}/{_PART})+(?:{_ESC}/(?![/\w]))?")
_TILDE = re.compile(
    rf"(?<![\w/~.>)\]-])(?:~[A-Za-z_][\w.-]*|~|\$HOME|\$\{{HOME\}})(?:\\*[/\\]{_PART})+"
)
# A user of Windows may have a blank in the name, if more of the path follows.
_DRIVE = re.compile(
    rf"(?<![A-Za-z])[A-Za-z]:(?:\\+|/)(?:(?:Users|Documents and Settings)(?:\\+|/)"
    rf"(?:{_PART}(?: {_PART}){{0,3}}(?=[\\/])|{_PART}(?: (?-i:[A-Z])[\w.-]+){{0,2}})|{_PART})"
    rf"(?:(?:\\+|/){_PART})*",
    re.IGNORECASE,
)
# \\server\share, and the same escaped: the beginning has twice as many backslashes as the rest.
_UNC = re.compile(
    rf"(?<![\w\\:])(?P<s>{_BACK})(?P=s)(?P<server>[\w.$-]{{2,}})(?P=s)(?!\\)(?:{_PART})"
    rf"(?:(?P=s)(?!\\){_PART})*"
)
_ENCODED = re.compile(
    r"(?i)(?:%5C|%2F|[a-z](?:%3A|:)(?:%5C|%2F))?(?:home|Users)(?:%5C|%2F)"
    r"(?P<u>(?:(?!%2F|%5C)[^\s/\"'&<])+)"
)
_SPLIT = re.compile(r"(\\*/|\\+)")
_TEMPORARY = re.compile(r"(?:/private)?/var/folders/[^/]+/[^/]+")

_HOMES = frozenset(("home", "homes", "users", "documents and settings"))
_NOBODYS = frozenset(("shared", "public", "default", "linuxbrew", "all users", "default user"))
_INSTALLED = frozenset(
    [
        "site-packages",
        "dist-packages",
        "node_modules",
        "tvm",
        "apache-tvm",
        "tilelang",
        "tilelang_trace",
        "cutlass",
        "3rdparty",
        "composable_kernel",
        "triton",
        "torch",
        "cuda",
        "rocm",
    ]
)
_TOOLS = frozenset(
    [
        "appdata",
        "library",
        "miniconda3",
        "anaconda3",
        "miniforge3",
        "mambaforge",
        "micromamba",
        "miniconda",
        "anaconda",
        "venv",
        "env",
        "virtualenv",
        "snap",
    ]
)
_PYTHON = re.compile(r"python\d+(\.\d+)?|Python\d+")
_SYSTEM = frozenset(
    [
        "usr",
        "opt",
        "lib",
        "lib64",
        "lib32",
        "bin",
        "sbin",
        "etc",
        "proc",
        "sys",
        "dev",
        "nix",
        "snap",
        "var",
        "tmp",
        "run",
        "private",
        "system",
        "library",
        "applications",
        "volumes",
        "boot",
        "srv",
        "mnt",
        "media",
        "home",
        "users",
        "root",
        "program",
        "windows",
    ]
)
_GENERIC = _SYSTEM | frozenset(
    [
        "src",
        "include",
        "share",
        "local",
        "cache",
        "work",
        "workspace",
        "build",
        "dist",
        "data",
        "test",
        "tests",
        "main",
        "user",
        "admin",
        "runner",
        "app",
        "project",
        "projects",
        "code",
        "python",
        "cuda",
        "tvm",
        "tilelang",
        "log",
        "logs",
        "venv",
    ]
)
_FILE = re.compile(r".+\.\w{1,12}([-.]\d+)*|Makefile|Dockerfile")


class Folders(set[str]):
    """Folders, as they stand somewhere, without escapes and with slashes."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: set[tuple[str, ...]] = set()
        self._counts: set[int] = set()

    def add(self, folder: str) -> None:
        """Take one more."""
        parts = _comparable(folder.split("/"))
        self._parts.add(parts)
        self._counts.add(len(parts))
        super().add(folder)

    def around(self, parts: Sequence[str]) -> int:
        """How many parts of a path are the longest of these folders that it begins with, else 0."""
        counts = (n for n in sorted(self._counts, reverse=True) if n <= len(parts))
        return next((n for n in counts if _comparable(parts[:n]) in self._parts), 0)


def _comparable(parts: Sequence[str]) -> tuple[str, ...]:
    """The parts of a path; Windows does not tell upper and lower case apart."""
    return tuple(p.lower() for p in parts) if parts[0].endswith(":") else tuple(parts)


@dataclass
class Places:
    """What is known of the folders of a Trace and of this machine."""

    homes: Folders = field(default_factory=Folders)
    folders: Folders = field(default_factory=Folders)
    """Working directories."""
    roots: Folders = field(default_factory=Folders)
    """Folders of scripts and sources outside of homes."""
    projects: set[str] = field(default_factory=set)
    """Folders with slashes: those in a home from there on (`clients/acme`), else from the root."""
    users: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    temporary: set[str] = field(default_factory=set)

    def learn_folder(self, path: str) -> None:
        """Take a working directory, unless it is a home or a folder of the system."""
        parts = plain(path).rstrip("/").split("/")
        if _home_end(parts, self) == len(parts) or len(parts) < 2 or path[:1] in "<":
            return
        if len(parts) > 2 or parts[-1].lower() not in _SYSTEM:
            self.folders.add("/".join(parts))

    def home_of(self, path: str) -> str:
        """The home that a path is in; empty if it is in none."""
        parts = plain(path).rstrip("/").split("/")
        return "/".join(parts[: _home_end(parts, self)])

    def learn_root(self, path: str) -> None:
        """Take the folder of a script or source, unless something is installed there."""
        parts = plain(path).split("/")
        if len(parts) < 3 or _home_end(parts, self) or any(p in _INSTALLED for p in parts):
            return
        if parts[0] == "" and (parts[1].lower() in _SYSTEM or _PYTHON.fullmatch(parts[-2])):
            return
        if not self.folders.around(parts):
            self.roots.add("/".join(parts[:-1]))


def plain(path: str) -> str:
    """A path with single slashes."""
    path = re.sub(r"\\*/|\\+", "/", path.strip())
    return path if path.startswith("//") else re.sub(r"/+", "/", path)


def _home_end(parts: Sequence[str], places: Places) -> int:
    """How many parts of a path are its home folder, 0 if it is in none."""
    known = places.homes.around(parts)
    if known:
        return known
    if parts[0] in ("~", "$HOME", "${HOME}") or (parts[0].startswith("~") and len(parts[0]) > 1):
        return 1
    if list(parts[:2]) == ["", "root"]:
        return 2
    if len(parts) > 3 and parts[0] == "" and parts[1] in ("u", "media"):
        return 3
    if len(parts) > 4 and list(parts[:3]) == ["", "run", "media"]:
        return 4
    if "user" in parts[1:4]:  # /afs/cern.ch/user/j/jdoe
        index = list(parts).index("user")
        if len(parts) > index + 2 and len(parts[index + 1]) == 1:
            return index + 3
    # /home/x, /mnt/c/Users/x, /export/home/x, C:/Users/x, //wsl$/Ubuntu/home/x
    for index, part in enumerate(parts[:5]):
        if part.lower() in _INSTALLED or index + 1 >= len(parts):
            return 0
        if part.lower() in _HOMES and (index <= 3 or parts[0] == ""):
            user = parts[index + 1].lower()
            share = index == 3 and list(parts[:2]) == ["", ""]
            deep = part == "users" and index > 1 and not share  # .../app/users/models.py
            if user and user not in _NOBODYS and user[0] not in "<*$%" and not deep:
                more = user == "users" and index + 2 < len(parts)
                return index + (3 if more else 2)
    return 0


Shown = Callable[[str, str, str], str]
"""(kind, old, key) -> new: what stands for a part of a path that is replaced."""


def rewrite(text: str, places: Places, show: Shown) -> str:
    """A text with the paths in it as `show` wants their parts."""

    def path(match: re.Match[str]) -> str:
        return _shown(match[0], places, show)

    def encoded(match: re.Match[str]) -> str:
        user = unquote(match["u"])
        if user.lower() in _NOBODYS:
            return match[0]
        return show("home", match[0], unquote(match[0]).replace("\\", "/"))

    if "\\" in text:
        text = _UNC.sub(path, text)
    if ":" in text:
        text = _DRIVE.sub(path, text)
    if "%5c" in text.lower() or "%2f" in text.lower():
        text = _ENCODED.sub(encoded, text)
    if "~" in text or "HOME" in text:
        text = _TILDE.sub(path, text)
    if _has_path(text):
        text = _POSIX.sub(path, text)
    return text


def _has_path(text: str) -> bool:
    """Whether a slash is in a text that is no division (a program is long, and has many)."""
    position = text.find("/")
    while position >= 0:
        if text[position + 1 : position + 2].strip("/ "):
            return True
        position = text.find("/", position + 1)
    return False


def _shown(path: str, places: Places, show: Shown) -> str:
    pieces = _SPLIT.split(path)
    parts, separators = pieces[::2], [*pieces[1::2], ""]
    if path[:1] == "\\" and "/" not in separators[0]:  # UNC: two backslashes are one separator here
        parts = ["", *parts]
        separators = ["", *separators]
    trailing = len(parts) > 1 and parts[-1] == ""
    names = [unquote(part) for part in parts]

    def joined(start: int) -> str:
        return "".join(p + s for p, s in zip(parts[start:], separators[start:]))

    def rest(start: int) -> str:
        return (separators[start - 1] if start else "") + joined(start)

    folder = places.folders.around(names)
    end = _home_end(names, places)
    if folder and folder >= end:
        kept = _users_shown(parts, separators, folder, False, show)
        return (
            show("folder", path[: len(path) - len(rest(folder))], "/".join(names[:folder])) + kept
        )
    if end:
        home = "/".join(names[:end])
        shown = show("home", path[: len(path) - len(rest(end))], home)
        stop = _public_from(names, end, trailing)
        if stop > end:
            inner = "/".join(names[end:stop])
            old = joined(end)[: len(joined(end)) - len(rest(stop))]
            shown += separators[end - 1] + show("project", old, inner)
        return shown + (rest(stop) if stop < len(parts) else "")
    if parts[:2] == ["", ""] and path[:1] == "\\":
        stop = 5 if len(parts) > 5 else 4
        stop = min(stop, len(parts))
        shown = show("share", path[: len(path) - len(rest(stop))], "/".join(names[:stop]))
        return shown + (rest(stop) if stop < len(parts) else "")
    whole = "/".join(names)
    temporary = _TEMPORARY.match(whole)
    if temporary is not None:
        count = temporary[0].count("/") + 1
        old = path[: len(path) - len(rest(count))]
        return show("temporary folder", old, temporary[0]) + rest(count)
    root = places.roots.around(names)
    if root:
        old = path[: len(path) - len(rest(root))]
        return show("project", old, "/".join(names[:root])) + rest(root)
    is_temporary = whole.startswith(("/tmp", "/var/tmp", "/run", "/private/tmp", "/scratch"))
    return _users_shown(parts, separators, 0, is_temporary, show)


def _public_from(names: Sequence[str], start: int, trailing: bool) -> int:
    """From which part on a path in a home tells nothing of its owner: the name of the file, an
    installed package, the folder of a tool.
    """
    for index in range(start, len(names)):
        name = names[index].lower()
        if name in _INSTALLED or name in _TOOLS or (name.startswith(".") and len(name) > 2):
            return index
        follows = names[index + 1] if index + 1 < len(names) else ""
        if name == "lib" and _PYTHON.fullmatch(follows):
            return index
        if name in ("bin", "scripts") and index >= len(names) - 2 - trailing:
            return index
    last = len(names) - 1 - trailing
    # The end of a name says it; all of a long one would be tried from each dot.
    return last if _FILE.fullmatch(names[last][-255:]) and last >= start else len(names) - trailing


def _users_shown(
    parts: Sequence[str], separators: Sequence[str], start: int, is_temporary: bool, show: Shown
) -> str:
    """The rest of a path with the users that are folders in it."""
    shown = [separators[start - 1]] if start else []
    last = len(parts) - 1
    for index in range(start, len(parts)):
        part, separator = parts[index], separators[index]
        if index < last and part and part.lower() not in _GENERIC:
            part = show("user part", part, part)
        if is_temporary and part:
            part = show("temporary part", part, part)
        shown += [part, separator]
    return "".join(shown)
