# What surrounds code in the sandbox, of the solution and of the tests. Stands behind wire.py, before all others.


def change_imports(**changes):
    """What is to be done with a module when it is imported: that takes milliseconds, and most programs do without."""

    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name not in changes:
                return None
            change = changes.pop(name)
            spec = next(filter(None, (finder.find_spec(name, path, target) for finder in sys.meta_path)))
            execute = spec.loader.exec_module

            def execute_and_change(module):
                execute(module)
                change(module)

            spec.loader.exec_module = execute_and_change
            return spec

    sys.meta_path.insert(0, Finder())


def seed_random(random):
    random.seed(0)


def prepare_for_code():
    """As in an interactive Python; there is no `site` here. Random numbers are the same each time."""

    def stop(code=None):
        raise SystemExit(code)

    builtins.exit = builtins.quit = stop
    change_imports(random=seed_random, asyncio=without_sockets)


def run_code(source, names, file, of_program=False):
    """`source`: what stands before the code, NUL, the code."""
    prefix, _, code = str(source, "utf-8").rpartition("\0")
    run_prefix(prefix, names, of_program)
    exec(compile(code, file, "exec", 0, True), names)


def without_sockets(asyncio):
    """An event loop that waits for the time alone: there are no sockets and no other processes."""
    import selectors
    import time

    class Clock(selectors.SelectSelector):
        def select(self, timeout=None):
            if timeout is None:
                raise RuntimeError("nothing to wait for")
            time.sleep(max(timeout, 0))
            return []

    class Loop(asyncio.SelectorEventLoop):
        def __init__(self):
            super().__init__(Clock())

        def _make_self_pipe(self):
            pass

        _close_self_pipe = _write_to_self = _make_self_pipe

    asyncio.DefaultEventLoopPolicy._loop_factory = Loop


def complete_statements(prefix):
    """Those of the text before the solution: its imports and its functions, but for the last one, which is unfinished."""
    import ast

    for text in (prefix, prefix + "\n    pass\n"):  # may end with a line of def
        try:
            body = ast.parse(text).body
        except (SyntaxError, ValueError):
            continue
        unfinished = [node for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))][-1:]
        return [node for node in body if node not in unfinished]
    return []


def run_prefix(prefix, names, of_program=False):
    """Gives `names` what those statements define. One that fails is left out; of a program's only imports and
    definitions are run, as others may read its input."""
    if not prefix.strip():
        return
    import ast

    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef) if of_program else ast.stmt
    for node in complete_statements(prefix):
        try:
            if isinstance(node, kinds):
                exec(compile(ast.Module([node], []), "<prefix>", "exec"), names)
        except Exception:
            pass
