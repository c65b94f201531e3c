# Runs a complete model-written program: standard input and output belong to the program, the
# source comes on descriptor 3. Its answer is what it prints and how it ends.
def run():
    receive, send = make_channel()

    def stop(code=None):
        raise SystemExit(code)

    builtins.exit = builtins.quit = stop  # as in an interactive Python; there is no `site` here
    change_imports(random=seed_random, asyncio=without_sockets)
    send(b"H")
    source = str(receive(), "utf-8")
    main = type(sys)("__main__")
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    exec(compile(source, "<program>", "exec", 0, True), main.__dict__)


run()
