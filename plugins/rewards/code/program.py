# Runs a complete model-written program: standard input and output belong to the program, the
# source comes on descriptor 3, as worker.py gets it. Its answer is what it prints and how it ends.
def run():
    receive, send = make_channel()

    def stop(code=None):
        raise SystemExit(code)

    builtins.exit = builtins.quit = stop  # as in an interactive Python; there is no `site` here
    change_imports(random=seed_random, asyncio=without_sockets)
    send(b"H")
    prefix, _, source = str(receive(), "utf-8").rpartition("\0")
    main = type(sys)("__main__")
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    run_prefix(prefix, main.__dict__, of_program=True)
    exec(compile(source, "<program>", "exec", 0, True), main.__dict__)


run()
