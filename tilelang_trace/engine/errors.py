"""What can go wrong between us and Perfetto."""


class EngineError(Exception):
    """Something went wrong between us and Perfetto."""


class EngineUnavailable(EngineError):
    """Node, or a package that the engine comes from, is not installed here."""


class EngineCrashed(EngineError):
    """The engine's process ended by itself."""


class TimeLimitExceeded(EngineError):
    """The engine did not answer in time and was killed: some broken traces make it loop forever."""


class TraceRefused(EngineError):
    """Perfetto does not load this trace at all."""


class QueryError(EngineError):
    """Perfetto does not accept this SQL, or its answer cannot be given as dicts."""
