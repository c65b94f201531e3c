// Honest programs of every kind, with tests as a data set might hold them: each must pass. The table of kinds in the
// reward's README names these tests.

#include <drift/error.h>

#include <gmock/gmock.h>

#include <filesystem>
#include <map>

#include "tests/support/code.h"
#include "tests/support/support.h"

namespace drift {
namespace {

using test::judge_code;
using testing::Values;

struct Honest {
  const char* name;
  std::string code;
  std::vector<std::string> tests;
};

void PrintTo(const Honest& honest, std::ostream* out) { *out << honest.name; }
std::string name_of(const testing::TestParamInfo<Honest>& info) { return info.param.name; }

class CodeHonest : public testing::TestWithParam<Honest> {
 protected:
  void SetUp() override {
    if (!test::missing_sandbox().empty()) GTEST_SKIP() << test::missing_sandbox();
  }
};

TEST_P(CodeHonest, Passes) {
  const RewardResult result = judge_code(GetParam().code, GetParam().tests);
  EXPECT_DOUBLE_EQ(result.value, 1) << result.reason;
}

const std::string kStack = R"(
class Stack:
    LIMIT = 5
    def __init__(self, items=()):
        self.items = list(items)
    def push(self, x):
        self.items.append(x)
        return self
    def pop(self):
        if not self.items: raise IndexError('empty')
        return self.items.pop()
    @property
    def top(self): return self.items[-1]
    @top.setter
    def top(self, value): self.items[-1] = value
    @classmethod
    def of(cls, *items): return cls(items)
    @staticmethod
    def name(): return 'stack'
    def __len__(self): return len(self.items)
    def __iter__(self): return iter(self.items)
    def __contains__(self, x): return x in self.items
    def __getitem__(self, i): return self.items[i]
    def __eq__(self, other): return isinstance(other, Stack) and self.items == other.items
    def __repr__(self): return f'Stack({self.items})'
if __name__ == '__main__':
    print(Stack.of(*map(int, input().split())))
)";

const std::string kVector = R"(
class Vector:
    def __init__(self, x, y): self.x, self.y = x, y
    def __add__(self, other): return Vector(self.x + other.x, self.y + other.y)
    def __mul__(self, k): return Vector(self.x * k, self.y * k)
    __rmul__ = __mul__
    def __matmul__(self, other): return self.x * other.x + self.y * other.y
    def __neg__(self): return Vector(-self.x, -self.y)
    def __abs__(self): return (self.x ** 2 + self.y ** 2) ** 0.5
    def __eq__(self, other): return (self.x, self.y) == (other.x, other.y)
    def __lt__(self, other): return abs(self) < abs(other)
    def __hash__(self): return hash((self.x, self.y))
    def __str__(self): return f'<{self.x} {self.y}>'
    def __iter__(self): return iter((self.x, self.y))
    def __call__(self, k=1): return self.x * k
    def __setitem__(self, i, value): self.y = value
    def __enter__(self): return self
    def __exit__(self, *error):
        self.x = 0
        return False
)";

const std::string kRecords = R"(
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import NamedTuple
from abc import ABC, abstractmethod
@dataclass(order=True)
class Item:
    name: str
    price: int = 0
    tags: list = field(default_factory=list)
class Color(Enum):
    RED = 1
    BLUE = 'b'
class Level(IntEnum):
    LOW = 1
class Pair(NamedTuple):
    left: int
    right: int = 2
class Shape(ABC):
    @abstractmethod
    def area(self): ...
class Square(Shape):
    def __init__(self, side): self.side = side
    def area(self): return self.side ** 2
def cheapest(items): return min(items, key=lambda item: item.price)
def favourite(): return Color.BLUE
def label(color): return color.name.lower()
def shapes(): return [Square(1), Square(2)]
)";

INSTANTIATE_TEST_SUITE_P(
    Classes, CodeHonest,
    Values(
        Honest{"Methods",
               kStack,
               {"s = Stack()\ns.push(1).push(2)\nassert s.pop() == 2\nassert s.top == 1\nassert s.push(4) is s",
                "s = Stack([1])\ns.top = 7\nassert s.items == [7] and s.top == 7",
                "assert Stack.of(1, 2) == Stack([1, 2]) and Stack.name() == 'stack' and Stack.LIMIT == 5"}},
        Honest{"Containers",
               kStack,
               {"s = Stack([3, 4])\nassert len(s) == 2 and 3 in s and 5 not in s and s[1] == 4 and list(s) == [3, 4]",
                "assert not Stack() and sorted(Stack([2, 1])) == [1, 2] and [*Stack('ab')] == ['a', 'b']"}},
        Honest{"Comparisons",
               kStack,
               {"assert Stack([1]) == Stack([1]) and Stack() != Stack([1]) and Stack([1]) != [1]",
                "s = Stack()\nassert isinstance(s, Stack) and type(s) is Stack and repr(s) == 'Stack([])'",
                "assert not hasattr(Stack(), 'peek') and getattr(Stack(), 'size', 3) == 3"}},
        Honest{
            "Errors",
            kStack,
            {"try:\n    Stack().pop()\n    assert False\nexcept IndexError as error:\n    assert str(error) == 'empty'",
             "try:\n    Stack().missing\nexcept AttributeError:\n    caught = True\nassert caught"}},
        Honest{"Operators",
               kVector,
               {"assert Vector(1, 2) + Vector(3, 4) == Vector(4, 6)",
                "assert Vector(1, 2) * 3 == Vector(3, 6) and 2 * Vector(1, 2) == Vector(2, 4)",
                "assert (Vector(1, 2) * 2).y == 4 and -Vector(1, 2) == Vector(-1, -2)",
                "assert abs(Vector(3, 4)) == 5 and Vector(1, 2) @ Vector(3, 4) == 11",
                "v = Vector(1, 1)\nv += Vector(1, 0)\nassert v == Vector(2, 1)\nv[0] = 9\nassert v.y == 9"}},
        Honest{"Protocols",
               kVector,
               {"x, y = Vector(1, 2)\nassert (x, y) == (1, 2)", "assert Vector(2, 1)(k=4) == 8",
                "assert len({Vector(1, 2), Vector(1, 2)}) == 1 and {Vector(1, 2): 'a'}[Vector(1, 2)] == 'a'",
                "assert min([Vector(3, 4), Vector(1, 1)]) == Vector(1, 1) and sorted([Vector(2, 0), Vector(1, "
                "0)])[0].x == 1",
                "assert str(Vector(1, 2)) == '<1 2>' and f'{Vector(1, 2)}!' == '<1 2>!'",
                "with Vector(5, 5) as v:\n    assert v.x == 5\nassert v.x == 0",
                "import copy\nv = Vector(1, 2)\nw = copy.copy(v)\nw.x = 8\nassert v.x == 1 and w.x == 8"}},
        Honest{"Dataclasses",
               kRecords,
               {"assert Item('a', 1) == Item('a', 1) and Item('a') != Item('b') and Item('a') < Item('b')",
                "item = Item('a')\nitem.price = 5\nassert item.price == 5 and vars(item) == {'name': 'a', 'price': 5, "
                "'tags': []}",
                "assert repr(Item('a', 1)) == \"Item(name='a', price=1, tags=[])\"",
                "assert cheapest([Item('a', 3), Item('b', 2)]).name == 'b'",
                "from dataclasses import asdict, replace\nassert asdict(Item('a')) == {'name': 'a', 'price': 0, "
                "'tags': []}\n"
                "assert replace(Item('a'), price=2) == Item('a', 2)"}},
        Honest{"Enums",
               kRecords,
               {"assert favourite() == Color.BLUE and favourite() is Color.BLUE and favourite() != Color.RED",
                "assert Color.RED.value == 1 and Color['BLUE'].name == 'BLUE' and Color(1) is Color.RED",
                "assert [color.name for color in Color] == ['RED', 'BLUE'] and len(Color) == 2 and Color.RED in Color",
                "assert label(Color.RED) == 'red' and Level.LOW == 1 and Level.LOW < 2"}},
        Honest{"NamedTuples",
               kRecords,
               {"p = Pair(1)\nassert p == (1, 2) and p.left == 1 and p._asdict() == {'left': 1, 'right': 2}",
                "left, right = Pair(3, 4)\nassert left + right == 7 and Pair(3, 4) == Pair(3, 4) and isinstance(p := "
                "Pair(1), tuple)"}},
        Honest{"Inheritance",
               kRecords,
               {"assert isinstance(Square(2), Shape) and issubclass(Square, Shape) and Square(3).area() == 9",
                "try:\n    Shape()\n    assert False\nexcept TypeError:\n    pass",
                "assert [shape.area() for shape in shapes()] == [1, 4] and type(shapes()[0]).__name__ == 'Square'"}},
        Honest{"ClassesThatExtendPlainTypes",
               "class Bag(list):\n    def total(self): return sum(self)\n"
               "class Doubled(dict):\n    def __missing__(self, key): return key * 2\n"
               "class Upper(str):\n    def shout(self): return self + '!'\n",
               {"b = Bag([1, 2])\nb.append(3)\nassert b == [1, 2, 3] and b.total() == 6 and b[0] == 1 and len(b) == 3",
                "d = Doubled(a=1)\nd['z'] = 5\nassert d['q'] == 'qq' and d == {'a': 1, 'z': 5} and 'z' in d",
                "assert Upper('a') == 'a' and Upper('a').shout() == 'a!' and Upper('ab').upper() == 'AB'"}},
        Honest{
            "Links",
            "class Node:\n    def __init__(self, value, next=None): self.value, self.next = value, next\n"
            "def reverse(head):\n    before = None\n    while head: head.next, before, head = before, head, head.next\n"
            "    return before\n",
            {"n = reverse(Node(1, Node(2, Node(3))))\nvalues = []\nwhile n:\n    values.append(n.value)\n    n = "
             "n.next\n"
             "assert values == [3, 2, 1]"}},
        Honest{"Variables",
               "count = 0\nlog = []\ndef f():\n    global count\n    count += 1\n    log.append(count)\n",
               {"f()\nassert count == 1\nf()\nassert count == 2 and log == [1, 2]",
                "f()\ncount = count + 10\nf()\nassert count >= 11"}}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    InPlace, CodeHonest,
    Values(
        Honest{"Lists",
               "def f(a):\n    a.sort()\n",
               {"a = [3, 1, 2]\nf(a)\nassert a == [1, 2, 3]", "a = [2, 1]\nassert f(a) is None and a == [1, 2]",
                "assert (lambda a: (f(a), a)[1])([2, 1]) == [1, 2]"}},
        Honest{"ListsWithinLists",
               "def f(rows):\n    for row in rows: row.reverse()\n    rows[0].append(9)\n    rows.append([7])\n",
               {"rows = [[1, 2], [3, 4]]\nfirst = rows[0]\nf(rows)\nassert rows == [[2, 1, 9], [4, 3], [7]]\n"
                "assert first is rows[0]"}},
        Honest{"OtherContainers",
               "def f(s, b, q, c, d, o):\n    s.add(3)\n    b.extend(b'x')\n    q.appendleft(0)\n    c['a'] += 2\n"
               "    d['x'].append(1)\n    o.move_to_end('a')\n",
               {"from collections import *\ns, b, q, c = {1}, bytearray(b'y'), deque([1], maxlen=3), Counter('a')\n"
                "d, o = defaultdict(list), OrderedDict(a=1, b=2)\nf(s, b, q, c, d, o)\n"
                "assert s == {1, 3} and b == b'yx' and q == deque([0, 1]) and q.maxlen == 3 and c == {'a': 3}\n"
                "assert d == {'x': [1]} and list(o) == ['b', 'a']"}},
        Honest{"WithAResult",
               "def f(a):\n    while 0 in a: a.remove(0)\n    return len(a)\n",
               {"a = [0, 1, 0]\nassert f(a) == 1\nassert a == [1]", "a = [0, 1, 0]\nassert f(a) == 1 and a == [1]",
                "a = [1, 0, 2]\nk = f(a)\nassert a[:k] == [1, 2]"}},
        Honest{"ALoopOfCases",
               "def f(a):\n    a.reverse()\n",
               {"for a, want in [([1, 2], [2, 1]), ([], [])]:\n    f(a)\n    assert a == want"}},
        Honest{
            "KeptByAnObject",
            "class Shop:\n    def __init__(self, stock): self.stock = stock\n    def add(self, x): "
            "self.stock.append(x)\n",
            {"stock = []\nshop = Shop(stock)\nshop.add(1)\nassert stock == [1]\nshop.add(2)\nassert stock == [1, 2]"}},
        Honest{"TheSameObject",
               "def f(a):\n    a.append(1)\n    return a\ndef g(a): return a\n",
               {"a = []\nassert f(a) == [1]\nassert a == [1]", "a = [2]\nassert g(a) is a"}},
        Honest{"BeforeAnError",
               "def f(a):\n    a.append(1)\n    raise ValueError\n",
               {"a = []\ntry:\n    f(a)\nexcept ValueError:\n    pass\nassert a == [1]"}},
        Honest{"ATestsNamespace",
               "def f(p):\n    p.x += 1\n",
               {"from types import SimpleNamespace\np = SimpleNamespace(x=1)\nf(p)\nassert p.x == 2"}},
        Honest{"TheTestsOwnObjects",
               "def total(node):\n    return node.value + total(node.next) if node else 0\n"
               "def mark(node): node.value = 9\ndef largest(values): return max(values)\n",
               {"class Node:\n    def __init__(self, value, next=None): self.value, self.next = value, next\n"
                "assert total(Node(1, Node(2))) == 3\nn = Node(1)\nmark(n)\nassert n.value == 9",
                "class Card:\n    def __init__(self, rank): self.rank = rank\n"
                "    def __lt__(self, other): return self.rank < other.rank\n"
                "    def __gt__(self, other): return self.rank > other.rank\n"
                "assert largest([Card(1), Card(5), Card(2)]).rank == 5"}}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Iterators, CodeHonest,
    Values(
        Honest{"Generators",
               "def f(n):\n    for i in range(n): yield i\n",
               {"assert list(f(3)) == [0, 1, 2]",
                "g = f(2)\nassert next(g) == 0\nassert next(g) == 1\nassert next(g, None) is None",
                "assert sum(f(4)) == 6 and [*zip(f(2), 'ab')] == [(0, 'a'), (1, 'b')] and max(f(3)) == 2",
                "import types\nassert isinstance(f(1), types.GeneratorType) and iter(g := f(1)) is g"}},
        Honest{
            "Endless",
            "import itertools\ndef f():\n    a, b = 0, 1\n    while True:\n        yield a\n        a, b = b, a + b\n"
            "def count(n): return itertools.count(n)\ndef cycle(a): return itertools.cycle(a)\n",
            {"from itertools import islice, takewhile\nassert list(islice(f(), 6)) == [0, 1, 1, 2, 3, 5]\n"
             "assert list(takewhile(lambda x: x < 4, f())) == [0, 1, 1, 2, 3]",
             "g = f()\nassert [next(g) for _ in range(4)] == [0, 1, 1, 2]",
             "assert next(count(5)) == 5 and [x for x, _ in zip(cycle('ab'), range(3))] == ['a', 'b', 'a']"}},
        Honest{"Sent",
               "def f():\n    total = 0\n    while True: total += (yield total) or 0\n",
               {"g = f()\nnext(g)\nassert g.send(5) == 5\nassert g.send(2) == 7"}},
        Honest{
            "Guarded",
            "def f(n):\n    for i in range(n): yield i\ndef g(x): return x + 1\n",
            {"assert list(map(g, [1])) == [2] and isinstance(map(g, []), map) and [*filter(g, [1])] == [1]",
             "from itertools import *\nassert [*takewhile(lambda x: x < 2, f(5))] == [0, 1] and [*starmap(pow, f(0))] "
             "== []\n"
             "assert [*accumulate(f(3), func=max, initial=1)] == [1, 1, 1, 2]\n"
             "assert [(k, [*v]) for k, v in groupby(f(3), key=lambda x: x // 2)] == [(0, [0, 1]), (1, [2])]",
             "i = f(2)\nassert list(iter(i.__next__, 7)) == [0, 1]",
             "class Pairs:\n    def __init__(self, i): self.i = i\n    def __iter__(self): return self\n"
             "    def __next__(self): return next(self.i), 0\nassert list(Pairs(f(2))) == [(0, 0), (1, 0)]",
             "i = f(1)\nnext(i)\nimport unittest\nunittest.TestCase().assertRaises(StopIteration, lambda: next(i))"}},
        Honest{"Thrown",
               "def f():\n    found = 0\n    while True:\n        try: yield found\n        except ValueError: found "
               "+= 1\n",
               {"g = f()\nassert next(g) == 0\nassert g.throw(ValueError) == 1\nassert next(g) == 1"}},
        Honest{"BuiltInIterators",
               "def f(a): return iter(a)\ndef g(a): return map(str, a)\ndef h(a): return reversed(a)\n",
               {"assert list(f([1, 2])) == [1, 2] and list(g([1])) == ['1'] and list(h([1, 2])) == [2, 1]"}},
        Honest{"IteratorClasses",
               "class Down:\n    def __init__(self, n): self.n = n\n    def __iter__(self): return self\n"
               "    def __next__(self):\n        if self.n == 0: raise StopIteration\n        self.n -= 1\n        "
               "return self.n\n"
               "class Squares:\n    def __len__(self): return 3\n    def __getitem__(self, i):\n"
               "        if i > 2: raise IndexError\n        return i * i\n",
               {"assert list(Down(3)) == [2, 1, 0]",
                "d = Down(1)\nnext(d)\ntry:\n    next(d)\n    assert False\nexcept StopIteration:\n    pass",
                "assert list(Squares()) == [0, 1, 4] and 4 in Squares() and len(Squares()) == 3"}},
        Honest{"AsArguments",
               "def f(values): return [next(values), sum(values)]\n",
               {"assert f(iter([1, 2, 3])) == [1, 5]", "assert f(x * x for x in (1, 2)) == [1, 4]"}}),
    name_of);

const std::string kLibrary = R"(
from collections import *
from datetime import *
from decimal import Decimal
from fractions import Fraction
Point = namedtuple('Point', 'x y')
def same(x): return x
def queue(): return deque([1, 2], maxlen=2)
def price(): return Decimal('1.10')
def third(): return Fraction(1, 3)
def day(): return date(2024, 2, 29)
def moment(): return datetime(2024, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
def letters(s): return Counter(s)
def groups():
    found = defaultdict(list)
    found[1].append(2)
    return found
def ordered(): return OrderedDict(a=1, b=2)
def point(): return Point(1, 2)
def raw(): return bytearray(b'ab')
def view(b): return memoryview(b)[1:]
def nested(a):
    found = defaultdict(lambda: defaultdict(int))
    for x, y in a: found[x][y] += 1
    return found
def keys(): return {'a': 1}.keys()
)";

INSTANTIATE_TEST_SUITE_P(
    TypesOfTheLibrary, CodeHonest,
    Values(
        Honest{"Collections",
               kLibrary,
               {"from collections import *\nassert queue() == deque([1, 2]) and type(queue()) is deque and "
                "queue().maxlen == 2",
                "from collections import Counter\nassert letters('aab') == Counter('aab') and "
                "letters('aab').most_common(1) == [('a', 2)]",
                "assert groups() == {1: [2]} and groups()[7] == []",
                "assert nested(['ab', 'ab']) == {'a': {'b': 2}} and nested([])['q'] == {} and view(b'ab') == b'b'",
                "from collections import defaultdict\nd = defaultdict(lambda: 7)\nassert same(d)[1] == 7",
                "assert list(ordered().items()) == [('a', 1), ('b', 2)]",
                "assert point() == (1, 2) == Point(1, 2) and point().x == 1 and point()._replace(x=5) == (5, 2)",
                "assert keys() == {'a'} and sorted(keys()) == ['a']"}},
        Honest{"Numbers",
               kLibrary,
               {"from decimal import Decimal\nassert price() == Decimal('1.1') and str(price()) == '1.10'",
                "from fractions import Fraction\nassert third() == Fraction(2, 6) and third() + 1 == Fraction(4, 3)",
                "assert same(1 + 2j) == 1 + 2j and same(frozenset({1})) == {1} and same({1, 2}) == {2, 1}"}},
        Honest{"Times",
               kLibrary,
               {"import datetime\nassert day() == datetime.date(2024, 2, 29) and day().weekday() == 3",
                "from datetime import *\nassert moment() == datetime(2024, 1, 2, 3, 4, 5, tzinfo=timezone.utc)\n"
                "assert (moment() - moment()).days == 0 and moment() - timedelta(days=1) < moment()"}},
        Honest{
            "AsArguments",
            kLibrary,
            {"import array, collections, datetime, decimal, fractions\n"
             "for x in [datetime.date(1, 2, 3), datetime.time(1), datetime.timedelta(hours=5), decimal.Decimal('2'),\n"
             "          fractions.Fraction(2, 4), collections.deque([1], 2), collections.Counter('aa'), range(1, 9, "
             "2),\n"
             "          bytearray(b'q'), collections.OrderedDict(a=1), array.array('i', [1]), slice(1, 2), ..., 1j]:\n"
             "    assert same(x) == x and type(same(x)) is type(x)"}},
        Honest{"NamesThatOnlyTheSolutionImports",
               kLibrary + "import math\nfrom math import isclose\n",
               {"assert price() == Decimal('1.1') and isinstance(queue(), deque)",
                "assert math.isclose(third(), 1 / 3) and isclose(third(), 1 / 3)"}}),
    name_of);

const std::string kCallbacks = R"(
import functools
def apply(f, x): return f(x)
def each(values, f):
    for x in values: f(x)
def compose(*functions): return lambda x: functools.reduce(lambda y, f: f(y), functions, x)
def ordered(values, key=None): return sorted(values, key=key)
def memoize(f):
    known = {}
    @functools.wraps(f)
    def wrapper(*arguments):
        if arguments not in known: known[arguments] = f(*arguments)
        return known[arguments]
    return wrapper
def adder(n): return lambda x: x + n
def counter():
    count = 0
    def next_one():
        nonlocal count
        count += 1
        return count
    return next_one
)";

INSTANTIATE_TEST_SUITE_P(
    Callbacks, CodeHonest,
    Values(
        Honest{"Called",
               kCallbacks,
               {"assert apply(lambda x: x * 2, 4) == 8 and apply(len, 'abc') == 3 and apply(str, 5) == '5'",
                "assert ordered(['bb', 'a'], key=len) == ['a', 'bb'] and ordered([1, 2], key=lambda x: -x) == [2, 1]",
                "import operator\nassert compose(operator.neg, abs, lambda x: x + 1)(5) == 6"}},
        Honest{"Recorded",
               kCallbacks,
               {"seen = []\neach([1, 2], seen.append)\nassert seen == [1, 2]",
                "from unittest.mock import Mock\nm = Mock(return_value=3)\nassert apply(m, 4) == "
                "3\nm.assert_called_once_with(4)",
                "from unittest.mock import Mock\nm = Mock()\nm.find.return_value = 3\nassert apply(lambda x: "
                "x.find(2), m) == 3"}},
        Honest{"Decorated",
               kCallbacks,
               {"calls = []\n@memoize\ndef square(x):\n    calls.append(x)\n    return x * x\n"
                "assert square(3) == 9 and square(3) == 9\nassert calls == [3] and square.__name__ == 'square'",
                "@memoize\ndef fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nassert fib(30) == 832040"}},
        Honest{"Methods",
               kCallbacks,
               {"class A:\n    n = 0\n    @memoize\n    def add(self, x):\n        self.n += x\n        return self.n\n"
                "a = A()\nassert a.add(2) == 2 and a.add(2) == 2 and a.n == 2",
                "@memoize\ndef square(x):\n    'Squares.'\nassert square.__doc__ == 'Squares.'",
                "import functools\nassert ordered([1, 3, 2], functools.cmp_to_key(lambda a, b: b - a)) == [3, 2, 1]"}},
        Honest{"Returned",
               kCallbacks,
               {"add = adder(2)\nassert add(3) == 5 and adder(1)(1) == 2 and callable(add)",
                "c = counter()\nassert c() == 1 and c() == 2\nassert counter()() == 1"}},
        Honest{"ThatRaise",
               kCallbacks,
               {"def boom(x): raise ValueError('no')\ntry:\n    apply(boom, 1)\n    assert False\nexcept ValueError as "
                "error:\n"
                "    assert str(error) == 'no'"}}),
    name_of);

const std::string kErrors = R"(
class BankError(Exception):
    def __init__(self, needed):
        super().__init__(f'need {needed}')
        self.needed = needed
class Overdrawn(BankError): pass
def f(x):
    if x < 0: raise ValueError('negative')
    if x == 0: raise Overdrawn(7)
    raise KeyError('k')
def run(action): return action()
def parse(text):
    import json
    return json.loads(text)
)";

INSTANTIATE_TEST_SUITE_P(
    Exceptions, CodeHonest,
    Values(Honest{"BuiltIn",
                  kErrors,
                  {"try:\n    f(-1)\n    assert False\nexcept ValueError as error:\n    assert str(error) == "
                   "'negative' and error.args == ('negative',)",
                   "caught = None\ntry:\n    f(1)\nexcept LookupError as error:\n    caught = error\nassert "
                   "repr(caught) == \"KeyError('k')\""}},
           Honest{"ItsOwn",
                  kErrors,
                  {"try:\n    f(0)\n    assert False\nexcept BankError as error:\n"
                   "    assert error.needed == 7 and str(error) == 'need 7' and isinstance(error, Overdrawn)",
                   "assert issubclass(Overdrawn, BankError) and issubclass(BankError, Exception)"}},
           Honest{"OfACallback",
                  kErrors,
                  {"class Mine(Exception): pass\ndef fails(): raise Mine('x')\ntry:\n    run(fails)\n    assert False\n"
                   "except Mine as error:\n    assert error.args == ('x',)"}},
           Honest{
               "Ends",
               "import sys\ndef f(values): return next(values)\ndef leave(): sys.exit(3)\n"
               "class Down:\n    n = 2\n    def next(self):\n        if self.n == 0: raise StopIteration\n"
               "        self.n -= 1\n        return self.n\n",
               {"try:\n    f(iter([]))\n    assert False\nexcept StopIteration:\n    pass",
                "import unittest\nunittest.TestCase().assertRaises(StopIteration, f, iter([]))",
                "d, found = Down(), []\ntry:\n    while True: found.append(d.next())\nexcept StopIteration:\n    pass\n"
                "assert found == [1, 0]",
                "try:\n    leave()\n    assert False\nexcept SystemExit as error:\n    assert error.code == 3"}},
           Honest{"OfTheLibrary",
                  kErrors,
                  {"import json\ntry:\n    parse('{')\n    assert False\nexcept json.JSONDecodeError:\n    pass"}},
           Honest{"AssertRaises",
                  kErrors,
                  {"import unittest\nunittest.TestCase().assertRaises(KeyError, f, 1)",
                   "import unittest\nwith unittest.TestCase().assertRaises(Overdrawn) as caught:\n    f(0)\nassert "
                   "caught.exception.needed == 7",
                   "from unittest import TestCase\nwith TestCase().assertRaisesRegex(ValueError, 'neg'):\n    f(-2)"}}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Forms, CodeHonest,
    Values(Honest{"ASeed",
                  "import random\ndef f(n):\n    random.seed(n)\n    return random.randint(0, 10**9)\n",
                  {"import random\nrandom.seed(4)\nassert f(4) == random.randint(0, 10**9)"}},
           Honest{"NamesInOtherScopes",
                  "def f(x): return x + 1\n",
                  {"assert list(map(lambda f: f, [1])) == [1] and f(1) == 2",
                   "class T:\n    f = 3\nassert f(1) == 2 and T.f == 3",
                   "def t(f): return f\nassert t(3) == 3 and f(1) == 2", "assert [f for f in [1]] == [1] and f(1) == 2",
                   "class T:\n    def f(self): return 3\nassert T().f() == 3 and f(1) == 2", "f = f(1)\nassert f == 2",
                   "def t():\n    from math import floor as f\n    return f(2.5)\nassert t() == f(1)",
                   "match f(1):\n    case 2 as found: pass\nassert found == 2",
                   "from math import *\nassert f(1) == floor(2.5)"}},
           Honest{"Unittest",
                  kStack,
                  {"import unittest\nclass TestStack(unittest.TestCase):\n    def setUp(self): self.s = Stack([1])\n"
                   "    def test_pop(self): self.assertEqual(self.s.pop(), 1)\n"
                   "    def test_empty(self):\n        self.s.pop()\n"
                   "        with self.assertRaises(IndexError): self.s.pop()\n"
                   "if __name__ == '__main__':\n    unittest.main()\n"}},
           Honest{"TestFunctions",
                  kStack,
                  {"def test_push():\n    s = Stack()\n    s.push(1)\n    assert s.items == [1]\ntest_push()"}}),
    name_of);

const std::string kCoroutines = R"(
import asyncio
async def f(x):
    await asyncio.sleep(0.001)
    return x + 1
async def total(values): return sum(await asyncio.gather(*map(f, values)))
async def late():
    try: await asyncio.wait_for(asyncio.sleep(60), 0.001)
    except asyncio.TimeoutError: return 'late'
async def fails(): raise ValueError('no')
def run(x): return asyncio.run(f(x))
)";

INSTANTIATE_TEST_SUITE_P(
    Asynchronous, CodeHonest,
    Values(Honest{
        "Coroutines",
        kCoroutines,
        {"import asyncio\nassert asyncio.run(f(1)) == 2 and asyncio.run(total([1, 2])) == 5", "assert run(1) == 2",
         "import asyncio\nassert asyncio.run(late()) == 'late' and asyncio.iscoroutine(f(1))",
         "import asyncio\nasync def main():\n    assert await f(1) == 2\n    return await asyncio.gather(f(1), f(2))\n"
         "assert asyncio.run(main()) == [2, 3]",
         "import asyncio\ntry:\n    asyncio.run(fails())\n    assert False\nexcept ValueError as error:\n"
         "    assert str(error) == 'no'"}}),
    name_of);

// What only defines a test is none; what runs it is.
TEST_F(CodeHonest, TestsThatAreRun) {
  for (const char* test : {"import asyncio\nasync def check():\n    assert f(1) == 2\nasyncio.run(check())",
                           "class T:\n    def check(self):\n        assert f(1) == 2\nT().check()"}) {
    EXPECT_EQ(judge_code("def f(x): return x + 1", {test}).value, 1) << test;
    EXPECT_EQ(judge_code("def f(x): return x", {test}).value, 0) << test;
  }
}

// Each method of a TestCase is a test.
TEST_F(CodeHonest, APartOfATestCaseCounts) {
  const RewardResult result =
      judge_code("def f(x): return 1",
                 {"import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(f(1), 1)\n"
                  "    def test_b(self): self.assertEqual(f(2), 2)\nunittest.main()"});
  EXPECT_DOUBLE_EQ(result.value, 0.5) << result.reason;
}

// After a crash the test goes on with a new process, in which the solution's classes are the same, and its objects
// gone.
TEST_F(CodeHonest, ObjectsEndWithTheirProcess) {
  const std::string code = "import os\nclass A:\n    def stop(self): os._exit(0)\n    def name(self): return 'a'\n";
  const RewardResult result = judge_code(
      code,
      {"a = A()\nassert a.stop() is None\nassert a.name() == 'a'\nassert A().name() == 'a' and isinstance(A(), A)"});
  EXPECT_DOUBLE_EQ(result.value, 1. / 3) << result.reason;
}

const std::string kPool =
    "import threading\nfrom concurrent.futures import ThreadPoolExecutor\n"
    "def f(g, n):\n    with ThreadPoolExecutor(16) as pool: return list(pool.map(g, range(n)))\n"
    "def total(values):\n    found, lock = [0], threading.Lock()\n    def add(x):\n        with lock: found[0] += x\n"
    "    threads = [threading.Thread(target=add, args=(x,)) for x in values]\n    for t in threads: t.start()\n"
    "    for t in threads: t.join()\n    return found[0]\n";

TEST_F(CodeHonest, Threads) {
  const auto threads = test::create<Reward>("code", "code", {{"threads", true}, {"workers", 1}});
  const std::vector<std::string> tests = {"assert f(lambda x: x * x, 40) == [x * x for x in range(40)]",
                                          "assert total(range(40)) == 780"};
  const RewardResult result = judge_code(kPool, tests, *threads);
  EXPECT_DOUBLE_EQ(result.value, 1) << result.reason;
  EXPECT_EQ(judge_code(kPool, tests).value, 0);
}

/// An interpreter whose site packages hold what `files` says, in a folder that ends with the object.
class Interpreter {
 public:
  explicit Interpreter(const std::map<std::string, std::string>& files) {
    test::run_command("/usr/bin/python3 -m venv --without-pip --symlinks " + folder_.path().string());
    for (const auto& [name, text] : files) {
      std::filesystem::create_directories((packages() / name).parent_path());
      test::write_file(packages() / name, text);
    }
  }
  std::string path() const { return folder_.path() / "bin/python3"; }

 private:
  std::filesystem::path packages() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path() / "lib"))
      return entry.path() / "site-packages";
    return folder_.path();
  }
  test::TemporaryFolder folder_;
};

TEST_F(CodeHonest, Packages) {
  const Interpreter python({{"shapes/__init__.py", "from .areas import square\n"},
                            {"shapes/areas.py", "def square(x): return x * x\n"},
                            {"other/__init__.py", ""}});
  if (!std::filesystem::exists(python.path())) GTEST_SKIP() << "Python has no venv here";
  const test::ParamValues values = {{"python", python.path()}, {"workers", 1}};
  const auto with = [&](const std::string& package) {
    auto more = values;
    more["packages"] = std::vector<std::string>{package};
    return test::create<Reward>("code", "code", more);
  };
  const std::string code = "from shapes import square\ndef f(x): return square(x)\n";
  const std::vector<std::string> tests = {"import shapes\nassert f(3) == shapes.square(3)"};
  EXPECT_EQ(judge_code(code, tests, *with("shapes")).value, 1);
  EXPECT_EQ(judge_code(code, tests, *test::create<Reward>("code", "code", values)).value, 0);
  EXPECT_EQ(judge_code("import other\n" + code, tests, *with("shapes")).value, 0) << "another package is not shown";
  EXPECT_EQ(judge_code("import shapes\nopen(shapes.__file__, 'a')\n" + code, tests, *with("shapes")).value, 0);
  try {
    with("numpy");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("has no package `numpy`"));
    EXPECT_THAT(error.hint(), testing::HasSubstr("python3-numpy"));
  }
}

}  // namespace
}  // namespace drift
