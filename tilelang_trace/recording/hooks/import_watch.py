"""Tells when a module has been imported, for what has to be wrapped as soon as it is there.

Every Python process that is to be recorded imports it, so it imports nothing that takes time.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.abc import Loader, MetaPathFinder
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import TypeAlias

    Action: TypeAlias = Callable[[], None]
else:
    Loader = MetaPathFinder = object  # importlib.abc takes longer to import than all of this


class _Watch(MetaPathFinder):
    """First on `sys.meta_path`; finds nothing itself, but follows the loading of the modules it
    waits for.
    """

    def __init__(self) -> None:
        self.actions: dict[str, list[Action]] = {}
        self._finding: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self.actions or name in self._finding:
            return None
        from importlib.util import find_spec

        self._finding.add(name)
        try:
            spec = find_spec(name)
        finally:
            self._finding.discard(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Following(spec.loader, name)
        return spec


class _Following(Loader):
    """A loader that does what the real one does, and then what is asked for by then."""

    def __init__(self, loader: Loader, name: str) -> None:
        self._loader = loader
        self._name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # Back to the real loader first: code that looks at a module's loader finds what it expects.
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        for action in list(_watch.actions.get(self._name, ())):
            action()


_watch = _Watch()


def when_imported(name: str, action: Action) -> None:
    """Call `action` once this module, which is not imported yet, has been.

    While it is being imported, this still works if it was waited for before that began.
    """
    actions = _watch.actions.setdefault(name, [])
    if action not in actions:
        actions.append(action)
    if _watch not in sys.meta_path:
        sys.meta_path.insert(0, _watch)


def forget(name: str, action: Action) -> None:
    """Don't do this any more when the module is imported."""
    actions = _watch.actions.get(name, [])
    if action in actions:
        actions.remove(action)
    if not actions:
        _watch.actions.pop(name, None)
    if not _watch.actions and _watch in sys.meta_path:
        sys.meta_path.remove(_watch)
