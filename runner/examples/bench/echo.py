"""Measures PyIsolate calls: echoes a payload between a host and its extension, and prints the mean time in nanoseconds.

Usage: PYTHON echo.py BYTES CALLS. PYTHON's environment must contain the pyisolate, numpy and uv packages.
"""

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

import pyisolate
from pyisolate import ExtensionConfig, ExtensionManager, ExtensionManagerConfig
from pyisolate.config import SandboxMode

# Largest payload that is echoed. For larger payloads, the extension returns the length, like PyIsolate's benchmark.
MAX_ECHOED = 1000
WARM_UP = 5

EXTENSION = f"""
class Echo:
    async def echo(self, value):
        size = getattr(value, "nbytes", 0)
        return size if size > {MAX_ECHOED} else value


def entrypoint():
    return Echo()
"""

# The base class must be in a module that the extension can import.
WRAPPER = """
from pyisolate import ExtensionBase


class Wrapper(ExtensionBase):
    async def on_module_loaded(self, module):
        self.extension = module.entrypoint()

    async def echo(self, value):
        return await self.extension.echo(value)
"""


def payload(length):
    """An integer of 8 bytes, a string, or an array of 8-byte numbers."""
    if length == 8:
        return 42
    if length <= MAX_ECHOED:
        return "x" * length
    import numpy

    return numpy.ones(length // 8)


async def measure(directory, length, calls):
    """Returns the mean call time in nanoseconds."""
    (directory / "extension").mkdir()
    (directory / "extension" / "__init__.py").write_text(EXTENSION)
    (directory / "echo_wrapper.py").write_text(WRAPPER)
    package = str(Path(pyisolate.__file__).parent.parent)
    paths = [str(directory), package]
    sys.path[:0] = paths
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "")
    from echo_wrapper import Wrapper

    manager = ExtensionManager(Wrapper, ExtensionManagerConfig(venv_root_path=str(directory / "environments")))
    config = ExtensionConfig(
        name="echo",
        module_path=str(directory / "extension"),
        isolated=True,
        dependencies=[],
        apis=[],
        share_torch=False,
        sandbox_mode=SandboxMode.DISABLED,
    )
    extension = manager.load_extension(config)
    try:
        value = payload(length)
        for _ in range(min(WARM_UP, calls)):
            await extension.echo(value)
        start = time.perf_counter_ns()
        for _ in range(calls):
            await extension.echo(value)
        return (time.perf_counter_ns() - start) / calls
    finally:
        manager.stop_all_extensions()


def main():
    length, calls = map(int, sys.argv[1:])
    with tempfile.TemporaryDirectory() as directory:
        print(asyncio.run(measure(Path(directory), length, calls)))


if __name__ == "__main__":
    main()
