"""Child processes that run a function of okl: for more cores, and for work that may run wild."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import IO, Any

_START = "import sys; sys.path[:] = {path!r}; from {module} import main; main()"


def start(module: str) -> subprocess.Popen[bytes]:
    """A new Python that runs `main()` of `module`, its stdin and stdout being pipes of pickled values.

    It does not import the caller's `__main__`, so it works from any script and any test.
    """
    code = _START.format(path=sys.path, module=module)
    # a session of its own: Ctrl-C is the parent's business, which ends its children itself
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)


def send(stream: IO[bytes], value: Any) -> None:
    """Write one value."""
    pickle.dump(value, stream, protocol=pickle.HIGHEST_PROTOCOL)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read one value; EOFError when the other side is gone."""
    return pickle.load(stream)  # noqa: S301 - the other end is our own child or parent
