#include "bench/code_programs.h"

#include <array>

namespace drift::bench {
namespace {

struct Problem {
  const char* name;
  const char* right;
  const char* wrong;  // fails all the tests
  std::array<const char*, 3> tests;
};

// The size of what models write for short exercises.
constexpr std::array<Problem, 8> kProblems = {{
    {"vowels",
     "def vowels(text):\n    return sum(letter in 'aeiou' for letter in text.lower())",
     "def vowels(text):\n    return -len(text)",
     {"assert vowels('reward') == 2", "assert vowels('AEIOU') == 5", "assert vowels('xyz') == 0"}},
    {"primes",
     "def primes(n):\n    sieve = [True] * (n + 1)\n    for i in range(2, n + 1):\n        if sieve[i]:\n"
     "            for j in range(i * i, n + 1, i):\n                sieve[j] = False\n"
     "    return [i for i in range(2, n + 1) if sieve[i]]",
     "def primes(n):\n    return [1] + list(range(2, n + 1))",
     {"assert primes(10) == [2, 3, 5, 7]", "assert len(primes(10000)) == 1229", "assert primes(1) == []"}},
    {"merge",
     "import heapq\ndef merge(a, b):\n    return list(heapq.merge(sorted(a), sorted(b)))",
     "def merge(a, b):\n    return a",
     {"assert merge([3, 1], [2]) == [1, 2, 3]", "assert merge([], [1]) == [1]", "assert merge([5], [4]) == [4, 5]"}},
    {"count",
     "from collections import Counter\ndef count(words):\n    return dict(Counter(words).most_common())",
     "def count(words):\n    raise KeyError(words)",
     {"assert count(['a', 'b', 'a']) == {'a': 2, 'b': 1}", "assert count([]) == {}",
      "assert count(['x']) == {'x': 1}"}},
    {"palindrome",
     "import re\ndef palindrome(s):\n    s = re.sub('[^a-z]', '', s.lower())\n    return s == s[::-1]",
     "def palindrome(s):\n    return None",
     {"assert palindrome('Never odd or even') == True", "assert palindrome('drift') == False",
      "assert palindrome('') == True"}},
    {"power",
     "def power(base, exponent, modulus):\n    return pow(base, exponent, modulus)",
     "def power(base, exponent, modulus):\n    return base ^ exponent",
     {"assert power(2, 10, 1000) == 24", "assert power(3, 200, 50) == 1", "assert power(7, 1, 5) == 2"}},
    {"matrix",
     "def transpose(rows):\n    return [list(column) for column in zip(*rows)]",
     "def transpose(rows):\n    return rows + rows",
     {"assert transpose([[1, 2], [3, 4]]) == [[1, 3], [2, 4]]", "assert transpose([[1, 2, 3]]) == [[1], [2], [3]]",
      "assert transpose([[7]]) == [[7]]"}},
    {"change",
     "def change(coins, total):\n    ways = [1] + [0] * total\n    for coin in coins:\n"
     "        for value in range(coin, total + 1):\n            ways[value] += ways[value - coin]\n    return "
     "ways[total]",
     "def change(coins, total):\n    return 0.5",
     {"assert change([1, 2, 5], 5) == 4", "assert change([1, 2, 5, 10, 20, 50], 100) == 4562",
      "assert change([2], 3) == 0"}},
}};

struct Attack {
  const char* name;
  const char* code;  // each test calls f; the tests expect f(x) == x + 1
};

constexpr std::array<Attack, 24> kAttacks = {{
    {"fork bomb", "import os\nwhile True: os.fork()"},
    {"fork bomb in a call", "import os\ndef f(x):\n    while True: os.fork()"},
    {"daemon", "import os\ndef f(x):\n    if os.fork() == 0:\n        os.setsid()\n        while True: pass"},
    {"other program", "import subprocess\ndef f(x): return int(subprocess.run(['expr', str(x), '+', '1']).stdout)"},
    {"becomes another program", "import os\ndef f(x): os.execv('/bin/sh', ['sh', '-c', 'sleep 1000'])"},
    {"threads",
     "import threading, time\ndef f(x):\n    while True: threading.Thread(target=time.sleep, args=(9,)).start()"},
    {"huge allocation", "def f(x): return len(bytearray(1 << 40))"},
    {"growing list", "def f(x):\n    a = []\n    while True: a.append(' ' * 100000)"},
    {"deep recursion", "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(x): return f(x + 1) + 1"},
    {"endless loop", "def f(x):\n    while True: pass"},
    {"endless loop while loading", "while True: pass"},
    {"power tower", "def f(x): return 9 ** 9 ** 9"},
    {"slow pattern", "import re\ndef f(x): return re.match('(a+)+b', 'a' * 60)"},
    {"ignores signals",
     "import signal\nfor n in (1, 2, 3, 14, 15, 24): signal.signal(n, signal.SIG_IGN)\ndef f(x):\n    while True: "
     "pass"},
    {"flood of output", "def f(x):\n    while True: print('x' * 1000)"},
    {"flood of replies", "import os\ndef f(x):\n    while True: os.write(4, b'x' * 65536)"},
    {"large file",
     "def f(x):\n    with open('/tmp/large', 'wb') as file:\n        while True: file.write(bytes(1 << 20))"},
    {"many files", "def f(x):\n    for n in range(10 ** 9): open('/tmp/%d' % n, 'wb').write(bytes(65536))"},
    {"leaves files",
     "import os\nfor folder in '/', '/tmp', '/var/tmp', '/dev/shm', '/usr', '/root', os.getcwd():\n"
     "    try: open(folder + '/drift-bench-leftover', 'w').write('x')\n    except OSError: pass\ndef f(x): return x"},
    {"deletes everything", "import shutil\nshutil.rmtree('/', ignore_errors=True)\ndef f(x): return x"},
    {"network", "import socket\ndef f(x): return socket.create_connection(('127.0.0.1', 22))"},
    {"kills everybody", "import os\ndef f(x): return os.kill(-1, 9)"},
    {"exits", "import os\ndef f(x): os._exit(0)"},
    {"crashes", "import ctypes\ndef f(x): return ctypes.string_at(0)"},
}};

}  // namespace

Program program_number(std::int64_t index, std::int64_t hostile_every) {
  const auto number = static_cast<std::size_t>(index);
  if (hostile_every > 0 && index % hostile_every == hostile_every - 1) {
    const Attack& attack = kAttacks[number / static_cast<std::size_t>(hostile_every) % kAttacks.size()];
    return {attack.name, attack.code, {"assert f(1) == 2", "assert f(2) == 3", "assert f(3) == 4"}, 0, true};
  }
  const Problem& problem = kProblems[number % kProblems.size()];
  const bool right = number / kProblems.size() % 3 != 2;
  return {problem.name,
          right ? problem.right : problem.wrong,
          {problem.tests.begin(), problem.tests.end()},
          right ? 1.0 : 0.0,
          false};
}

}  // namespace drift::bench
