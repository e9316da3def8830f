"""What the reader predicts of downloads: by a function, by a command, and of what the web answered."""

import pytest
from reading import read

from ddpdoctor.events import FileUsed, LoaderBuilt

HEAD = """
import io, os, pathlib, shutil, subprocess, tempfile, urllib.request
import httpx, requests
import torch
from torch.nn.parallel import DistributedDataParallel as DDP
URL, PATH = "https://example.org/book", "data/book"
"""


def downloads(program):
    return [event.path.text() for event in program.of(FileUsed) if event.op == "download"]


@pytest.mark.parametrize(
    "text",
    [
        "open(PATH, 'wb').write(requests.get(URL).content)",
        "with open(PATH, 'wb') as f:\n    for p in requests.get(URL, stream=True).iter_content(8):\n        f.write(p)",
        "with urllib.request.urlopen(URL) as r, open(PATH, 'wb') as f:\n    shutil.copyfileobj(r, f)",
        "with requests.get(URL, stream=True) as r, open(PATH, 'wb') as f:\n    shutil.copyfileobj(r.raw, f)",
        "pathlib.Path(PATH).write_bytes(requests.get(URL).content)",
        "pathlib.Path(PATH).write_text(httpx.get(URL).text)",
        "with pathlib.Path(PATH).open('w') as f:\n    f.write(urllib.request.urlopen(URL).read().decode())",
        "with requests.Session() as s, open(PATH, 'wb') as f:\n    f.write(s.get(URL).content)",
    ],
)
def test_an_answer_of_the_web_that_is_written_is_a_download(tmp_path, text):
    assert downloads(read(tmp_path, text, head=HEAD)) == ["'data/book'"]


@pytest.mark.parametrize(
    "text",
    [
        "io.BytesIO().write(requests.get(URL).content)",
        "with tempfile.TemporaryFile() as f:\n    f.write(requests.get(URL).content)",
        "with open(PATH, 'w') as f:\n    f.write('nothing from anywhere')",
        "print(requests.get(URL).text)",
        "shutil.copyfileobj(open('here'), open(PATH, 'wb'))",
    ],
)
def test_what_goes_to_the_memory_or_comes_from_here_is_none(tmp_path, text):
    assert downloads(read(tmp_path, text, head=HEAD)) == []


@pytest.mark.parametrize(
    "text",
    [
        "os.system('wget ' + URL)",
        "os.system(f'wget {URL} -O {PATH}')",
        "os.system('curl -L %s -o %s' % (URL, PATH))",
        "subprocess.run(['curl', '-o', PATH, URL], check=True)",
        "subprocess.Popen(['wget', URL]).wait()",
    ],
)
def test_commands_that_download(tmp_path, text):
    assert len(downloads(read(tmp_path, text, head=HEAD))) == 1


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("torchvision.datasets.CIFAR10('data', download=True)", ["'data'"]),
        ("torchaudio.datasets.GTZAN('data', download=True)", ["'data'"]),
        ("torchaudio.datasets.SPEECHCOMMANDS('data', 'speech_commands_v0.02', 'SpeechCommands', True)", ["'data'"]),
        ("torchaudio.datasets.VCTK_092('data', 'mic2', True)", ["'data'"]),
        ("torchaudio.datasets.LIBRISPEECH('data', 'train-clean-100')", []),
        ("medmnist.PathMNIST('train', download=True, root='data')", ["'data'"]),
        ("medmnist.PathMNIST('train', None, None, False)", []),
    ],
)
def test_data_sets_that_fetch_themselves(tmp_path, made, found):
    assert downloads(read(tmp_path, made, head=f"{HEAD}import torchaudio, torchvision, medmnist\n")) == found


def test_a_download_in_a_package_whose_modules_lie_deeper_is_seen(tmp_path):
    inner = tmp_path / "datasets" / "graphs"
    inner.mkdir(parents=True)
    (inner / "molecules.py").write_text("import wget\ndef get():\n    wget.download('https://x.org/a', 'a')\n")
    text = "from datasets.graphs.molecules import get\nget()"
    assert downloads(read(tmp_path, text, head=HEAD)) == ["'a'"]


def test_what_a_folder_of_a_librarys_name_does_not_hold_is_the_librarys(tmp_path):
    inner = tmp_path / "datasets" / "graphs"
    inner.mkdir(parents=True)
    (inner / "molecules.py").write_text("")
    text = "from datasets import load_dataset\nd = torch.utils.data.DataLoader(load_dataset('x', streaming=True))"
    assert read(tmp_path, text, head=HEAD).of(LoaderBuilt)[0].iterable


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("clip.load('ViT-B/32')", True),
        ("clip.load('weights/ViT-B-32.pt')", False),
        ("beir.util.download_and_unzip(url, 'datasets')", True),
        ("gdown.download_folder(url, output='weights')", True),
    ],
)
def test_downloads_of_further_packages(tmp_path, call, found):
    program = read(tmp_path, f"import beir.util\nimport clip\nimport gdown\n\nurl = 'https://example.org/x'\n{call}\n")
    assert [event.op for event in program.of(FileUsed)] == ["download"] * found


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("tarfile.open('a.tar').extractall('data')", ["'data'"]),
        ("shutil.unpack_archive('a.zip', 'data')", ["'data'"]),
        (
            "os.system('mkdir -p data && wget https://example.org/x -P data')",
            ["'mkdir -p data && wget https://example.org/x -P data'"],
        ),
        ("os.system('echo wget x')", []),
        ("PygNodePropPredDataset(name='ogbn-arxiv', root='data')", ["'data'"]),
        ("dgl.data.CoraGraphDataset(raw_dir='data')", ["'data'"]),
        ("dgl.data.MiniGCDataset(8, 10, 20)", []),
        ("fetch_california_housing(data_home='data')", ["'data'"]),
    ],
)
def test_archives_and_data_sets_of_further_packages(tmp_path, call, found):
    head = "import os, shutil, tarfile\nimport dgl\nfrom ogb.nodeproppred import PygNodePropPredDataset\n"
    program = read(tmp_path, f"{head}from sklearn.datasets import fetch_california_housing\n{call}\n")
    assert [event.path.text() for event in program.of(FileUsed) if event.op == "download"] == found
