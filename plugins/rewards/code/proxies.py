# The proxies of objects and classes of the solution: what Python does with them by itself. Stands before objects.py.
import importlib
from types import MethodType, SimpleNamespace

# The modules whose members a test may use by the name that the solution imports them with. They are the judge's own.
KNOWN_MODULES = set(
    "abc array bisect cmath collections collections.abc copy dataclasses datetime decimal enum fractions functools "
    "heapq io itertools json json.decoder math numpy operator queue random re statistics "
    "string time types typing".split()
)


def make_proxies(ask, fail_call):
    """`ask(what, on, …)` has it done in the worker. A place is (process, number), or a name."""
    number_key = "number in the worker"
    seen_key = "has seen a value of the test"
    named_classes = {}  # by the name in the test
    place_of_class = {}

    def state_of(proxy):
        try:
            return object.__getattribute__(proxy, number_key)
        except AttributeError:
            return None

    class RemoteType(type):
        """A class of the solution."""

        def __call__(cls, *arguments, **named):
            return ask("call", cls, *arguments, **named)

        def __getattr__(cls, name):
            return attribute(cls, name)

        def __setattr__(cls, name, value):
            ask("set", cls, name, value)

        def __iter__(cls):
            return ask("special", cls, "__iter__")

        def __len__(cls):
            return ask("special", cls, "__len__")

        def __getitem__(cls, key):
            return ask("item", cls, key)

        def __contains__(cls, value):
            return bool(ask("special", cls, "__contains__", value))

        def __bool__(cls):
            return True

        @property
        def __doc__(cls):
            return attribute(cls, "__doc__")

    class Remote(metaclass=RemoteType):  # an object of the solution
        def __getattr__(self, name):
            return attribute(self, name)

        def __setattr__(self, name, value):
            ask("set", self, name, value)

        def __delattr__(self, name):
            ask("delete", self, name)

        def __copy__(self):
            return ask("copy", self, False)

        def __deepcopy__(self, known):
            return ask("copy", self, True)

        def __reduce_ex__(self, version):
            raise TypeError("an object of the solution")

        @property
        def __dict__(self):
            return ask("get", self, "__dict__")[1]

        @property
        def __doc__(self):
            return ask("get", self, "__doc__")[1]

    readable = {"__name__", "__qualname__", "__doc__", "__wrapped__", "__members__", "__annotations__"}

    def attribute(on, name):
        if name.startswith("__") and name.endswith("__") and name not in readable or " " in name:
            raise AttributeError(name)
        is_method, value = ask("get", on, name)
        if not is_method:
            return value

        def method(*arguments, **named):
            return ask("method", on, name, *arguments, **named)

        method.__name__ = method.__qualname__ = name
        return method

    def is_named(proxy):
        """Whether the test itself speaks of its class."""
        return any(base in named_classes.values() for base in type(proxy).__mro__)

    def has_seen(proxy):
        try:
            return object.__getattribute__(proxy, seen_key)
        except AttributeError:
            return False

    def of_solution(value):
        return isinstance(type(value), RemoteType)

    def compared(name):
        def compare(self, value):
            return ask("special", self, name, value) if of_solution(value) else NotImplemented

        return compare

    def combined(name):
        # With a value of the test the result may only be another object, of which nothing is then read as a number.
        def combine(self, *values):
            if all(map(of_solution, values)):
                return ask("special", self, name, *values)
            if not is_named(self):
                return NotImplemented
            result = ask("special", self, name, *values)
            if result is NotImplemented:
                return result
            if not of_solution(result) or hasattr(type(result), "plain base"):
                fail_call()
            if result is not self or name not in IN_PLACE:
                object.__setattr__(result, seen_key, True)
            return result

        return combine

    def converted(name):
        def convert(self, *arguments):
            if has_seen(self):
                fail_call()
            return ask("special", self, name, *arguments)

        return convert

    def forwarded(name):
        return lambda self, *arguments: ask("special", self, name, *arguments)

    def contains(self, value):
        if of_solution(value) or is_named(self):
            return bool(ask("special", self, "__contains__", value))
        return any(value is item or value == item for item in self)

    special_methods = (
        {name: forwarded(name) for name in SPECIAL}
        | {name: compared(name) for name in COMPARISONS}
        | {name: combined(name) for name in ARITHMETIC}
        | {name: converted(name) for name in CONVERSIONS}
        | {"__contains__": contains, "__next__": lambda self: next_of(ask("next", self))}
        | {"__call__": lambda self, *arguments, **named: ask("call", self, *arguments, **named)}
        | {"__exit__": lambda self, kind, error, trace: ask("special", self, "__exit__", kind, error, None)}
    )
    # A real generator or coroutine for each of the solution's: its place, and itself.
    generators = {}

    def make_generator(place, kind):
        def generator():
            more, value = ask("next", holder)
            while more:
                try:
                    sent = yield value
                except Exception as error:
                    try:
                        value = ask("method", holder, "throw", error)
                    except StopIteration as end:
                        return end.value
                else:
                    more, value = ask("next", holder, *(() if sent is None else (sent,)))
            return value

        async def coroutine():
            return ask("run", holder)

        made = generator() if kind == "generator" else coroutine()
        holder = made
        generators[id(made)] = (place, made)
        return made

    def make_class(place, name, home, global_name, bases, special, plain, error, own, fields):
        if name in ("generator", "coroutine"):
            return name
        if global_name in named_classes:
            return named_classes[global_name]
        if error and home in KNOWN_MODULES:
            known = getattr(importlib.import_module(home), name)
            if not issubclass(known, Exception):
                raise TypeError("not an error")
            return known
        if hasattr(builtins, name):
            name += " of the solution"
        members = {method: special_methods[method] for method in special}
        members["__doc__"] = Remote.__dict__["__doc__"]  # else it has the class's, which is None here
        if name in ("function", "_lru_cache_wrapper"):
            members["__get__"] = lambda self, on, kind=None: self if on is None else MethodType(self, on)
        if "__eq__" in members:
            members.setdefault("__hash__", None)
        if plain:
            base, members = types_of_plain[plain], plain_members(types_of_plain[plain], special, own)
            made_bases = (base,)
        elif error:
            base = error_type(error)
            if not issubclass(base, Exception):
                raise TypeError("not an error")
            made_bases = (*[b for b in bases if issubclass(b, Exception)], base) if bases else (base,)
            members = {"__getattr__": Remote.__dict__["__getattr__"]}
        else:
            made_bases = tuple(b for b in bases if issubclass(b, Remote)) or (Remote,)
        if fields:
            members["__dataclass_fields__"] = data_fields(fields)
        members["__module__"] = "solution"
        try:
            made = type.__new__(RemoteType, name, made_bases, members)
        except TypeError:
            made = type.__new__(RemoteType, name, (Remote,), members)
        place_of_class[made] = place
        return made

    def data_fields(names):
        """By which asdict() and replace() take objects apart."""
        import dataclasses

        made = dataclasses.make_dataclass("fields", names)
        return made.__dataclass_fields__

    types_of_plain = {t.__name__: t for t in PLAIN[1:-1]}

    def plain_members(base, special, own):
        """Of a class that extends a plain type. Its objects are compared by what the plain type holds."""
        members = {"plain base": base, "__getattr__": Remote.__dict__["__getattr__"]}
        mutable = base in (list, dict, set)
        for name in dir(base) if mutable else own:
            if name in COMPARISONS or name == "__hash__" or name not in dir(base):
                continue
            if name in ARITHMETIC:
                members[name] = plain_combined(name, getattr(base, name, None))
            elif name in SPECIAL and (mutable or name in special):
                members[name] = special_methods[name]
            elif not name.startswith("_"):
                members[name] = method_of(name)
        if mutable:
            members |= {name: plain_compared(name, getattr(base, name)) for name in COMPARISONS} | {"__hash__": None}
        return members

    def method_of(name):
        return lambda self, *arguments, **named: ask("method", self, name, *arguments, **named)

    def refreshed(self):
        content = ask("plain", self)
        if type(content) is not getattr(type(self), "plain base"):
            fail_call()
        refill(self, content)
        return self

    def plain_compared(name, method):
        return lambda self, value: method(refreshed(self), refreshed(value) if is_mutable(value) else value)

    def is_mutable(value):
        return getattr(type(value), "plain base", None) in (list, dict, set)

    def plain_combined(name, method):
        def combine(self, *values):
            if all(map(of_solution, values)):
                return ask("special", self, name, *values)
            return method(refreshed(self) if is_mutable(self) else self, *values) if method else NotImplemented

        return combine

    def make_proxy(place, kind):
        if type(kind) is str:
            return make_generator(place, kind)
        if issubclass(kind, BaseException):
            proxy = kind.__new__(kind)
            object.__setattr__(proxy, number_key, place)
            arguments, text = ask("error", proxy)
            proxy.args = arguments
            if BaseException.__str__(proxy) != text:
                proxy.args = (text,)
            return proxy
        proxy = object.__new__(kind)
        object.__setattr__(proxy, number_key, place)
        return proxy

    def make_plain_proxy(place, kind, content):
        base = type(content)
        proxy = base.__new__(kind) if base in (list, dict, set) else base.__new__(kind, content)
        object.__setattr__(proxy, number_key, place)
        return proxy

    def refill(proxy, content):
        base = getattr(type(proxy), "plain base")
        if base is list:
            list.__setitem__(proxy, slice(None), content)
        elif base in (dict, set):
            base.clear(proxy)
            base.update(proxy, content)

    return (
        *(RemoteType, state_of, make_class, make_proxy, make_plain_proxy, refill),
        *(generators, named_classes, place_of_class),
    )
