# Values as bytes, between the judge and the worker; wire.h describes the format. Precedes all others, with what they
# share.
import builtins
import sys
from _thread import stack_size
from struct import Struct

# Where threads are allowed, many of them have room.
stack_size(4 << 20)

# Programs may print numbers of any length: their time is limited.
sys.set_int_max_str_digits(0)

# Functions made from here on keep the builtins of now: code that runs later cannot replace them.
__builtins__ = dict(vars(builtins))


class Unsupported(Exception):
    """A value that has no bytes: too large, or not Unicode text."""


# Types of the library that go as values: where they are, and what they are made of again, as plain values.
LIBRARY = {
    "bytearray": ("builtins", lambda value: (bytes(value),)),
    "memoryview": ("builtins", lambda value: (value.tobytes(),)),
    "range": ("builtins", lambda value: (value.start, value.stop, value.step)),
    "slice": ("builtins", lambda value: (value.start, value.stop, value.step)),
    "deque": ("collections", lambda value: ([*value], value.maxlen)),
    "Counter": ("collections", lambda value: ({**value},)),
    "OrderedDict": ("collections", lambda value: ([*value.items()],)),
    "defaultdict": (
        "collections",
        lambda value: (value.default_factory, {**value}),
    ),
    "Decimal": ("decimal", lambda value: (str(value),)),
    "Fraction": ("fractions", lambda value: (value.numerator, value.denominator)),
    "date": ("datetime", lambda value: (value.year, value.month, value.day)),
    "time": ("datetime", lambda value: clock_of(value)),
    "datetime": ("datetime", lambda value: (value.year, value.month, value.day) + clock_of(value)),
    "timedelta": ("datetime", lambda value: (value.days, value.seconds, value.microseconds)),
    "timezone": ("datetime", lambda value: (value.utcoffset(None), value.tzname(None))),
    "UUID": ("uuid", lambda value: (str(value),)),
    "PurePosixPath": ("pathlib", lambda value: (str(value),)),
    "PosixPath": ("pathlib", lambda value: (str(value),)),
    "array": ("array", lambda value: (value.typecode, value.tolist())),
    "ndarray": ("numpy", lambda value: (value.dtype.str, value.shape, value.tobytes())),
}
# Views of dicts, and the two constants: builtins without a name of their own.
VIEWS = {type({}.keys()): "dict_keys", type({}.values()): "dict_values", type({}.items()): "dict_items"}
CONSTANTS = {type(NotImplemented): "NotImplemented", type(Ellipsis): "Ellipsis"}
PLAIN = (bool, int, float, complex, str, bytes, list, tuple, set, frozenset, dict, object)
NUMBERS = "biufc"  # the kinds of numpy that are made of bytes alone


def clock_of(value):
    return value.hour, value.minute, value.second, value.microsecond, value.tzinfo


def library_parts(value):
    """The name and the parts of a value of the library; nothing if it is no such value."""
    kind = type(value)
    name = kind.__name__
    if kind in CONSTANTS:
        return CONSTANTS[kind], ()
    if kind in VIEWS:
        return VIEWS[kind], ([*value],)
    module = sys.modules.get("numpy")
    if module is not None and isinstance(value, module.generic) and value.dtype.kind in NUMBERS:
        return "number", (value.dtype.str, value.tobytes())
    if name not in LIBRARY:
        return None
    home, parts_of = LIBRARY[name]
    if getattr(sys.modules.get(home), name, None) is not kind:
        return None
    if name == "ndarray" and value.dtype.kind not in NUMBERS:
        return None
    return name, parts_of(value)


def library_value(name, parts):
    if name == "dict_keys":
        return dict.fromkeys(*parts).keys()
    if name == "dict_values":
        return dict(enumerate(*parts)).values()
    if name == "dict_items":
        return dict(*parts).items()
    if name in CONSTANTS.values():
        return getattr(builtins, name)
    if name == "error type":
        return error_type(*parts)
    if name == "error":
        return error_type(parts[0])(*parts[1:])
    if name in ("ndarray", "number"):
        return numpy_value(*parts)
    return getattr(__import__(LIBRARY[name][0]), name)(*parts)


def numpy_value(kind, *rest):
    import numpy

    if numpy.dtype(kind).kind not in NUMBERS:
        raise ValueError(kind)
    values = numpy.frombuffer(rest[-1], kind)
    return values.reshape(rest[0]).copy() if len(rest) == 2 else values[0]


def error_type(name):
    found = vars(builtins)[name]
    if not issubclass(found, BaseException):
        raise ValueError(name)
    return found


# Methods that Python calls by itself, in answer to operators and built-in functions.
COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
ARITHMETIC = tuple(
    f"__{side}{name}__"
    for name in "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or".split()
    for side in ("", "r", "i")
)
IN_PLACE = ARITHMETIC[2::3]
CONVERSIONS = tuple(f"__{name}__" for name in "abs int float complex round index trunc floor ceil bool len".split())
SPECIAL = (
    *COMPARISONS,
    *ARITHMETIC,
    *CONVERSIONS,
    *(f"__{name}__" for name in "neg pos invert hash str repr format bytes getitem setitem delitem contains".split()),
    *(f"__{name}__" for name in "iter next reversed missing call enter exit".split()),
)

MUTABLE = {list, dict, set, bytearray}
MUTABLE_NAMES = {"deque", "Counter", "OrderedDict", "defaultdict", "array", "ndarray"}


def is_shared(kind):
    """Whether what the other side changes in a value of this type is changed here too."""
    return kind in MUTABLE or kind.__name__ in MUTABLE_NAMES and kind.__module__ in ("collections", "array", "numpy")


def change(value, content):
    """Makes `value` equal `content`, which has its type."""
    if type(value) is not type(content):
        raise TypeError("another type")
    if isinstance(value, dict):
        value.clear()
        for key in content:
            value[key] = content[key]
    elif type(value) is set:
        value.clear()
        value.update(content)
    elif type(value).__name__ == "deque":
        value.clear()
        value.extend(content)
    elif type(value).__name__ == "ndarray":
        value[...] = content
    else:
        value[:] = content


def make_codec(other, readers_of_others):
    """`other(value)`: the bytes before, and the values in, what is neither plain nor of the library.
    `readers_of_others`: for tags of such values, functions of (size, get)."""
    max_bytes, max_nodes, max_depth, max_int_bytes = 1 << 20, 100_000, 64, 1 << 14
    size_of, float_of, complex_of = Struct("<I"), Struct("<d"), Struct("<dd")
    types = {t.__name__: t for t in PLAIN}
    names = {t: name for name, t in types.items()}
    tags = {list: b"l", tuple: b"t", set: b"S", frozenset: b"Z", dict: b"d"}
    leaves = {int, float, complex, str, bytes}

    def encode(value, share=None):
        """`share(container)`: the bytes that stand before it, and whether they stand for it."""
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
            elif kind in leaves:
                put_leaf(kind, value)
            elif share is not None and is_shared(kind):
                head, known = share(value)
                out.extend(head)
                if not known:
                    put_parts(kind, value, depth)
            else:
                put_parts(kind, value, depth)

        def put_parts(kind, value, depth):
            if kind in tags:
                out.extend(tags[kind] + size_of.pack(len(value)))
                if kind is dict:
                    for key, item in value.items():
                        put(key, depth + 1)
                        put(item, depth + 1)
                else:
                    for item in value:
                        put(item, depth + 1)
                return
            if kind is type and value in names:
                out.extend(named_tag(b"y", names[value]))
                return
            parts = library_parts(value)
            if parts is not None:
                out.extend(named_tag(b"x", parts[0]))
                return put(parts[1], depth + 1)
            head, rest = other(value)
            out.extend(head)
            for item in rest:
                put(item, depth + 1)

        def put_leaf(kind, value):
            if kind is int:
                length = value.bit_length() // 8 + 1
                if length > max_int_bytes:
                    raise Unsupported("an int of more than 39456 digits")
                out.extend(b"i" + size_of.pack(length) + value.to_bytes(length, "little", signed=True))
            elif kind is float:
                out.extend(b"f" + float_of.pack(value))
            elif kind is complex:
                out.extend(b"c" + complex_of.pack(value.real, value.imag))
            else:
                text = kind is str
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
            b"x": lambda: library_value(take(size()).decode(), get()),
        }

        def get():
            tag = take(1)
            if tag in readers:
                return readers[tag]()
            return readers_of_others[tag](size, get)

        return get()

    return encode, decode


def numbered(tag, *numbers):
    return tag + b"".join(number.to_bytes(4, "little") for number in numbers)


def named_tag(tag, name):
    return numbered(tag, len(name)) + name.encode()


def following(on, *sent):
    """The next item, or the value at the end: (is there one, which)."""
    try:
        return True, on.send(*sent) if sent else next(on)
    except StopIteration as end:
        return False, end.value


def next_of(answer):
    """What following() said, to Python."""
    more, value = answer
    if not more:
        raise StopIteration(value)
    return value


# Messages are four bytes of length and as many of content, in on descriptor 3 and out on descriptor 4.
def make_channel():
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
