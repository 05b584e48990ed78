"""Starts a Jupyter server for a test: on a free port, with its settings and its log in a folder of its own."""

import contextlib
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request


@contextlib.contextmanager
def jupyter(command, folder, token, *, base="/", environment=os.environ):
    """Runs `command` in the current folder, with a port; yields the server's address below the path `base`.

    RuntimeError with the end of the log when the server ends, or does not answer within a minute.
    """
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    url, log = f"http://127.0.0.1:{port}{base}", folder / "log.txt"
    options = [f"--port={port}", "--ServerApp.port_retries=0"]
    options += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    private = {
        "JUPYTER_CONFIG_DIR": folder / "config",
        "JUPYTER_DATA_DIR": folder / "data",
        "JUPYTER_RUNTIME_DIR": folder / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": folder / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": folder / "workspaces",
    }
    settings = environment | {name: str(path) for name, path in private.items()}
    with open(log, "w") as output:
        server = subprocess.Popen([*command, *options], env=settings, stdout=output, stderr=output)
    try:
        _wait_for(f"{url}api?token={token}", server, log)
        yield url
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait_for(url, server, log):
    for _ in range(300):
        if server.poll() is not None:
            break
        with contextlib.suppress(urllib.error.URLError, ConnectionError), urllib.request.urlopen(url):
            return
        time.sleep(0.2)
    raise RuntimeError("Jupyter did not start:\n" + log.read_text()[-2000:])
