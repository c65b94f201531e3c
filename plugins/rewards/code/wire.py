# Values as bytes, between the judge and the worker; wire.h describes the format. Precedes worker.py and judge.py.


class Unsupported(Exception):
    """A value that has no bytes: not made of plain types, or too large."""


# Builtins are parameters, so that code that runs later cannot replace them.
def make_codec(
    type=type, len=len, issubclass=issubclass, bool=bool, int=int, float=float, complex=complex, str=str, bytes=bytes,
    list=list, tuple=tuple, dict=dict, set=set, frozenset=frozenset, object=object, range=range, bytearray=bytearray,
    UnicodeEncodeError=UnicodeEncodeError, Unsupported=Unsupported,
):
    from struct import Struct

    max_bytes, max_nodes, max_depth, max_int_bytes = 1 << 20, 100_000, 64, 1701
    size_of, float_of, complex_of = Struct("<I"), Struct("<d"), Struct("<dd")
    types = {t.__name__: t for t in (bool, int, float, complex, str, bytes, list, tuple, set, frozenset, dict, object)}
    names = {t: name for name, t in types.items()}
    name_of = type.__dict__["__name__"].__get__
    everything = slice(None)

    # The contents of a container as a list and a number as a plain number, by the base type's own methods: those of a
    # subclass are never called, and the result is of the plain type.
    plain = {
        int: lambda value: int.__index__(value),
        float: lambda value: float.__float__(value),
        complex: lambda value: complex.__complex__(value),
        str: lambda value: str.__str__(value),
        bytes: lambda value: bytes.__getitem__(value, everything),
        list: lambda value: list.__getitem__(value, everything),
        tuple: lambda value: [*tuple.__iter__(value)],
        set: lambda value: [*set.__iter__(value)],
        frozenset: lambda value: [*frozenset.__iter__(value)],
        dict: lambda value: [part for pair in dict.items(value) for part in pair],
    }
    tags = {list: b"l", tuple: b"t", set: b"S", frozenset: b"Z", dict: b"d"}

    def base_of(kind):
        if type(kind) is type and kind in plain:
            return kind
        for base in plain:
            if issubclass(kind, base):
                return base
        raise Unsupported(name_of(kind))

    def encode(value):
        out = bytearray()
        nodes = 0

        def put(value, depth):
            nonlocal nodes
            nodes += 1
            if nodes > max_nodes or depth > max_depth or len(out) > max_bytes:
                raise Unsupported("a value that is too large or nested too deep")
            kind = type(value)
            if value is None:
                out.extend(b"N")
            elif kind is bool:
                out.extend(b"T" if value else b"F")
            elif kind is type and value in names:
                name = names[value].encode()
                out.extend(b"y" + size_of.pack(len(name)) + name)
            else:
                base = base_of(kind)
                put_plain(base, plain[base](value), depth)

        def put_plain(base, value, depth):
            if base in tags:
                out.extend(tags[base] + size_of.pack(len(value) // 2 if base is dict else len(value)))
                for item in value:
                    put(item, depth + 1)
            elif base is int:
                length = value.bit_length() // 8 + 1
                if length > max_int_bytes:
                    raise Unsupported("an int of more than 4096 digits")
                out.extend(b"i" + size_of.pack(length) + value.to_bytes(length, "little", signed=True))
            elif base is float:
                out.extend(b"f" + float_of.pack(value))
            elif base is complex:
                out.extend(b"c" + complex_of.pack(value.real, value.imag))
            else:
                text = base is str
                if text:
                    try:
                        value = value.encode()
                    except UnicodeEncodeError:
                        raise Unsupported("a str that is not Unicode text") from None
                out.extend((b"s" if text else b"b") + size_of.pack(len(value)))
                out.extend(value)

        put(value, 1)
        if len(out) > max_bytes:
            raise Unsupported("a value of more than 1 MiB")
        return bytes(out)

    # Only for bytes that the parent has checked.
    def decode(data):
        at = 0

        def take(count):
            nonlocal at
            at += count
            return data[at - count : at]

        def size():
            return size_of.unpack(take(4))[0]

        def items():
            return [get() for _ in range(size())]

        def pairs():
            return [(get(), get()) for _ in range(size())]

        readers = {
            b"N": lambda: None,
            b"T": lambda: True,
            b"F": lambda: False,
            b"i": lambda: int.from_bytes(take(size()), "little", signed=True),
            b"f": lambda: float_of.unpack(take(8))[0],
            b"c": lambda: complex(*complex_of.unpack(take(16))),
            b"s": lambda: take(size()).decode(),
            b"b": lambda: take(size()),
            b"l": items,
            b"t": lambda: tuple(items()),
            b"S": lambda: set(items()),
            b"Z": lambda: frozenset(items()),
            b"d": lambda: dict(pairs()),
            b"y": lambda: types[take(size()).decode()],
        }

        def get():
            return readers[take(1)]()

        return get()

    return encode, decode


# Messages are four bytes of length and as many of content, in on descriptor 3 and out on descriptor 4.
def make_channel(len=len, int=int, bytes=bytes, bytearray=bytearray, EOFError=EOFError):
    from posix import read, write

    def take(count):
        data = bytearray()
        while len(data) < count:
            piece = read(3, count - len(data))
            if not piece:
                raise EOFError
            data += piece
        return bytes(data)

    def receive():
        return take(int.from_bytes(take(4), "little"))

    def send(content):
        data = len(content).to_bytes(4, "little") + content
        while data:
            data = data[write(4, data) :]

    return receive, send
