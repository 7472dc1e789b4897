"""Which secrets there are: what a Trace and a machine tell of their users, hosts and folders."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tilelang_trace.secret_values import is_secret, spans
from tilelang_trace.sharing.redaction import names, paths
from tilelang_trace.sharing.redaction.choice import Machine, Redaction
from tilelang_trace.sharing.redaction.paths import Places
from tilelang_trace.sharing.redaction.pseudonyms import Pseudonyms
from tilelang_trace.sharing.redaction.walk import COMPILERS, IR, KERNEL, rewritten
from tilelang_trace.trace.model import Trace

EMAIL = re.compile(
    r"(?<![\w.+%-])(?!git@(?:github\.com|gitlab\.com|bitbucket\.org)\b)[\w.+-]+(?:%40|@)"
    r"(?:[A-Za-z0-9][\w-]*\.)+[A-Za-z]{2,24}(?![\w(\[@])"
)
_FRAME = re.compile(r"File \\*\"([^\"\n]+\.py)\\*\", line \d")
_ASSIGNED_FOLDER = re.compile(
    r"(?<![A-Za-z0-9_])(?:(HOME|USERPROFILE)|((?:OLD)?PWD))=\\*[\"']?((?:/|[A-Za-z]:)[^\s\"';:]+)"
)
_HOME_KEYS = frozenset(("home", "userprofile", "home_directory", "homedir"))
_FOLDER_KEYS = frozenset(
    [
        "working_directory",
        "cwd",
        "pwd",
        "oldpwd",
        "workdir",
        "work_dir",
        "current_directory",
        "project_root",
    ]
)
_SOURCE_KEYS = frozenset(
    ["command", "argv", "file", "cmd", "cmdline", "command_line", "script", "filename", "path"]
)
_WORD_IN_NAME = re.compile(r"[A-Z][a-z]+|[a-z]+")
_PLAIN_HOST = re.compile(r"[A-Za-z0-9][\w-]*(?:\.[\w-]+)*")


@dataclass
class Known:
    """All that is to be hidden, and the numbers of what is numbered."""

    places: Places = field(default_factory=Places)
    users: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    values: set[str] = field(default_factory=set)
    emails: set[str] = field(default_factory=set)
    pseudonyms: Pseudonyms | None = None
    compilers: set[str] = field(default_factory=set)
    """Words of the compiler's own names, lower case: no user is looked for by them in all texts."""
    numbers: dict[tuple[str, str], int] = field(default_factory=dict)

    def size(self) -> int:
        """Grows when something is learned."""
        places, names = self.places, self.pseudonyms
        return sum(
            map(
                len,
                (
                    *(self.users, self.hosts, self.values, self.emails, places.homes),
                    *(places.folders, places.roots, places.projects),
                    *((names.kernels, names.buffers) if names is not None else ()),
                ),
            )
        )

    def number(self) -> None:
        """Give numbers to what has none yet, by its text."""
        for kind, texts in (
            ("token", self.values),
            ("email", self.emails),
            ("project", self.places.projects | self.places.roots),
        ):
            count = sum(1 for known, _ in self.numbers if known == kind)
            for text in sorted(texts):
                if (kind, text) not in self.numbers:
                    count += 1
                    self.numbers[kind, text] = count

    def is_telling(self, name: str) -> bool:
        """Whether a user or host is looked for wherever its name stands as a word."""
        return names.is_telling(name) and name.lower() not in self.compilers

    def add_user(self, name: str) -> None:
        """Take a user, if it is one."""
        name = name.strip()
        if name and name[0] not in "<$%*" and not re.search(r"[/\\]", name):
            self.users.add(name)

    def add_host(self, name: str) -> None:
        """Take a host, and its short name."""
        name = name.strip()
        short = name.partition(".")[0]
        if _PLAIN_HOST.fullmatch(name) and not short.isdigit():
            self.hosts.update(h for h in (name, short) if h.lower() not in _NO_HOSTS)


_NO_HOSTS = frozenset(["localhost", "localhost.localdomain", "www", "llvm", "c", "cuda", "cpu"])


def is_mere_name(text: str) -> bool:
    """Whether a text is a name in a program and shorter than any token: so are most, and nothing
    but a user or a host can be in it.
    """
    return len(text) < 19 and text.replace(".", "_").isidentifier()


class Learner:
    """Reads texts (as `walk.Texts`), which stay as they are."""

    def __init__(self, known: Known, from_paths: bool) -> None:
        self._known = known
        self._seen: set[tuple[str, str]] = set()
        self._from_paths = from_paths  # for which homes and working directories are to be known

    def counted(self, text: str, key: str, place: str, count: int) -> None:
        """Nothing changes."""

    def left_out(self, variable: str, value: str, place: str) -> None:
        """What is left out was read before."""

    def shown(self, text: str, key: str) -> str:
        """Read a text."""
        if (text, key) in self._seen:
            return text
        self._seen.add((text, key))
        if self._from_paths:
            if not is_mere_name(text):
                self._read_paths(text, key)
        else:
            self._read(text, key)
        return text

    def _read(self, text: str, key: str) -> None:
        known = self._known
        if key == COMPILERS:
            known.compilers.update(w.lower() for w in _WORD_IN_NAME.findall(text) if w[0].isupper())
        if known.pseudonyms is not None:
            if key == KERNEL:
                known.pseudonyms.learn_kernel(text)
            elif key == IR:
                known.pseudonyms.learn_program(text)
        if key in ("", COMPILERS) and is_mere_name(text):
            return
        lower_key = key.lower().lstrip("-")
        if lower_key in _HOME_KEYS:
            self._home(text)
        elif lower_key in _FOLDER_KEYS:
            self._folder(text)
        elif names.is_user_key(key):
            known.add_user(text)
        elif names.is_host_key(key) or (lower_key in ("host", "node") and _is_host(text)):
            known.add_host(text)
        if is_secret(key, text):
            known.values.add(text)
            return
        known.values.update(text[begin:end] for begin, end in spans(text))
        if "@" in text or "%40" in text:
            known.emails.update(m[0].replace("%40", "@") for m in EMAIL.finditer(text))
        users, hosts = names.told(text)
        for user in users:
            known.add_user(user)
        for host in hosts:
            known.add_host(host)
        if "HOME=" in text or "PWD=" in text or "PROFILE=" in text:
            for home, folder, path in _ASSIGNED_FOLDER.findall(text):
                if home:
                    self._home(path)
                elif folder:
                    self._folder(path)

    def _folder(self, path: str) -> None:
        """Take a working directory, and the home that it is in: both are private."""
        if home := self._known.places.home_of(path):
            self._home(home)
        self._known.places.learn_folder(path)

    def _home(self, path: str) -> None:
        plain = paths.plain(path).rstrip("/")
        if plain.count("/") >= 1 and plain[0] not in "<$%" and len(plain) > 3:
            self._known.places.homes.add(plain)
            self._known.add_user(plain.rpartition("/")[2])

    def _read_paths(self, text: str, key: str) -> None:
        places = self._known.places
        if key.lower() in _SOURCE_KEYS and (text[:1] == "/" or text[1:2] == ":"):
            places.learn_root(text)
        if "File " in text:
            for path in _FRAME.findall(text):
                places.learn_root(path)
        paths.rewrite(text, places, self._take)

    def _take(self, kind: str, old: str, value: str) -> str:
        known = self._known
        parts = value.split("/")
        if kind == "home" and parts[-1] not in ("~", "root", "$HOME", "${HOME}"):
            known.add_user(parts[-1].lstrip("~"))
        elif kind == "home" and value == "/root":
            known.add_user("root")
        elif kind == "project" and value not in known.places.roots:
            known.places.projects.add(value)
        if kind in ("home", "share") and parts[:2] == ["", ""] and len(parts) > 2:
            known.add_host(parts[2])
        return old


def _is_host(text: str) -> bool:
    return bool(_PLAIN_HOST.fullmatch(text)) and names.is_telling(text)


def learn(
    traces: Sequence[Trace], texts: Mapping[str, str], choice: Redaction, machine: Machine
) -> Known:
    """All that is to be hidden in Traces and in texts that go with them, each with its key."""
    known = Known(pseudonyms=Pseudonyms() if choice.names else None)
    _take_machine(known, machine)
    for from_paths in (False, True):
        learner = Learner(known, from_paths)
        for trace in traces:
            rewritten(trace, learner)
        for text, key in texts.items():
            learner.shown(text, key)
    known.number()
    return known


def _take_machine(known: Known, machine: Machine) -> None:
    for user in machine.users:
        known.add_user(user)
    for host in machine.hosts:
        known.add_host(host)
    for home in _folders(machine.homes):
        known.places.homes.add(home)
        known.add_user(home.rpartition("/")[2])
    for folder in _folders(machine.folders):
        known.places.learn_folder(folder)


def _folders(texts: Iterable[str]) -> list[str]:
    plain = [paths.plain(text).rstrip("/") for text in texts]
    return [path for path in plain if path.count("/") >= 1]
