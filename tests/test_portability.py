"""Signals that only POSIX has stand in one file, and the toolkit works without them, as on Windows and macOS."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = [path for name in ("partls", "relaxations", "formulations") for path in sorted((ROOT / name).rglob("*.py"))]
POSIX = ROOT / "partls" / "runtime" / "posix.py"
FILES = ROOT / "partls" / "runtime" / "atomic_files.py"  # names of open streams: harmless elsewhere
MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
SIGNALS = {
    "SIGALRM", "SIGHUP", "SIGKILL", "SIGQUIT", "SIGSTOP", "SIGUSR1", "SIGUSR2", "SIGURG", "SIGWINCH", "alarm", "pause",
    "pthread_kill", "pthread_sigmask", "setitimer", "sigpending", "sigtimedwait", "sigwait", "sigwaitinfo",
}
SYSTEM = {
    "O_NOFOLLOW", "O_NONBLOCK", "chown", "fchmod", "fchown", "fork", "forkpty", "getuid", "geteuid", "getgid", "killpg",
    "mkfifo", "nice", "openpty", "sched_getaffinity", "setsid", "uname", "wait3", "wait4",
}
PATHS = ("/dev", "/proc", "/sys", "/tmp", "/etc", "/var")

# As Windows has it, then a fit by a foreign solver in a thread, files written in one step, and a command.
WITHOUT_POSIX = """
import os, signal, sys
for name in {signals!r}:
    if hasattr(signal, name):
        delattr(signal, name)
OWN = {{"fork", "wait4", "uname"}}  # what the standard library needs here
for name in {system!r}:
    if hasattr(os, name) and name not in OWN:
        delattr(os, name)
import numpy as np, partls
rng = np.random.default_rng(0)
X, y = rng.standard_normal((30, 6)), rng.standard_normal(30)
for relaxation in ("active-set", "perspective"):
    print(partls.solve(X, y, [0, 0, 1, 1, 2, 2], relaxation=relaxation, time_limit=60).status.name)
model = partls.PartLSRegressor([0, 0, 1, 1, 2, 2], certificate="proof.json").fit(X, y)
model.save("model.json")
print(sorted(os.listdir(".")), partls.PartLSRegressor.load("model.json").coef_.shape)
from partls.cli import main
sys.argv = ["partls", "demo", "--json"]
main()
"""


def used(path):
    """Return the POSIX-only names and paths that a source uses."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = {"signal": SIGNALS, "os": SYSTEM}.get(node.value.id, set())
            found |= {node.attr} & names
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & MODULES
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {node.module} & MODULES | {alias.name for alias in node.names} & (SIGNALS | SYSTEM)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= {node.value} if node.value.startswith(PATHS) else set()
    return found


def test_only_one_file_uses_what_windows_lacks():
    using = {path: names for path in SOURCES if (names := used(path))}
    assert {"sigtimedwait", "pthread_sigmask", "SIGURG"} <= using.pop(POSIX)
    assert using == {FILES: {"/dev", "/dev/fd", "/proc/self/fd"}}


def test_the_toolkit_works_where_posix_is_missing(tmp_path):
    script = WITHOUT_POSIX.format(signals=sorted(SIGNALS), system=sorted(SYSTEM))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:3] == ["OPTIMAL", "OPTIMAL", "['model.json', 'proof.json'] (6,)"]
    assert '"status": "OPTIMAL"' in done.stdout
