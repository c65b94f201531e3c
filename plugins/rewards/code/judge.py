# Runs the data set's test text in a sandbox. Code under test runs in another process, the worker: here, each name
# that the tests use but do not define stands for something there (objects.py).
#
# From the parent:  J (place, prefix, setup, tests, entry_point, constants, by_lines)    a job, of texts: the last two
#                                                              are empty for no; place seeds `random`
#                   V, M, R, U, K as the worker sends them, X    the answer to C or A; X: the worker is gone
#                   Q (prefix, setup, tests...)                  what the tests call: answered by N
#                   E                                            the end of a response
#                   S text                                       between responses: is answered as it is
# To the parent:    H                                            ready for a response; the copy for the last has ended
#                   X problem                                    the test text cannot be read
#                   N text...                                    a tuple: what each test says, or the names asked for
#                   C (what, on, args, kwargs)                   something to be done there
#                   A (done, …)                                  what came of K
#                   P number verdict                             4 bytes and `pass`, `fail`, `lost` (a call without an
#                                                                answer) or an exception's name
#                   D exception                                  the end; why other tests did not run, or empty
import ast
import dis
import os
import random
import re
import resource
import time

# Of processor time, for the tests' own work: calls of the solution are not counted.
SECONDS_OF_A_TEXT = 5
SECONDS_OF_A_RESPONSE = 10


DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def contains_assert(node):
    return any(isinstance(part, ast.Assert) for part in ast.walk(node))


def called_names(node):
    calls = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]  # the outermost come first
    return [function.id for function in calls if isinstance(function, ast.Name)]


def global_names(tree):
    """Names of the module, as Python's own compiler sees them: those used, but for those that the text has given a meaning
    to before, and those that it gives a meaning to. Of other scopes only what they take from the module counts."""
    free, used_inside, bound = set(), set(), names_by_star(tree)

    def read(code, is_module):
        own = set()
        for step in dis.get_instructions(code):
            what, name = step.opname, step.argval
            if isinstance(name, type(code)):
                read(name, False)
            elif what in ("STORE_NAME", "DELETE_NAME"):
                (bound if is_module else own).add(name)
            elif what in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                bound.add(name)
            elif what.startswith(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")) and name not in own:
                used_inside.add(name)
                if is_module and name not in bound:
                    free.add(name)

    read(compile(tree, "<tests>", "exec"), True)
    return free | used_inside - bound, bound


def names_by_star(tree):
    """What `from … import *` brings."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            try:
                module = importlib.import_module(node.module)
            except Exception:
                continue
            names |= set(getattr(module, "__all__", [name for name in vars(module) if name[0] != "_"]))
    return names


def is_test_case(node):
    bases = [ast.unparse(base) for base in node.bases] if isinstance(node, ast.ClassDef) else []
    return any(base in ("TestCase", "unittest.TestCase") for base in bases)


def runs_unittest(node):
    return isinstance(node, ast.Expr) and ast.unparse(node).startswith(("unittest.main(", "main("))


def statement_at(node, text):
    statement = ast.parse(text).body[0]
    for part in ast.walk(statement):
        ast.copy_location(part, node)
    return statement


class Tests:
    """The tests of a text, by its syntax tree: statements at the top, or at the top of a function that is called there
    (`check(candidate)`), which are or contain an assert. All others are preparation and stay in place."""

    def __init__(self, text, constants):
        self.lines = text.split("\n")
        self.constants = constants
        self.found = []
        tree = ast.parse(text)
        in_asserts = [name for node in ast.walk(tree) if isinstance(node, ast.Assert) for name in called_names(node)]
        self.first_call = in_asserts[0] if in_asserts else None
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        calls = [node.value for node in tree.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
        calls = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id in functions]
        asserting = [node for node in ast.walk(tree) if isinstance(node, DEFINITIONS) and contains_assert(node)]
        self.helpers = {node.name for node in asserting if not isinstance(node, ast.ClassDef)}
        self.classes = {node.name for node in asserting if isinstance(node, ast.ClassDef)}
        checks = {call.func.id for call in calls if self.tests_something(functions[call.func.id])}
        self.helpers -= checks
        # A function under test may have the name of the function that tests it.
        for name in checks:
            functions[name].name = "test function " + name
        for call in calls:
            if call.func.id in checks:
                call.func.id = "test function " + call.func.id
        cases = [node for node in tree.body if is_test_case(node)]
        if cases:
            tree.body = [node for node in tree.body if not runs_unittest(node)]
            for node in cases:
                tree.body += self.methods_of(node)
        elif contains_assert(tree):
            for node in tree.body:
                if isinstance(node, ast.FunctionDef) and node.name.startswith("test function "):
                    node.body = self.marked(node.body) or [ast.Pass()]
            tree.body = self.marked(tree.body)
        elif tree.body:
            tree.body = [self.mark(tree.body)]
        self.tree = ast.fix_missing_locations(tree)

    def methods_of(self, case):
        """Statements that run the tests of a TestCase, each as one."""
        run = [statement_at(case, f"{case.name}.setUpClass()")]
        for node in case.body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                run.append(self.mark([statement_at(node, f"{case.name}({node.name!r}).debug()")]))
        return run

    def tests_something(self, node):
        # Of a class only what is done for nothing but its asserts: `T().run()`.
        helpers = self.helpers | self.classes if isinstance(node, ast.Expr) else self.helpers
        return contains_assert(node) or not helpers.isdisjoint(called_names(node))

    def marked(self, statements):
        result = []
        for node in statements:
            if isinstance(node, ast.Assert) and isinstance(node.test, ast.Constant) and not self.constants:
                continue
            is_definition = isinstance(node, DEFINITIONS)
            result.append(self.mark([node]) if self.tests_something(node) and not is_definition else node)
        return result

    def mark(self, body):
        call = ast.Call(ast.Name("enter test", ast.Load()), [ast.Constant(len(self.found))], [])
        self.found.append("\n".join(self.lines[body[0].lineno - 1 : body[-1].end_lineno]))
        return ast.With([ast.withitem(call)], body)

    def free_names(self, entry_point=""):
        used, bound = global_names(self.tree)
        free = used - {"enter test", SETTLE}
        calls = [node.value for node in self.tree.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
        passed = {argument.id for call in calls for argument in call.args if isinstance(argument, ast.Name)}
        chosen = {name for name in free if not hasattr(builtins, name)} | passed - bound | free & {entry_point}
        # A solution may be called `sum`: `assert sum(10, 15) == 25`.
        return chosen or free & {self.first_call}


SETTLE = "next statement"


def is_marked(node):
    call = node.items[0].context_expr if isinstance(node, ast.With) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "enter test"


def with_settling(tree):
    """After each statement that calls something, and before each further condition of `and`: what the solution has
    changed is seen (objects.py)."""

    only = tree.body[0] if len(tree.body) == 1 else None
    conditions = any(isinstance(node, ast.BoolOp) for node in ast.walk(tree))
    if is_marked(only) and isinstance(only.body[0], ast.Assert) and not conditions:
        return tree  # a single assert, whose end is the test's

    def calls(node):
        return any(isinstance(part, ast.Call) for part in ast.walk(node))

    def settle():
        return ast.Call(ast.Name(SETTLE, ast.Load()), [], [])

    def settled(statements, first):
        result = [ast.Expr(settle())] if first else []
        for node in statements:
            result.append(node)
            ends = isinstance(node, (ast.Return, ast.Raise, *DEFINITIONS)) or is_marked(node)
            if not ends and calls(node):
                result.append(ast.Expr(settle()))
        return result

    for node in [*ast.walk(tree)]:
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            node.values = [part for value in node.values for part in (settle(), value)][1:]
        header = isinstance(node, (ast.If, ast.While, ast.For)) and calls(getattr(node, "test", None) or node.iter)
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            if isinstance(statements, list) and statements:
                setattr(node, field, settled(statements, header and field != "finalbody"))
    return ast.fix_missing_locations(tree)


def sets_seed(tree):
    return any(isinstance(node, ast.Attribute) and node.attr == "seed" for node in ast.walk(tree))


def own_modules(tree, wanted):
    """Modules that the tests use without an import, as the solution's own import would let them."""
    used = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    loaded = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in wanted & KNOWN_MODULES]
    names = {node.id for node in loaded} - {node.id for node in loaded if id(node) not in used}
    return {name: importlib.import_module(name) for name in names if name != "numpy"}


def split_by_lines(text):
    """One text for each line of an assert in `check`, with all other lines of `check` before it, as rldf_release does. An
    assert of several lines breaks, and so does code after an assert in a loop."""
    parts = re.fullmatch(r".*?\bdef check\(candidate\):\n(.*)\n(check\(\w+\))\s*", text, re.DOTALL)
    if not parts:
        return [text]
    lines = [line for line in parts[1].split("\n") if line.strip()]
    asserts = [line for line in lines if line.strip().startswith(("assert ", "assert("))]
    others = [line for line in lines if line not in asserts]
    tests = ["\n".join(["def check(candidate):", *others, line, parts[2]]) for line in asserts]
    return tests if len(tests) > 1 else [text]


def given_names(prefix, wanted):
    """What the text before the solution gives to the tests. It comes from there, not from the worker, where the code under
    test could put something else in its place."""
    names = {"__name__": "prefix"}
    run_prefix(prefix, names)
    return {name: names[name] for name in wanted if name in names}


def tested_names(prefix, setup, texts):
    """What the tests leave free for the solution to define."""
    given = global_names(ast.Module(complete_statements(prefix), []))[1] | global_names(ast.parse(setup))[1]
    return set().union(*(Tests(text, True).free_names() for text in texts)) - given


def refusal_of_processes():
    """For the copies: a process that a test starts would outlive the response and meet the messages of the next. The
    filter of system calls is the parent's, in argv; without a sandbox there is none."""
    try:
        import ctypes
    except ImportError:  # an interpreter without it
        return lambda: None
    if len(sys.argv) < 2:
        return lambda: None
    rules = ctypes.create_string_buffer(bytes.fromhex(sys.argv[1]))
    # struct sock_fprog; a rule has 8 bytes.
    program = ctypes.create_string_buffer(Struct("HP").pack(len(rules) // 8, ctypes.addressof(rules)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    set_seccomp, mode_filter = 22, 2

    def refuse():
        if prctl(set_seccomp, ctypes.c_ulong(mode_filter), program, rules) != 0:
            raise OSError(ctypes.get_errno(), "prctl")

    return refuse


def main():
    receive, send = make_channel()
    change_imports(asyncio=without_sockets)
    names_of_solution, guards, refresh, settle, delay_changes, has_failed, encode, decode = make_objects(receive, send)

    class EnterTest:
        def __init__(self, place, number):
            self.place, self.number = place, number

        def __enter__(self):
            if self.place is not None:
                random.seed(f"{self.place}/{self.number}")

        def __exit__(self, kind, error, trace):
            settle()
            verdict = "pass" if kind is None else "fail" if kind is AssertionError else kind.__name__
            if has_failed():
                verdict = "lost"
            send(b"P" + self.number.to_bytes(4, "little") + verdict.encode())
            return True

    def run(place, prefix, setup, text, entry_point, constants, by_lines):
        try:
            tests = Tests(text, constants)
            setup_code = compile(setup, "<setup>", "exec")
            code = compile(with_settling(tests.tree), "<tests>", "exec")
        except (SyntaxError, ValueError, RecursionError) as error:
            return send(b"X" + str(error).encode())
        texts = split_by_lines(text) if by_lines else tests.found
        send(b"N" + encode(tuple(texts)))
        names = {"__name__": "tests", "__builtins__": builtins, SETTLE: lambda: next_statement(names)}
        names |= guards
        seed = None if sets_seed(tests.tree) else place
        names["enter test"] = lambda number: EnterTest(seed, number)
        random.seed(place)
        delay_changes(not by_lines)
        end = ""
        try:
            exec(setup_code, names)
            wanted = tests.free_names(entry_point) - (names.keys() - guards.keys())
            given = given_names(prefix, wanted)
            names |= own_modules(tests.tree, wanted) | given
            names |= names_of_solution(wanted - (names.keys() - guards.keys()))
            if by_lines:
                for number, one in enumerate(texts):
                    with EnterTest(place, number):
                        exec(compile(one, "<tests>", "exec"), names)
            else:
                exec(code, names)
        except BaseException as error:
            end = type(error).__name__
        send(b"D" + end.encode())

    def next_statement(names):
        settle()
        refresh(names)
        return True

    def name_tested(prefix, setup, *texts):
        try:
            send(b"N" + encode(tuple(sorted(tested_names(prefix, setup, texts)))))
        except (SyntaxError, ValueError, RecursionError) as error:
            send(b"X" + str(error).encode())

    def serve(message):
        while message != b"E":
            last = min(int(time.process_time()) + SECONDS_OF_A_TEXT, SECONDS_OF_A_RESPONSE)
            resource.setrlimit(resource.RLIMIT_CPU, (last, SECONDS_OF_A_RESPONSE))
            (run if message[:1] == b"J" else name_tested)(*decode(message[1:]))
            message = receive()

    # Each response is served by a copy, which ends with it and takes along whatever the tests have changed.
    end, refuse_processes = os._exit, refusal_of_processes()
    while True:
        send(b"H")
        message = receive()
        while message[:1] == b"S":
            send(message)
            message = receive()
        copy = os.fork()
        if copy == 0:
            try:
                refuse_processes()
                serve(message)
            finally:
                end(0)
        if os.waitpid(copy, 0)[1] != 0:
            end(1)


main()
