# Objects of the solution as the tests see them. Each is a proxy: what the test does with it is done in the worker, which
# is not trusted. So a proxy never equals a plain value, is not ordered with one, and no operator gives the worker a value
# of the test to make a plain result of. Stands between wire.py and judge.py.
import importlib


class CallFailed(BaseException):
    """A call that has no answer: the test has failed. No `except Exception` of a test catches it."""


# What Python takes for an end or an absence, where it calls a method of the tests' own by itself.
TAKEN_FOR_AN_END = {"__getitem__": LookupError, "__getattr__": AttributeError, "__length_hint__": TypeError}


def would_end_something(error):
    """Whether an exception of the solution could end a comparison as if it were done: all(map(f, values))."""
    if issubclass(error, (StopIteration, StopAsyncIteration)):
        return True
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code  # this program's own have the name <string>
        if code.co_filename != "<string>" and issubclass(error, TAKEN_FOR_AN_END.get(code.co_name, ())):
            return True
        frame = frame.f_back
    return False


# The modules whose members a test may use by the name that the solution imports them with. They are the judge's own.
KNOWN_MODULES = set(
    "abc array bisect cmath collections collections.abc copy dataclasses datetime decimal enum fractions functools "
    "heapq io itertools json math numpy operator random re statistics string time types typing".split()
)


def make_objects(receive, send):
    """The connection to the solution: ask(what, on, …), and what a test's names stand for."""
    number_key = "number in the worker"
    seen_key = "has seen a value of the test"
    process = 0  # how often the solution's process was lost: objects of one that is gone are gone too
    failed = False  # a call without an answer
    proxies, classes = {}, {}  # of this process, by number
    named_classes = {}  # by the name in the test
    place_of_class = {}  # (process, number) or the name
    given, number_of_given = [], {}  # the tests' own objects that the solution has
    lent, number_of_lent, lent_before = {}, {}, 0  # the tests' containers that the solution may change
    delayed = []  # (container, content) that a test shall see from its next statement on

    def fail_call():
        nonlocal failed
        failed = True  # whatever the test makes of the exception
        raise CallFailed

    def has_failed():
        nonlocal failed
        before, failed = failed, False
        return before

    # ------------------------------------------------------------------------------------------ values
    def state_of(proxy):
        try:
            return object.__getattribute__(proxy, number_key)
        except AttributeError:
            return None

    def place_of(proxy):
        if id(proxy) in generators:
            place = generators[id(proxy)][0]
        else:
            place = place_of_class.get(proxy) if isinstance(proxy, RemoteType) else state_of(proxy)
        if type(place) is tuple and place[0] != process:
            fail_call()
        return place

    def other(value):
        kind = type(value)
        if isinstance(value, RemoteType) or id(value) in generators or isinstance(kind, RemoteType):
            place = place_of(value)
            if type(place) is tuple:
                return numbered(b"o", place[1]), ()
            if place is not None:
                return b"n", (place,)
        if isinstance(value, type) and issubclass(value, BaseException) and vars(builtins).get(value.__name__) is value:
            return b"x" + len("error type").to_bytes(4, "little") + b"error type", ((value.__name__,),)
        if vars(builtins).get(kind.__name__) is kind and isinstance(value, BaseException):
            return b"x" + len("error").to_bytes(4, "little") + b"error", ((kind.__name__, *value.args),)
        if id(value) not in number_of_given:
            number_of_given[id(value)] = len(given)
            given.append(value)
        return numbered(b"j", number_of_given[id(value)]), (description_of(value),)

    def description_of(value):
        """What stands for an object of the tests in the worker: its kind, name, text and special methods."""
        name, doc = getattr(value, "__name__", None), getattr(value, "__doc__", None)
        name, doc = name if type(name) is str else type(value).__name__, doc if type(doc) is str else None
        if is_open(value):
            return "object", type(value).__name__, doc, tuple(n for n in SPECIAL if has_special(type(value), n))
        if hasattr(value, "__next__"):
            return "iterator", name, doc, ()
        if callable(value):
            return "function", name, doc, ()
        return "object", name, doc, ()

    def has_special(kind, name):
        return any(name in vars(base) and vars(base)[name] is not None for base in kind.__mro__ if base is not object)

    def is_open(value):
        """Whether the solution may use its attributes: of functions, frames and modules it would learn the rest."""
        return type(value).__module__ in ("tests", "_io") and not isinstance(value, type)

    def lend(container):
        nonlocal lent_before
        number = number_of_lent.get(id(container))
        if number is None:
            number = number_of_lent[id(container)] = lent_before
            lent[number] = container
            lent_before += 1
        if number in in_this_message:
            return numbered(b"r", number), True
        in_this_message.add(number)
        return numbered(b"m", number), False

    in_this_message = set()

    def take_object(size, get):
        number, kind = size(), size()
        if number not in proxies:
            proxies[number] = make_proxy(number, class_of(kind))
        return proxies[number]

    def take_plain(size, get):
        number, kind, content = size(), class_of(size()), get()
        if type(content) is not getattr(kind, "plain base", None):
            raise TypeError("a value of another type")
        if number not in proxies:
            base = type(content)
            proxies[number] = base.__new__(kind) if base in (list, dict, set) else base.__new__(kind, content)
            object.__setattr__(proxies[number], number_key, (process, number))
        refill(proxies[number], content)
        return proxies[number]

    def refill(proxy, content):
        base = getattr(type(proxy), "plain base")
        if base is list:
            list.__setitem__(proxy, slice(None), content)
        elif base in (dict, set):
            base.clear(proxy)
            base.update(proxy, content)

    def take_given(size, get):
        number = size()
        get()
        return given[number]

    encode, decode = make_codec(
        other,
        {
            b"o": take_object,
            b"k": lambda size, get: class_of(size()),
            b"q": take_plain,
            b"r": lambda size, get: lent[size()],
            b"j": take_given,
        },
    )

    # --------------------------------------------------------------------------------------- questions
    def ask(what, on, *arguments, **named):
        settle_before(arguments)
        in_this_message.clear()
        if isinstance(on, RemoteType) or type(on) is not str:
            place = place_of(on)
            on = on if type(place) is tuple else place
        in_process = process
        send(b"C" + encode((what, on, arguments, named), lend))
        while True:
            answer = receive()
            if answer[:1] != b"K":
                return outcome(answer)
            serve_callback(answer[1:])
            if process != in_process:
                fail_call()

    def settle_before(arguments):
        """What is passed again has its content of now."""
        if delayed and any(is_shared(type(argument)) for argument in arguments):
            settle()

    def outcome(answer):
        nonlocal process
        kind, body = answer[:1], answer[1:]
        if kind == b"V":
            keep_lent(())
            return decoded(body)
        if kind == b"M":
            value, changed, kept = decoded(body)
            take_changes(changed, kept, value is not None)
            return value
        if kind == b"R":
            name, _, parts = body.partition(b"\0")
            raise_error(name.decode(), decoded(parts) if parts else None)
        if kind == b"X":
            process += 1
            for known in (proxies, classes):
                known.clear()
        fail_call()

    def decoded(body):
        try:
            return decode(body)
        except Exception:
            fail_call()

    def keep_lent(kept):
        for number in [number for number in lent if number not in kept]:
            del number_of_lent[id(lent[number])]
            del lent[number]

    def take_changes(changed, kept, later):
        """`later`: a function that gives a value is compared by it; what it did to its arguments is not to change with
        what it is compared."""
        try:
            pairs = [(lent[number], content) for number, content in changed]
            for container, content in pairs:
                if type(content) is not type(container):
                    raise TypeError("another type")
                if later and delay:
                    delayed.append((container, content))
                else:
                    change(container, content)
            keep_lent(kept)
        except Exception:
            fail_call()

    delay = True

    def delay_changes(wanted):
        nonlocal delay
        delay = wanted

    def settle():
        while delayed:
            change(*delayed.pop(0))
        return True

    def raise_error(name, parts):
        error = vars(builtins).get(name)
        if not isinstance(error, type) or not issubclass(error, Exception) or would_end_something(error):
            fail_call()
        try:
            (own, arguments, text), changed, kept = parts or ((None, ("raised by the solution",), ""), (), ())
            take_changes(changed, kept, False)
            raised = make_error(error, arguments, text) if own is None else own
            if not isinstance(raised, error):
                raise TypeError("another error")
        except Exception:
            fail_call()
        raise raised

    def make_error(kind, arguments, text):
        try:
            return kind(*arguments)
        except Exception:
            return kind(text)

    # --------------------------------------------------------------------------------------- callbacks
    def serve_callback(body):
        try:
            what, number, arguments, named, changed, kept = decode(body)
            take_changes(changed, kept, False)
            on = given[number]
            call = CALLBACKS[what]
        except Exception:
            fail_call()
        try:
            answer = (True, call(on, *arguments, **named))
            message = encode(answer)
        except Exception as error:
            name = next(base.__name__ for base in type(error).__mro__ if vars(builtins).get(base.__name__) is base)
            message = encode((False, vars(builtins)[name], str(error)))
        if failed:
            raise CallFailed
        send(b"A" + message)

    def open_attribute(on, name):
        if not is_open(on) or type(name) is not str or name.startswith("_"):
            raise AttributeError(name)
        return name

    def run_special(on, name, *arguments):
        if name not in SPECIAL or not is_open(on):
            raise AttributeError(name)
        return getattr(type(on), name)(on, *arguments)

    def following(on):
        try:
            return True, next(on)
        except StopIteration as end:
            return False, end.value

    def run_call(on, *arguments, **named):
        return on(*arguments, **named)

    CALLBACKS = {
        "call": run_call,
        "next": following,
        "get": lambda on, name: getattr(on, open_attribute(on, name)),
        "set": lambda on, name, value: setattr(on, open_attribute(on, name), value),
        "special": run_special,
    }

    # ----------------------------------------------------------------------------------------- proxies
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

    class Remote(metaclass=RemoteType):
        """An object of the solution."""

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

    def following_of(self):
        more, value = ask("next", self)
        if not more:
            raise StopIteration(value)
        return value

    special_methods = (
        {name: forwarded(name) for name in SPECIAL}
        | {name: compared(name) for name in COMPARISONS}
        | {name: combined(name) for name in ARITHMETIC}
        | {name: converted(name) for name in CONVERSIONS}
        | {"__contains__": contains, "__next__": following_of}
        | {"__call__": lambda self, *arguments, **named: ask("call", self, *arguments, **named)}
        | {"__exit__": lambda self, kind, error, trace: ask("special", self, "__exit__", kind, error, None)}
    )
    generators = {}  # a real generator for each of the solution's: its place, and itself

    def make_generator(number):
        place = (process, number)

        def generator():
            more, value = ask("next", holder)
            while more:
                sent = yield value
                more, value = ask("next", holder, *(() if sent is None else (sent,)))
            return value

        made = generator()
        holder = made
        generators[id(made)] = (place, made)
        return made

    def class_of(number):
        if number not in classes:
            classes[number] = make_class(number, *ask("class", None, number))
        return classes[number]

    def make_class(number, name, global_name, bases, special, plain, error, own):
        if name == "generator":
            return None
        if global_name in named_classes:
            return named_classes[global_name]
        if hasattr(builtins, name):
            name += " of the solution"
        members = {method: special_methods[method] for method in special}
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
        members["__module__"] = "solution"
        try:
            made = type.__new__(RemoteType, name, made_bases, members)
        except TypeError:
            made = type.__new__(RemoteType, name, (Remote,), members)
        place_of_class[made] = (process, number)
        return made

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
        return lambda self, value: method(refreshed(self), refreshed(value) if of_solution(value) and is_mutable(value) else value)

    def is_mutable(value):
        return getattr(type(value), "plain base", None) in (list, dict, set)

    def plain_combined(name, method):
        def combine(self, *values):
            if all(map(of_solution, values)):
                return ask("special", self, name, *values)
            return method(refreshed(self) if is_mutable(self) else self, *values) if method else NotImplemented

        return combine

    def make_proxy(number, kind):
        if kind is None:
            return make_generator(number)
        if issubclass(kind, BaseException):
            proxy = kind.__new__(kind)
            object.__setattr__(proxy, number_key, (process, number))
            arguments, text = ask("error", proxy)
            proxy.args = arguments
            if BaseException.__str__(proxy) != text:
                proxy.args = (text,)
            return proxy
        proxy = object.__new__(kind)
        object.__setattr__(proxy, number_key, (process, number))
        return proxy

    # ------------------------------------------------------------------------------------------- names
    variables = set()  # names of values, which the solution may give others
    asked_for = []

    def named_function(name):
        def call(*arguments, **named):
            return ask("call", name, *arguments, **named)

        call.__name__ = call.__qualname__ = name
        return call

    def names_of_solution(wanted):
        found = {name: named_function(name) for name in wanted}
        asked_for[:] = sorted(wanted)
        variables.clear()
        for name, (kind, value) in ask("names", None, *asked_for):
            if name in found:
                found[name] = stand_in(name, kind, value, found[name])
        return found

    def stand_in(name, kind, value, function):
        if kind == "class" and isinstance(value, RemoteType):
            place_of_class[value] = name
            named_classes[name] = value
            return value
        if kind == "value":
            variables.add(name)
            return value
        try:
            if kind == "module" and value in KNOWN_MODULES:
                return importlib.import_module(value)
            if kind == "member" and value[0].lstrip("_") in KNOWN_MODULES:
                member = getattr(importlib.import_module(value[0]), value[1])
                return member if callable(member) else function
        except Exception:
            pass
        return function

    def refresh(names):
        """What the solution's variables hold now."""
        if variables:
            for name, (kind, value) in ask("names", None, *sorted(variables)):
                if name in variables and kind == "value":
                    names[name] = value

    return ask, names_of_solution, refresh, settle, delay_changes, has_failed, encode, decode
