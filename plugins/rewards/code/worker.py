# Runs model-written code in a sandbox: loads it, does with it what the tests ask for, reports what came of it. It never
# learns what is expected. Everything it needs is bound before that code runs, but nothing that it reports is trusted:
# the code may have taken this process over.
#
# A message is an operation, a stamp of 16 bytes that the reply repeats, and a body:
#   L prefix NUL source   -> L                        the code is loaded, after the complete statements of the prefix
#                            E exception              it raised while loading
#   C (what, on, args, kwargs) -> V value             what came of it
#                            M (value, changes, kept) the same, and what it changed in its arguments
#                            R exception NUL (…)      it raised: the nearest built-in exception, and error_parts()
#                            U what                   it gave a value that has no bytes
#                            K (what, on, args, kwargs, changes, kept)    first something is to be done with an object
#                                                     of the tests: a callback. Answered by A, or by C and then A
#   A (True, value) or (False, number, exception, text)   what came of that; replies as to C
#   F                     -> F                        all requests are answered
# H says that this process is ready.


def serve():
    from _thread import RLock

    receive, send = make_channel()
    waiting = RLock()  # held by the thread that the judge's next message is for
    solution = type(sys)("solution")
    names = solution.__dict__
    names["__builtins__"] = builtins
    stamp = bytes(16)

    classes = [value for value in vars(builtins).values() if type(value) is type]
    built_in = {error: error.__name__.encode() for error in classes if issubclass(error, BaseException)}
    methods = (type(serve.__get__(0)), type([].append), type([].__len__))
    bases_of = type.__dict__["__mro__"].__get__

    # Objects that the judge knows by number, for as long as this process lives.
    objects, number_of_id = [], {}
    # Objects of the tests: what stands for them here, by number, and the number by its id.
    foreign, foreign_ids = {}, {}
    # Containers of the tests: what stands for each here, and what was in it when the tests last heard of it.
    shared, shared_ids, shallow = {}, {}, {}

    def number_of(value):
        if id(value) not in number_of_id:
            number_of_id[id(value)] = len(objects)
            objects.append(value)
        return number_of_id[id(value)]

    def plain_base(kind):
        return next((base for base in PLAIN[1:-1] if issubclass(kind, base)), None)

    def plain_content(base, value):
        """By the base's own methods: those of a subclass are never called."""
        if base in (list, tuple, bytes, str):
            return base.__getitem__(value, slice(None)) if base is not tuple else (*tuple.__iter__(value),)
        if base is dict:
            return {key: dict.__getitem__(value, key) for key in dict.__iter__(value)}
        if base in (set, frozenset):
            return base(base.__iter__(value))
        return {int: int.__index__, float: float.__float__, complex: complex.__complex__}[base](value)

    def other(value):
        kind = type(value)
        if id(value) in foreign_ids:
            return numbered(b"j", foreign_ids[id(value)]), (None,)
        if issubclass(kind, type):
            if value in built_in:
                return named_tag(b"x", "error type"), ((value.__name__,),)
            return numbered(b"k", number_of(value)), ()
        base = plain_base(kind)
        if base is not None:
            return numbered(b"q", number_of(value), number_of(kind)), (plain_content(base, value),)
        return numbered(b"o", number_of(value), number_of(kind)), ()

    def known(value):
        number = shared_ids.get(id(value))
        return (b"", False) if number is None else (numbered(b"r", number), True)

    def take_shared(size, get):
        number = size()
        value = get()
        if number in shared:
            change(shared[number], value)
            value = shared[number]
        shared[number] = value
        shared_ids[id(value)] = number
        return value

    def take_foreign(size, get):
        number = size()
        described = get()
        if number not in foreign:
            foreign[number] = make_foreign(number, *described)
            foreign_ids[id(foreign[number])] = number
        return foreign[number]

    encode, decode = make_codec(
        other,
        {
            b"o": lambda size, get: objects[size()],
            b"m": take_shared,
            b"r": lambda size, get: shared[size()],
            b"j": take_foreign,
            b"n": lambda size, get: names[get()],
        },
    )

    def make_foreign(number, kind, name, doc, special):
        def forward(what, attribute=None):
            return lambda self, *a, **k: ask(what, number, a if attribute is None else (attribute, *a), k)

        if kind == "function":

            def function(*arguments, **named):
                return ask("call", number, arguments, named)

            function.__name__ = function.__qualname__ = name
            function.__doc__ = doc
            return function
        members = {method: forward("special", method) for method in special}
        members["__getattr__"] = lambda self, attribute: ask("get", number, (attribute,), {})
        members["__setattr__"] = lambda self, attribute, value: ask("set", number, (attribute, value), {})
        if kind == "iterator":
            members = {"__iter__": lambda self: self, "__next__": lambda self: next_of(ask("next", number, (), {}))}
        return type(name, (), members)()

    def contents_of(value):
        if isinstance(value, dict):
            return [*value.keys(), *value.values()]
        if type(value).__name__ == "ndarray":
            return value.tobytes()
        return bytes(value) if type(value) is bytearray else [*value]

    def same(value, before):
        now = contents_of(value)
        if type(now) is bytes:
            return now == before
        return len(now) == len(before) and all(map(lambda a, b: a is b, now, before))

    def changes():
        """What the code has changed in the tests' containers since they last heard of them, and which it has kept."""
        if not shared:
            return (), ()
        changed = []
        for number, value in shared.items():
            if number in shallow and not same(value, shallow[number]):
                changed.append((number, value.copy() if hasattr(value, "copy") else value[:]))
            if number not in shallow or changed and changed[-1][0] == number:
                shallow[number] = contents_of(value)
        return tuple(changed), tuple(shared)

    def changed_now():
        return any(not same(value, shallow[number]) for number, value in shared.items() if number in shallow)

    def remember():
        for number, value in shared.items():
            shallow[number] = contents_of(value)

    def forget():
        """Containers that nothing but this holds any more; those that hold others have lower numbers."""
        for number in sorted(shared):
            shallow.pop(number, None)
            # The dictionary, this function's variable and the call's argument.
            if len(shared) > 100 or sys.getrefcount(shared[number]) <= 2:
                del shared_ids[id(shared[number])]
                del shared[number]
            else:
                shallow[number] = contents_of(shared[number])

    def name_of(error):
        for base in bases_of(type(error)):
            if type(base) is type and base in built_in:
                return built_in[base]

    def error_parts(error):
        """Of its own class: itself. Its arguments, or else its text, and the text where it is not made of them."""
        kind = type(error)
        arguments = BaseException.__dict__["args"].__get__(error)
        if issubclass(kind, OSError) and len(arguments) == 2 and error.filename is not None:
            arguments += (error.filename,)
        own = error if kind not in built_in or id(error) in foreign_ids else None
        try:
            text = str(error)
        except BaseException:
            text = ""
        for parts in (arguments, (text,)):
            try:
                encode((parts, text))
                return own, parts, text
            except BaseException:
                pass
        return own, (), ""

    def names_of(wanted):
        return tuple((name, described(names[name])) for name in wanted if name in names)

    def described(value):
        """How the tests may use what the code defines by a name: a module or a member of one by their own."""
        if type(value) is type(sys):
            return "module", value.__name__
        kind = type(value)
        home = getattr(value, "__module__", None)
        if type(home) is str and home != "solution" and home in sys.modules:
            name = getattr(value, "__name__", None)
            if type(name) is str and getattr(sys.modules[home], name, None) is value:
                return "member", (home, name)
        if issubclass(kind, type):
            return "class", value
        if kind in functions:
            return "function", value.__doc__ if type(value.__doc__) is str else None
        try:
            encode(value)
        except BaseException:
            return "function", None
        return "value", value

    functions = (type(serve), type(len))

    def describe(kind):
        """Name, module of the library, global name, bases that the code defines, special methods, plain base,
        exception, own names, fields of a data class."""
        mro = bases_of(kind)
        own = [base for base in mro if base.__module__ == "solution"]
        special = [name for name in SPECIAL if any(name in vars(base) for base in mro if base is not object)]
        if "__hash__" in special and getattr(kind, "__hash__", None) is None:
            special.remove("__hash__")
        error = next((built_in[base].decode() for base in mro if base in built_in), "")
        base = plain_base(kind)
        name = str(kind.__name__)
        home = sys.modules.get(kind.__module__)
        return (
            name,
            kind.__module__ if home is not None and getattr(home, name, None) is kind else "",
            name if names.get(name) is kind else "",
            tuple(base for base in kind.__bases__ if base in own),
            tuple(special),
            base.__name__ if base is not None else "",
            error,
            tuple({name for base in own for name in vars(base)}) if base is not None else (),
            tuple(getattr(kind, "__dataclass_fields__", ())),
        )

    def get(on, name):
        value = getattr(on, name)
        is_method = type(value) in methods and value.__self__ is on
        return is_method, None if is_method else value

    def finished(coroutine):
        import asyncio

        return asyncio.run(coroutine)

    def copied(on, deep):
        import copy

        return copy.deepcopy(on) if deep else copy.copy(on)

    operations = {
        "call": lambda on, *a, **k: on(*a, **k),
        "method": lambda on, name, *a, **k: getattr(on, name)(*a, **k),
        "special": lambda on, name, *a: getattr(type(on), name)(on, *a),
        "get": get,
        "set": setattr,
        "delete": delattr,
        "item": lambda on, key: on[key],
        "next": following,
        "run": finished,
        "copy": copied,
        "plain": lambda on: plain_content(plain_base(type(on)), on),
        "error": lambda on: error_parts(on)[1:],
        "names": lambda on, *wanted: names_of(wanted),
        "class": lambda on, number: describe(objects[number]),
    }

    def perform(request):
        try:
            operation, on, arguments, named = decode(request)
            remember()
            if type(on) is str:
                if on not in names:
                    raise NameError(on)
                on = names[on]
            value = operations[operation](on, *arguments, **named)
            del on, arguments, named
            result = encode(value, known if shared and not changed_now() else None)
            del value
            return answer(result)
        except Unsupported as error:
            return b"U" + error.args[0].encode()
        except BaseException as error:
            return raised(error)

    def answer(result):
        if not shared:
            return b"V" + result
        changed = changes()[0]
        encoded = encode_changes(changed)
        forget()
        if not changed and not shared:
            return b"V" + result
        return b"M" + encode_tuple(result, encoded, encode(tuple(shared)))

    def encode_tuple(*parts):
        return numbered(b"t", len(parts)) + b"".join(parts)

    def encode_changes(changed):
        """Containers of the tests within others go by their number."""
        return encode_tuple(*(encode_tuple(encode(number), encode(content, known)) for number, content in changed))

    def raised(error):
        name = name_of(error)
        try:
            changed, kept = changes()
            parts = encode_tuple(encode(error_parts(error)), encode_changes(changed), encode(kept))
            return b"R" + name + b"\0" + parts
        except BaseException:
            return b"R" + name

    def ask(what, number, arguments, named):
        nonlocal stamp
        with waiting:
            changed, kept = changes()
            parts = [encode(part) for part in (what, number, arguments, named)]
            send(b"K" + stamp + encode_tuple(*parts, encode_changes(changed), encode(kept)))
            while True:
                message = receive()
                stamp = message[1:17]
                if message[:1] == b"A":
                    done, *rest = decode(message[17:])
                    if done:
                        return rest[0]
                    raise foreign_error(*rest)
                respond(message)

    def foreign_error(number, kind, text):
        """What a callback raised. If the code lets it pass, the tests get their own back."""
        error = kind(text)
        foreign[number] = error
        foreign_ids[id(error)] = number
        return error

    def respond(message):
        operation, body = message[:1], message[17:]
        if operation == b"L":
            reply = load(body)
        elif operation == b"C":
            reply = perform(body)
        else:
            reply = b"F"
        send(reply[:1] + stamp + reply[1:])

    def load(code):
        try:
            run_code(code, names, "<solution>")
        except BaseException as error:
            return b"E" + name_of(error)
        return b"L"

    prepare_for_code()
    sys.modules["solution"] = solution
    send(b"H")
    while True:
        with waiting:
            message = receive()
        stamp = message[1:17]
        respond(message)


serve()
