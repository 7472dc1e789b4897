"""Finds the `tvm` this process uses, late: importing this package doesn't import TVM.

apache-tvm and TileLang both ship a package named `tvm`, with native libraries of their own. One
process uses one of them, and which one is the user's choice, made by what they import. An
instrument therefore binds to the `tvm` that is there when the instrument is made.
"""

from __future__ import annotations

import importlib
from types import ModuleType, new_class
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self


def loaded_tvm() -> ModuleType:
    """The `tvm` of this process: the loaded one, or else the one that can be imported.

    Raises ImportError, with what to install, if there is none.
    """
    try:
        return _import_tvm()
    except ImportError as error:
        reason = error
    try:
        # TileLang keeps its tvm in a folder of its own, on the import path only after this.
        importlib.import_module("tilelang")
        return _import_tvm()
    except ImportError:
        raise ImportError(
            f"TVM cannot be imported ({reason}); install it with: pip install 'tilelang-trace[tvm]'"
        ) from reason


def _import_tvm() -> ModuleType:
    # The submodule, because a mere folder named `tvm` (a source checkout, say) imports as well.
    importlib.import_module("tvm.ir.instrument")
    return importlib.import_module("tvm")


class TvmPassInstrument:
    """Base of instruments that are real TVM instruments although their module doesn't import TVM.

    TVM takes only objects of its own class `PassInstrument`. A class derived from this one is not;
    its instances are: they get a class that derives from it and from the `PassInstrument` of the
    loaded TVM, and that has its name. `isinstance` and further subclassing work as usual.

    TVM registers the callbacks that the class defines (`enter_pass_ctx`, `exit_pass_ctx`,
    `should_run`, `run_before_pass`, `run_after_pass`) in `PassInstrument.__init__`, so
    `super().__init__()` must be called. TVM holds them, and through them the instrument, until the
    process ends.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        bound = _bound_class(cls, loaded_tvm().ir.instrument.PassInstrument)
        instance: Self = super(TvmPassInstrument, bound).__new__(bound)
        return instance


_bound_classes: dict[tuple[type[Any], type[Any]], type[Any]] = {}


def _bound_class(cls: type[Any], tvm_class: type[Any]) -> type[Any]:
    """`cls` and `tvm_class` in one class that looks like `cls`, always the same one."""
    if issubclass(cls, tvm_class):  # a user's class that derives from both, or is decorated by TVM
        return cls
    bound = _bound_classes.get((cls, tvm_class))
    if bound is None:
        looks = {name: getattr(cls, name) for name in ("__module__", "__qualname__", "__doc__")}
        # TVM's class has a metaclass of its own, which new_class finds and type(...) would not.
        bound = new_class(cls.__name__, (cls, tvm_class), exec_body=lambda body: body.update(looks))
        _bound_classes[cls, tvm_class] = bound
    return bound
