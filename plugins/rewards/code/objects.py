# Objects of the solution as the tests see them, and the tests' own as the solution does. Each is a proxy: what the test
# does with it is done in the worker, which is not trusted. So a proxy never equals a plain value, is not ordered with
# one, and no operator gives the worker a value of the test to make a plain result of. Stands before judge.py.
import functools
import importlib
import os


class CallFailed(BaseException):
    """A call that has no answer: the test has failed. No `except Exception` of a test catches it."""


def make_objects(receive, send):
    """The connection to the solution: ask(what, on, …), and what a test's names stand for."""
    process = 0  # how often the solution's process was lost: objects of one that is gone are gone too
    failed = False  # a call without an answer
    proxies, classes = {}, {}  # of this process, by number
    # A worker may outlive a judge, and then meets no number again.
    next_number = int.from_bytes(os.urandom(3), "little") << 7
    given, number_of_given = {}, {}  # the tests' own objects that the solution has
    lent, number_of_lent = {}, {}  # the tests' containers that the solution may change
    delayed = []  # (container, content) that a test shall see from its next statement on

    def fail_call():
        nonlocal failed
        failed = True  # whatever the test makes of the exception
        raise CallFailed

    RemoteType, state_of, make_class, make_proxy, make_plain_proxy, refill, generators, named_classes, place_of_class = (
        make_proxies(lambda *arguments, **named: ask(*arguments, **named), fail_call)
    )

    def has_failed():
        nonlocal failed
        before, failed = failed, False
        return before

    # ------------------------------------------------------------------------------------------ values
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
        is_error = isinstance(value, BaseException) and state_of(value) is not None
        if isinstance(value, RemoteType) or id(value) in generators or isinstance(kind, RemoteType) or is_error:
            place = place_of(value)
            if type(place) is tuple:
                return numbered(b"o", place[1]), ()
            if place is not None:
                return b"n", (place,)
        if isinstance(value, type) and issubclass(value, BaseException) and vars(builtins).get(value.__name__) is value:
            return named_tag(b"x", "error type"), ((value.__name__,),)
        if vars(builtins).get(kind.__name__) is kind and isinstance(value, BaseException):
            return named_tag(b"x", "error"), ((kind.__name__, *value.args),)
        return numbered(b"j", give(value)), (description_of(value),)

    def new_number():
        nonlocal next_number
        next_number += 1
        return next_number

    def give(value):
        if id(value) not in number_of_given:
            number = number_of_given[id(value)] = new_number()
            given[number] = value
        return number_of_given[id(value)]

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

    type_of_sorting_keys = type(functools.cmp_to_key(len)(0))

    def is_open(value):
        """Whether the solution may use its attributes: of functions, frames and modules it would learn the rest."""
        if type(value) in (SimpleNamespace, type_of_sorting_keys):
            return True
        return type(value).__module__ in ("tests", "_io", "unittest.mock") and not isinstance(value, type)

    def lend(container):
        number = number_of_lent.get(id(container))
        if number is None:
            number = number_of_lent[id(container)] = new_number()
            lent[number] = container
        if number in in_this_message:
            return numbered(b"r", number), True
        in_this_message.add(number)
        return numbered(b"m", number), False

    in_this_message = set()

    def take_object(size, get):
        number, kind = size(), size()
        if number not in proxies:
            proxies[number] = make_proxy((process, number), class_of(kind))
        return proxies[number]

    def take_plain(size, get):
        number, kind, content = size(), class_of(size()), get()
        if type(content) is not getattr(kind, "plain base", None):
            raise TypeError("a value of another type")
        if number not in proxies:
            proxies[number] = make_plain_proxy((process, number), kind, content)
        refill(proxies[number], content)
        return proxies[number]

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
                return outcome(answer, what)
            serve_callback(answer[1:])
            if process != in_process:
                fail_call()

    def settle_before(arguments):
        """What is passed again has its content of now."""
        if delayed and any(is_shared(type(argument)) for argument in arguments):
            settle()

    def outcome(answer, what):
        nonlocal process
        kind, body = answer[:1], answer[1:]
        if kind == b"V":
            value = decoded(body)
            keep_lent(())
            return value
        if kind == b"M":
            value, changed, kept = decoded(body)
            take_changes(changed, kept, value is not None)
            return value
        if kind == b"R":
            name, _, parts = body.partition(b"\0")
            raise_error(name.decode(), decoded(parts) if parts else None, what)
        if kind == b"X":
            process += 1
            for known in (proxies, classes):
                known.clear()
        fail_call()

    decoding = 0  # values may need further questions to be read

    def decoded(body):
        nonlocal decoding
        decoding += 1
        try:
            return decode(body)
        except Exception:
            fail_call()
        finally:
            decoding -= 1

    def keep_lent(kept):
        if decoding > 0:
            return
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

    def raise_error(name, parts, what):
        error = vars(builtins).get(name)
        expected = (Exception, SystemExit) if what in ("call", "method") else Exception
        if not isinstance(error, type) or not issubclass(error, expected):
            fail_call()
        if would_end_something(error, what):
            fail_call()
        try:
            (own, arguments, text), changed, kept = parts or ((None, ("raised by the solution",), ""), (), ())
            take_changes(changed, kept, False)
            raised = make_error(error, arguments, text) if own is None else own
            if not isinstance(raised, error):
                raise TypeError("another error")
        except Exception:
            fail_call()
        if would_end_something(type(raised), what):
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
            message = encode((False, give(error), vars(builtins)[name], str(error)))
        if failed:
            raise CallFailed
        send(b"A" + message)

    def open_attribute(on, name):
        if not is_open(on) or type(name) is not str or name.startswith("_"):
            raise AttributeError(name)
        return name

    def run_special(on, name, *arguments, **named):
        if name not in SPECIAL or not is_open(on):
            raise AttributeError(name)
        return getattr(type(on), name)(on, *arguments, **named)

    def run_call(on, *arguments, **named):
        return on(*arguments, **named)

    CALLBACKS = {
        "call": run_call,
        "next": lambda on: following(on),
        "get": lambda on, name: getattr(on, open_attribute(on, name)),
        "set": lambda on, name, value: setattr(on, open_attribute(on, name), value),
        "special": run_special,
    }

    def class_of(number):
        if number not in classes:
            classes[number] = make_class((process, number), *ask("class", None, number))
        return classes[number]

    # ------------------------------------------------------------------------------------------- names
    variables = {}  # names of values, which the solution may give others
    settled_names = {}  # functions and classes, which have the same name in the next text

    def named_function(name):
        def call(*arguments, **named):
            return ask("call", name, *arguments, **named)

        call.__name__ = call.__qualname__ = name
        return call

    def names_of_solution(wanted):
        found = {name: settled_names.get(name) or named_function(name) for name in wanted}
        variables.clear()
        asked_for = sorted(found.keys() - settled_names.keys())
        for name, (kind, value) in ask("names", None, *asked_for) if asked_for else ():
            if name in found:
                found[name] = stand_in(name, kind, value, found[name])
                if kind != "value":
                    settled_names[name] = found[name]
        return found

    def stand_in(name, kind, value, function):
        if kind == "class" and isinstance(value, RemoteType):
            place_of_class[value] = name
            named_classes[name] = value
            return value
        if kind == "value":
            variables[name] = value
            return value
        if kind == "function" and type(value) is str:
            function.__doc__ = value
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
        """What the solution's variables hold now, but for those that the test has changed itself."""
        if variables:
            for name, (kind, value) in ask("names", None, *sorted(variables)):
                if name in variables and kind == "value" and names.get(name) is variables[name]:
                    names[name] = variables[name] = value

    guards = make_guards(fail_call)
    return names_of_solution, guards, refresh, settle, delay_changes, has_failed, encode, decode
