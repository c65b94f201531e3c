# Runs a complete model-written program: standard input and output belong to the program, the
# source comes on descriptor 3, as worker.py gets it. Its answer is what it prints and how it ends.
def run():
    receive, send = make_channel()
    prepare_for_code()
    send(b"H")
    source = receive()
    main = type(sys)("__main__")
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    run_code(source, main.__dict__, "<program>", of_program=True)


run()
