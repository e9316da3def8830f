"""Configuration files that are there and cannot be read: anything may stand in them."""

import os
import time

import pytest
from reading import only, read

from ddpdoctor.events import GroupInit, LoaderBuilt

SCRIPT = "import yaml\ncfg = yaml.safe_load(open('a.yaml'))\ndist.init_process_group(cfg.get('backend', 'gloo'))\n"
UNREADABLE = {
    "no YAML": b"a: [1\n",
    "no text": b"\xff\xfe\xfa",
    "too large": b"# " + b"x" * 200_000,
}


def backend(tmp_path, script=SCRIPT):
    return only(read(tmp_path, script).of(GroupInit)).backend


@pytest.mark.parametrize("name", UNREADABLE)
def test_no_default_is_taken_where_the_file_is_not_read(tmp_path, name):
    (tmp_path / "a.yaml").write_bytes(UNREADABLE[name])
    found = backend(tmp_path)
    assert found.text() == "yaml['backend']"
    assert found.default is None


@pytest.mark.parametrize("part", ["cfg['dist'].get('backend', 'gloo')", "cfg.get('dist').get('backend', 'gloo')"])
def test_nor_is_it_in_a_part_of_it(tmp_path, part):
    (tmp_path / "a.yaml").write_bytes(b"a: [1\n")
    script = f"import yaml\ncfg = yaml.safe_load(open('a.yaml'))\ndist.init_process_group({part})\n"
    assert backend(tmp_path, script).default is None


@pytest.mark.parametrize(
    ("text", "default"), [("x: 1\n", "gloo"), ("backend: !env B\n", None), ("backend: nccl\n", "nccl")]
)
def test_the_default_is_taken_where_the_file_has_no_such_key(tmp_path, text, default):
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    assert getattr(backend(tmp_path).default, "value", None) == default


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.yaml")
    os.mkfifo(tmp_path / "b.yml")
    assert backend(tmp_path).default is None


def test_a_folder_that_links_to_itself_is_looked_through_once(tmp_path):
    (tmp_path / "configs").mkdir()
    for i in range(150):
        (tmp_path / "configs" / f"again{i}").symlink_to(tmp_path / "configs")
    (tmp_path / "configs" / "a.json").write_text('{"backend": "nccl"}', encoding="utf-8")
    begun = time.process_time()
    script = "import json, sys\ndist.init_process_group(json.load(open(sys.argv[1]))['backend'])\n"
    assert backend(tmp_path, script).default.value == "nccl"
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("text", ['"' * 90_000, "/*" * 45_000, '{"a": ' * 15_000, "[" * 90_000])
def test_a_json_file_that_is_none_is_looked_at_once(tmp_path, text):
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    begun = time.process_time()
    script = "import json\ndist.init_process_group(json.load(open('a.json')).get('backend', 'gloo'))\n"
    assert backend(tmp_path, script).default is None
    assert time.process_time() - begun < 5


def test_the_files_are_read_once_however_often_the_program_does(tmp_path):
    (tmp_path / "configs").mkdir()
    for i in range(30):
        (tmp_path / "configs" / f"{i}.yaml").write_text("a: 1\n" * 4_000 + "size: 4\n", encoding="utf-8")
    calls = "DataLoader(range(8), batch_size=yaml.safe_load(open(sys.argv[1]))['size'])\n"
    begun = time.process_time()
    program = read(tmp_path, "import sys, yaml\ndist.init_process_group('nccl')\n" + calls * 40)
    assert [loader.batch_size.default.value for loader in program.of(LoaderBuilt)] == [4] * 40
    assert time.process_time() - begun < 20  # each time anew it would be some minutes


def test_a_part_of_a_hydra_configuration_that_is_not_read_leaves_the_whole_open(tmp_path):
    (tmp_path / "conf" / "net").mkdir(parents=True)
    (tmp_path / "conf" / "config.yaml").write_text("defaults:\n  - net: big\nbackend: nccl\n", encoding="utf-8")
    (tmp_path / "conf" / "net" / "big.yaml").write_text("a: [1\n", encoding="utf-8")
    script = (
        "import hydra\n@hydra.main(config_path='conf', config_name='config')\ndef main(cfg):\n"
        "    dist.init_process_group(cfg.{})\nmain()\n"
    )
    assert backend(tmp_path, script.format("backend")).default.value == "nccl"
    assert backend(tmp_path, script.format("get('other', 'gloo')")).default is None


def test_what_one_composition_changes_is_not_changed_in_another(tmp_path):
    (tmp_path / "conf" / "net").mkdir(parents=True)
    for name, size in [("a", 4), ("b", 8)]:
        text = f"defaults:\n  - net: base\nnet:\n  size: {size}\n"
        (tmp_path / "conf" / f"{name}.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "conf" / "net" / "base.yaml").write_text("size: 1\nwidth: 2\n", encoding="utf-8")
    script = (
        "import hydra\ndist.init_process_group('nccl')\n"
        "for name in ('a', 'b'):\n    hydra.initialize(config_path='conf')\n"
        "first = hydra.compose(config_name='a')\nsecond = hydra.compose(config_name='b')\n"
        "for cfg in (first, second):\n    DataLoader(range(8), batch_size=cfg.net.size)\n"
    )
    sizes = [loader.batch_size.default.value for loader in read(tmp_path, script).of(LoaderBuilt)]
    assert sizes == [4, 8]
