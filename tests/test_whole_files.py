"""Files written in one step, whatever stands in their place and whatever goes wrong."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from partls.runtime.atomic_files import whole_file, write_whole


def test_a_text_is_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_whole(tmp_path / "new", "größe\n")
    assert (tmp_path / "new").read_bytes() == "größe\n".encode()
    plain = tmp_path / "plain"
    plain.touch()
    assert (tmp_path / "new").stat().st_mode == plain.stat().st_mode  # what the umask allows, as for any file
    assert {path.name for path in tmp_path.iterdir()} == {"new", "plain"}


def test_the_old_file_stands_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("old")
    with whole_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"


@pytest.mark.parametrize("trouble", [ValueError, KeyboardInterrupt])
def test_what_fails_leaves_no_part(tmp_path: Path, trouble: type[BaseException]) -> None:
    (tmp_path / "f").write_text("old")
    with pytest.raises(trouble), whole_file(tmp_path / "f") as file:
        file.write(b"half")
        raise trouble
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("f", "old")]


def test_an_error_of_the_system_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError) as full, whole_file(tmp_path / "f"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert (full.value.errno, full.value.filename) == (errno.ENOSPC, str(tmp_path / "f"))
    with pytest.raises(FileNotFoundError) as missing:
        write_whole(tmp_path / "nowhere" / "f", "")
    assert missing.value.filename == str(tmp_path / "nowhere" / "f")
    with pytest.raises(FileNotFoundError) as another, whole_file(tmp_path / "f"):
        (tmp_path / "data").read_bytes()
    assert another.value.filename == str(tmp_path / "data")  # not to be blamed on the file that is written
    assert not list(tmp_path.iterdir())


def test_the_longest_name(tmp_path: Path) -> None:
    write_whole(tmp_path / ("ü" * 127), "here")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["here"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "f").write_text("old")
    for link, target in (("there", "real/f"), ("dangling", "real/new")):
        (tmp_path / link).symlink_to(target)
        write_whole(tmp_path / link, "new")
        assert (tmp_path / link).is_symlink()
        assert (tmp_path / target).read_text() == "new"
    assert {path.name for path in (tmp_path / "real").iterdir()} == {"f", "new"}


def test_permissions_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "private"
    path.touch(mode=0o600)
    with whole_file(path):
        part, = tmp_path.glob("*.part")
        assert stat.S_IMODE(part.stat().st_mode) == 0o600  # before anything is in it
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_pipe_gets_the_bytes(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_whole(pipe, "all of it")
    reader.join(60)
    assert read == [b"all of it"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("redirected", [False, True])
def test_standard_output_has_a_name(tmp_path: Path, redirected: bool) -> None:
    code = (
        "from partls.runtime.atomic_files import write_whole; print('a', flush=True); "
        "write_whole('/dev/stdout', 'b')"
    )
    with (tmp_path / "out").open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=file if redirected else subprocess.PIPE, check=True, timeout=120,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        )
    assert ((tmp_path / "out").read_bytes() if redirected else done.stdout) == b"a\nb"
