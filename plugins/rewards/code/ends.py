# Exceptions of the solution by which Python could end what a test does as if it were done. Stands before objects.py.
import functools
import itertools

# What Python takes for an end or an absence, where it calls a method of the tests' own by itself.
TAKEN_FOR_AN_END = {
    "__getitem__": LookupError,
    "__missing__": LookupError,
    "__getattr__": AttributeError,
    "__getattribute__": AttributeError,
    "__get__": AttributeError,
    "__length_hint__": TypeError,
    "__len__": TypeError,
}
ENDS = (StopIteration, StopAsyncIteration)


def would_end_something(error, what):
    """Whether an exception of the solution could end a comparison as if it were done: all(map(f, values))."""
    is_end = issubclass(error, ENDS)
    if is_end and what not in ("call", "method"):
        return True
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code  # this program's own have the name <string>
        if code.co_filename != "<string>":
            special = code.co_name.startswith("__") and code.co_name.endswith("__")
            if is_end and special or issubclass(error, TAKEN_FOR_AN_END.get(code.co_name, ())):
                return True
            if issubclass(error, AttributeError) and is_property(frame):
                return True
        frame = frame.f_back
    return False


def is_property(frame):
    code = frame.f_code
    if code.co_argcount != 1:
        return False
    members = [v for base in type(frame.f_locals.get(code.co_varnames[0])).__mro__ for v in vars(base).values()]
    getters = [v.fget for v in members if type(v) is property]
    getters += [v.func for v in members if type(v) is functools.cached_property]
    return any(getattr(getter, "__code__", None) is code for getter in getters)


def make_guards(fail_call):
    """What of Python and itertools calls a function until it raises StopIteration: from there on that fails the test."""

    def guarded(function):
        if not callable(function):
            return function

        def call(*arguments, **named):
            try:
                return function(*arguments, **named)
            except ENDS:
                fail_call()

        return call

    def guarding(kind, place, keyword=None):
        class Guarding(kind):
            def __new__(cls, *arguments, **named):
                arguments = [guarded(v) if i == place else v for i, v in enumerate(arguments)]
                named = {name: guarded(v) if name == keyword else v for name, v in named.items()}
                return kind.__new__(cls, *arguments, **named)

        Guarding.__name__ = Guarding.__qualname__ = kind.__name__
        return Guarding

    def guarded_iter(*arguments):
        if len(arguments) == 2 and getattr(arguments[0], "__name__", None) != "__next__":
            arguments = guarded(arguments[0]), arguments[1]
        return iter(*arguments)

    for name in ("starmap", "takewhile", "dropwhile", "filterfalse"):
        setattr(itertools, name, guarding(getattr(itertools, name), 0))
    itertools.accumulate = guarding(itertools.accumulate, 1, "func")
    itertools.groupby = guarding(itertools.groupby, 1, "key")
    return {"map": guarding(map, 0), "filter": guarding(filter, 0), "iter": guarded_iter}
