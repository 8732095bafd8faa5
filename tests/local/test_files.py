"""Files that appear whole or not at all."""

import os
from pathlib import Path

import pytest

from assignlab.local.files import whole


def test_what_is_no_file_is_left_as_it_is(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for path, refusal in (
        (tmp_path / "pipe", FileExistsError),
        (tmp_path / "folder", IsADirectoryError),
        (Path(""), IsADirectoryError),
    ):
        with pytest.raises(refusal), whole(path):
            raise AssertionError
    assert (tmp_path / "pipe").is_fifo() and len(list(tmp_path.iterdir())) == 2
