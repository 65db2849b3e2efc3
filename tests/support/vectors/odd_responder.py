"""A responder that fails as its first argument says, at the vector of the second.

With `hello` in place of a vector it fails at once, with `vectors` at every vector.
"""

import json
import os
import signal
import subprocess
import sys
import time

WAY, WHERE = sys.argv[1:3]


def misbehave(id: str) -> None:
    """Misbehave as requested; return only if the conversation can continue."""
    match WAY:
        case "hang":
            print("thinking about it", file=sys.stderr, flush=True)
            time.sleep(600)
        case "hang-with-child":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            print(f"child {child.pid}", file=sys.stderr, flush=True)
            time.sleep(600)
        case "hang-with-daemon":
            program = [sys.executable, "-c", "import time; time.sleep(60)"]
            child = subprocess.Popen(program, start_new_session=True)
            print(f"child {child.pid}", file=sys.stderr, flush=True)
            time.sleep(600)
        case "leave-daemon":
            program = [sys.executable, "-c", "import time; time.sleep(60)"]
            child = subprocess.Popen(program, start_new_session=True)
            print(json.dumps({"responder": 1, "name": f"child {child.pid}"}), flush=True)
        case "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "colourful-name":
            name = "\x1b[31mred\nand more" + "e" * 1000
            print(json.dumps({"responder": 1, "name": name}), flush=True)
        case "hang-and-tell":
            with open("told", "w") as told:  # a fifo: opening it waits for a reader
                told.write(str(os.getpid()))
            time.sleep(600)
        case "stop-reading":
            os.close(0)
            time.sleep(600)
        case "exit":
            print("Traceback ...\nValueError: out of luck", file=sys.stderr, flush=True)
            os._exit(3)
        case "close-output":
            os.close(1)
            time.sleep(600)
        case "print":
            print("loading the model ...", flush=True)
        case "no-json":
            print("{]", flush=True)
        case "no-object":
            print("[1]", flush=True)
        case "not-utf-8":
            os.write(1, b"\xff\xfe\n")
        case "nan":
            answer(id, '"accepted", "value": NaN')
        case "wrong-id":
            answer("Tool/valid/other", '"accepted"')
        case "wrong-verdict":
            answer(id, '"maybe"')
        case "huge":
            os.write(1, b'"' + b"x" * (17 * 2**20))
        case "refuse-hello":
            print(
                json.dumps({"responder": 1, "error": "only 2024-11-05 is spoken here"}), flush=True
            )
        case "odd-envelope":
            print(json.dumps({"responder": 1, "envelope": "inside"}), flush=True)
        case "noisy":
            os.write(2, b"noise\n" * 100_000)
            answer(id, '"accepted"')
        case _:
            raise ValueError(WAY)


def answer(id: str, rest: str) -> None:
    """One answer."""
    print(f'{{"id": {json.dumps(id)}, "verdict": {rest}}}', flush=True)


def main() -> None:
    """Behave until it is time."""
    for line in sys.stdin:
        asked = json.loads(line)
        id = asked.get("id", "hello")
        if id == WHERE or (WHERE == "vectors" and id != "hello"):
            misbehave(id)
        elif id == "hello":
            print(json.dumps({"responder": 1, "name": "odd"}), flush=True)
        else:
            answer(id, '"unknown"')


if __name__ == "__main__":
    main()
