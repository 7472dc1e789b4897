"""Users and hosts: where a name stands as one.

A name that nothing else is called by, such as `jdoe`, is one wherever it stands as a word. One such
as `a`, `root` or `main` is one only behind what says so: `USER=a`, `--user=a`, `~a/`, `a@host`.
(What it is in a path, `paths` knows.) Replacing and searching go by the same expressions.
"""

from __future__ import annotations

import functools
import re

# Users and hosts of images, machines and services, which tell of nobody; then words of compilers
# and of what is around a trace; then words of English that are names too.
_COMMON = """
root user users admin administrator guest test tester demo ubuntu debian fedora centos alpine
runner runneradmin jenkins gitlab github circleci travis docker podman conda jovyan vscode
codespace coder nobody daemon default public shared system service services local localhost
localdomain localadmin host hostname home node server client machine laptop desktop linux
windows darwin macos android arm64
tilelang relax relay tirx script module modules main kernel kernels func function functions
pass passes phase context build builder compile compiler codegen lower lowering optimize
target device cuda rocm metal vulkan llvm clang nvcc hipcc opencl webgpu hexagon cpu gpu
gemm conv conv2d matmul attention softmax relu gelu norm linear model models layer layers
batch input inputs output outputs weight weights bias data buffer buffers block blocks thread
threads warp warps grid loop loops tile tiles tensor tensors shape shapes index value values
type types name names node nodes size file files folder line lines text string import export
from with else return class lambda print read write writes reads open close error errors
warning debug info true false none null float int int8 int32 int64 float16 float32 float64
bfloat16 uint8 bool void const static torch numpy triton cutlass apache perfetto google
python java rust bash work working workspace project projects source sources temp
trace traces report bundle compare time times name email token tokens secret password
github.com this that then than when where what which have been will were would there their
some such they them into only also very just like make made used uses using does done
first last next each more most many much must over under before after begin start stop long
short high left right mark max min sum mean grace rose hope will bill jack rich art dash page
self cls args kwargs scope shared global fragment cache async sync copy fill clear region
annotate simplify inline vectorize unroll parallel bind split fuse reorder
"""
COMMON = frozenset(_COMMON.split())
"""Names that are more often something else, lower case."""

_STARTS = r"(?<![A-Za-z0-9])(?<![TRI]\.)"  # an attribute of TVMScript, `T.grid`, is the language's
_ENDS = r"(?![A-Za-z0-9])"
_USER_KEY = r"(?:user|user[_-]?name|login|log[_-]?name|owner|account|sudo_user)"
_HOST_KEY = r"(?:host[_-]?name|node[_-]?name|computer[_-]?name|fqdn)"
_USER_KEYS = re.compile(_USER_KEY, re.IGNORECASE)
_HOST_KEYS = re.compile(_HOST_KEY, re.IGNORECASE)
_ASSIGNED = r"(?:\\*[\"'])?(?:=|:|%3D|:\s*\\*[\"']|\s*=\s*\\*[\"'])\\*[\"']?"
NAME = r"(?:[^\W_][\w.-]*[\w$]|[^\W_])"
_TOLD = re.compile(
    rf"(?i)(?<![A-Za-z0-9])(?:(?P<user>{_USER_KEY}{_ASSIGNED}"
    rf"(?P<u>{NAME}(?: (?-i:[A-Z][a-z]+))?)|--?user(?:name)?\s+"
    rf"(?P<u2>{NAME}))|(?P<host>{_HOST_KEY}{_ASSIGNED}(?P<h>{NAME})))(?![\w(@\\/])"
)
_LINE = re.compile(
    rf"(?im)(?<![A-Za-z0-9]){_USER_KEY}\\*[\"']?:[ \t]+(?P<u>{NAME})(?=[ \t]*(?:$|[,;}}\])\"']))"
)
_AT = re.compile(
    r"(?:(?<=ssh )|(?<=scp )|(?<![\w.+%-]))(?P<u>[A-Za-z_][\w.-]{0,31})@"
    r"(?P<h>[A-Za-z0-9][\w-]*(?:\.[\w-]+)*)"
    r"(?:(?=:[~/])|(?<=-\d)|(?<=-\d\d)|(?<=-\d\d\d))(?![\w.-])"
)
_PUBLIC_AT = frozenset(("github.com", "gitlab.com", "bitbucket.org", "huggingface.co"))


def is_user_key(key: str) -> bool:
    """Whether an argument of this name holds a user."""
    return _USER_KEYS.fullmatch(key.lstrip("-")) is not None


def is_host_key(key: str) -> bool:
    """Whether an argument of this name holds a host."""
    return _HOST_KEYS.fullmatch(key.lstrip("-")) is not None


def is_telling(name: str) -> bool:
    """Whether nothing else is likely to be called by this name."""
    return (
        len(name) >= 4
        and name.lower() not in COMMON
        and any(c.isalpha() for c in name)
        and not name.lower().startswith(("tvm", "tilelang"))
    )


def told(text: str) -> tuple[set[str], set[str]]:
    """The users and hosts that a text says are some: `USER=jdoe`, `jdoe@gpu01:/data`."""
    users, hosts = set(), set()
    lower = text.lower()
    if any(cue in lower for cue in ("user", "log", "owner", "account", "name", "fqdn")):
        for match in _TOLD.finditer(text):
            users.add(match["u"] or match["u2"] or "")
            hosts.add(match["h"] or "")
        users.update(match["u"] for match in _LINE.finditer(text))
    if "@" in text:
        for match in _AT.finditer(text):
            if match["h"] not in _PUBLIC_AT:
                users.add(match["u"])
                hosts.add(match["h"])
    return {u for u in users if u}, {h for h in hosts if h}


@functools.cache
def word_pattern(name: str) -> re.Pattern[str]:
    """The name as a word, whatever its case; in snake case it is a word too."""
    return re.compile(_STARTS + re.escape(name) + _ENDS, re.IGNORECASE)


@functools.cache
def user_pattern(name: str) -> re.Pattern[str]:
    """The user where something says that it is one."""
    this = re.escape(name)
    return re.compile(
        rf"(?i:(?<![A-Za-z0-9]){_USER_KEY}{_ASSIGNED}|--?user(?:name)?\s+){this}(?![\w(.-])"
        rf"|(?im:(?<![A-Za-z0-9]){_USER_KEY}\\*[\"']?:[ \t]+){this}(?=[ \t]*(?:$|[\n,;}}\])\"']))"
        rf"|(?<![\w~.-])~{this}(?=[\\/])"
        rf"|(?<![\w.+%-]){this}(?=@[A-Za-z0-9][\w-]{{2,}})"
    )


@functools.cache
def host_pattern(name: str) -> re.Pattern[str]:
    """The host where something says that it is one."""
    this = re.escape(name)
    return re.compile(
        rf"(?i:(?<![A-Za-z0-9]){_HOST_KEY}{_ASSIGNED}){this}(?![\w(-])"
        rf"|(?<=[\w>]@){this}(?![\w-])"
        rf"|(?<=://){this}(?=[:/])"
    )
