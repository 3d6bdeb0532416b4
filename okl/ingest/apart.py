"""Converting in a child process with limits on time and memory, so that no document can take okl down."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from pickle import UnpicklingError
from subprocess import Popen

from okl import process
from okl.ingest.convert import CONVERTERS, Converted, Limits, Unconvertible, converter

try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]


class Apart:
    """A child that converts documents one after the other; a new one is started when it dies."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._child: Popen[bytes] | None = None

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def convert(self, media_type: str, data: bytes) -> Converted:
        """The document's text; Unconvertible if it cannot be read within the limits."""
        if not CONVERTERS[media_type].apart:
            return converter(media_type)(data, self._limits)
        child = self._child or process.start(__name__)
        self._child = child
        watch = threading.Timer(self._limits.seconds, child.kill)
        watch.start()
        try:
            if child.stdin is None or child.stdout is None:
                raise EOFError
            process.send(child.stdin, (media_type, data, self._limits))
            answer = process.receive(child.stdout)
        except (EOFError, OSError, UnpicklingError) as error:
            late = not watch.is_alive()
            self._end()
            why = f"it took over {self._limits.seconds:g} s" if late else f"it needs over {self._limits.megabytes} MB or crashes the reader"
            raise Unconvertible(why) from error
        finally:
            watch.cancel()
        if isinstance(answer, str):
            raise Unconvertible(answer)
        found: Converted = answer
        return found

    def _end(self) -> None:
        child, self._child = self._child, None
        if child:
            child.kill()
            child.wait()
            for stream in (child.stdin, child.stdout):
                if stream:
                    with suppress(OSError):
                        stream.close()


def main() -> None:
    """The child's life: take documents, give their text or the reason why not."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    limited = False
    while True:
        try:
            media_type, data, limits = process.receive(source)
        except EOFError:
            return
        if resource and not limited:
            resource.setrlimit(resource.RLIMIT_AS, (limits.megabytes << 20, limits.megabytes << 20))
            limited = True
        try:
            process.send(target, converter(media_type)(data, limits))
        except Unconvertible as error:
            process.send(target, str(error))
        except MemoryError:
            process.send(target, f"it needs over {limits.megabytes} MB of memory")
        except RecursionError:
            process.send(target, "it is nested too deeply")
        except Exception as error:  # noqa: BLE001 - whatever a document does to its reader is told as the reason
            process.send(target, f"its reader failed: {type(error).__name__}: {' '.join(str(error).split())[:200]}")
