# Runs model-written code in a sandbox: loads it, calls its functions, reports what they return. It never learns what is
# expected. Everything it needs is bound before that code runs, but nothing that it reports is trusted: the code may have
# taken this process over.
#
# A message is an operation, a stamp of 16 bytes that the reply repeats, and a body:
#   L source              -> L                     the code is loaded
#                            E exception           it raised while loading
#   C (name, args, kwargs) -> V value              what the function returned
#                            R exception           it raised, by the name of the nearest built-in exception
#                            U what                it returned a value that has no bytes
#   F                     -> F                     all requests are answered
# H says that this process is ready.


def serve(
    type=type, str=str, compile=compile, exec=exec, BaseException=BaseException, NameError=NameError, Unsupported=Unsupported
):
    import builtins
    import random
    import sys

    encode, decode = make_codec()
    receive, send = make_channel()
    classes = [value for value in vars(builtins).values() if type(value) is type]
    built_in = {error: error.__name__.encode() for error in classes if issubclass(error, BaseException)}
    bases_of = type.__dict__["__mro__"].__get__

    def name_of(error):
        for base in bases_of(type(error)):
            if type(base) is type and base in built_in:
                return built_in[base]

    def stop(code=None):
        raise SystemExit(code)

    builtins.exit = builtins.quit = stop  # as in an interactive Python; there is no `site` here
    random.seed(0)
    solution = type(sys)("solution")
    sys.modules["solution"] = solution
    names = solution.__dict__

    def load(source):
        try:
            exec(compile(str(source, "utf-8"), "<solution>", "exec", 0, True), names)
        except BaseException as error:
            return b"E", name_of(error)
        return b"L", b""

    def call(request):
        name, arguments, named = decode(request)
        try:
            if name not in names:
                raise NameError(name)
            return b"V", encode(names[name](*arguments, **named))
        except Unsupported as error:
            return b"U", str.encode(error.args[0])
        except BaseException as error:
            return b"R", name_of(error)

    send(b"H")
    while True:
        message = receive()
        operation, stamp, body = message[:1], message[1:17], message[17:]
        if operation == b"L":
            kind, answer = load(body)
        elif operation == b"C":
            kind, answer = call(body)
        else:
            kind, answer = b"F", b""
        send(kind + stamp + answer)


serve()
