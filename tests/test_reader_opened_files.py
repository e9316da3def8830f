"""Files that something else than ``open`` opens: their path is what it was given."""

import pytest
from reading import only, read

from ddpdoctor.events import FileUsed

OPENERS = {
    "gzip": ("import gzip", "gzip.open"),
    "fsspec": ("import fsspec", "fsspec.open"),
    "iopath": ("from iopath.common.file_io import g_pathmgr", "g_pathmgr.open"),
    "blobfile": ("import blobfile as bf", "bf.BlobFile"),
}


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize(
    ("name", "touched"), [("f'part{dist.get_rank()}.npy'", True), ("'whole.npy'", False)], ids=["own", "shared"]
)
def test_the_path_of_a_file_is_what_its_opener_was_given(tmp_path, opener, name, touched):
    imported, called = OPENERS[opener]
    text = f"import numpy as np\n{imported}\nwith {called}({name}, 'wb') as file:\n    np.save(file, [1])\n"
    path = only(read(tmp_path, text).of(FileUsed)).path
    assert ("rank" in path.taint) is touched
    assert touched or path.text() == "'whole.npy'"


def test_what_is_written_to_is_of_the_rank_where_its_name_went_into_it(tmp_path):
    text = "import numpy as np\nimport store\nnp.save(store.Target(f'{dist.get_rank()}.npy'), [1])\n"
    assert "rank" in only(read(tmp_path, text).of(FileUsed)).path.taint
