"""Removes a run's folder, whatever the run made of it."""

import os
import shutil
import stat


def remove(folder: str) -> bool:
    """Remove a folder with all that is in it, what is read-only or closed too; whether it is gone."""
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.lexists(folder):
        # Folders that nobody may enter or change (a read-only copy, an overlay's work folder of mode 000).
        for path, _, _ in os.walk(folder, onerror=None):
            _open_up(path)
        shutil.rmtree(folder, ignore_errors=True)
    return not os.path.lexists(folder)


def _open_up(path: str) -> None:
    try:
        os.chmod(path, stat.S_IRWXU)
        for entry in os.scandir(path):
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.path, stat.S_IRWXU)
    except OSError:
        pass
