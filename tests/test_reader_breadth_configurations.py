"""What the reader knows of configurations: files beside the script, hydra, OmegaConf, and what they say by default."""

import pytest
from reading import only, ranks, read

from ddpdoctor.events import Collective, GroupInit, LoaderBuilt, ModelWrapped
from ddpdoctor.facts import default_of
from ddpdoctor.reader.yaml_text import load_yaml
from ddpdoctor.value import UNKNOWN_VALUE, Symbol, truth

YAML = """
# of the run
dist:
  backend: nccl   # with GPUs
loader: {batch_size: 4, shuffle: true}
steps: [1, 2.5, -3e2]
"""
JSON = '{"dist": {"backend": "nccl"}, "loader": {"batch_size": 4, "shuffle": true}}'

WAYS = {
    "json of an open file": ("config.json", "import json\nwith open('config.json') as f:\n    cfg = json.load(f)\n"),
    "json of a text": ("config.json", "import json\ncfg = json.loads(open('config.json').read())\n"),
    "json in a folder": ("configs/a.json", "import json, sys\ncfg = json.load(open(sys.argv[1]))\n"),
    "yaml": ("config.yaml", "import yaml\ncfg = yaml.safe_load(open('config.yaml'))\n"),
    "yaml by an option": (
        "opt/a.yml",
        "import yaml, argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('-c', default='opt/a.yml')\n"
        "args = parser.parse_args()\nwith open(args.c) as f:\n    cfg = yaml.load(f, Loader=yaml.FullLoader)\n",
    ),
    "OmegaConf": ("c.yaml", "from omegaconf import OmegaConf\ncfg = OmegaConf.load('c.yaml')\n"),
    "a dictionary of the project's": (
        "config.json",
        "import json\nclass Attr(dict):\n    def __init__(self, *a):\n        super().__init__(*a)\n"
        "        self.__dict__ = self\ncfg = Attr(json.load(open('config.json')))\n",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_file_beside_the_script_says_what_is_so_by_default(tmp_path, way):
    name, loading = WAYS[way]
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(JSON if name.endswith("json") else YAML)
    program = read(
        tmp_path,
        loading + "dist.init_process_group(cfg['dist']['backend'])\nDataLoader([1], **cfg['loader'])\n",
    )
    backend, shuffle = only(program.of(GroupInit)).backend, only(program.of(LoaderBuilt)).shuffle
    assert isinstance(backend, Symbol)
    assert (backend.origin, default_of(backend)) == ("configuration", "nccl")
    assert default_of(shuffle) is True


def test_comments_in_a_json_file_are_no_part_of_it(tmp_path):
    (tmp_path / "a.json").write_text('{"url": "tcp://a:1", // of the group\n"backend": "nccl" /* or gloo */}')
    program = read(
        tmp_path,
        "import json\ntext = ''\nfor line in open('a.json'):\n    text += line.split('//')[0]\n"
        "cfg = json.loads(text)\ndist.init_process_group(cfg['backend'], init_method=cfg['url'])\n",
    )
    assert default_of(only(program.of(GroupInit)).backend) == "nccl"
    assert default_of(only(program.of(GroupInit)).init_method) == "tcp://a:1"


def test_files_that_do_not_agree_say_nothing(tmp_path):
    (tmp_path / "a.json").write_text('{"backend": "nccl", "n": 1}')
    (tmp_path / "b.json").write_text('{"backend": "gloo", "n": 1}')
    program = read(tmp_path, "import json, sys\ndist.init_process_group(json.load(open(sys.argv[1]))['backend'])\n")
    assert default_of(only(program.of(GroupInit)).backend) is None


def test_hydra_gives_main_what_its_files_say_together(tmp_path):
    (tmp_path / "conf" / "data").mkdir(parents=True)
    (tmp_path / "conf" / "config.yaml").write_text("defaults:\n  - data: big\n  - _self_\nbackend: nccl\n")
    (tmp_path / "conf" / "data" / "big.yaml").write_text("shuffle: true\nfolder: ${oc.env:HOME}\n")
    program = read(
        tmp_path,
        """
        import hydra
        @hydra.main(version_base=None, config_path="conf", config_name="config")
        def main(cfg):
            dist.init_process_group(cfg.backend)
            DataLoader([1], shuffle=cfg.data.shuffle)
        main()
        """,
    )
    assert default_of(only(program.of(GroupInit)).backend) == "nccl"
    assert default_of(only(program.of(LoaderBuilt)).shuffle) is True


def test_instantiate_makes_what_a_target_names(tmp_path):
    (tmp_path / "config.yaml").write_text("trainer:\n  _target_: engine.Trainer\n  backend: nccl\n")
    program = read(
        tmp_path,
        """
        from omegaconf import OmegaConf
        from hydra.utils import instantiate
        trainer = instantiate(OmegaConf.load("config.yaml").trainer, model=nn.Linear(1, 1))
        trainer.start()
        """,
        engine="""
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel
        class Trainer:
            def __init__(self, backend, model):
                self.backend, self.model = backend, model
            def start(self):
                dist.init_process_group(self.backend)
                DistributedDataParallel(self.model)
        """,
    )
    assert default_of(only(program.of(GroupInit)).backend) == "nccl"
    assert program.of(ModelWrapped)


def test_a_configuration_in_the_code_is_what_it_says(tmp_path):
    program = read(
        tmp_path,
        """
        from easydict import EasyDict
        cfg = EasyDict({"data": {"shuffle": True}})
        cfg.data.size = 3
        DataLoader([1], cfg.data.size, **cfg.data)
        """,
    )
    assert truth(only(program.of(LoaderBuilt)).shuffle) is True


def test_yaml_is_read_as_far_as_it_is_plain():
    text = """
a: 1
b:
  - x: [1, 'two', {k: v}]
    y: off
  - "z"
c: |
  some text: more
d: !env HOME
e:
- 1e-3
f: "# no comment"
g: null
"""
    assert load_yaml(text) == {
        "a": 1,
        "b": [{"x": [1, "two", {"k": "v"}], "y": False}, "z"],
        "c": "some text: more\n",
        "d": UNKNOWN_VALUE,
        "e": [0.001],
        "f": "# no comment",
        "g": None,
    }


@pytest.mark.parametrize("text", ["a: 1\n  b: 2\n", "- 1\na: 2\n", "a: 'x\n", "\ta: 1", "a: \x00"])
def test_what_is_no_yaml_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        load_yaml(text)


COPIES = {
    "pairs": "for key, value in content.items():\n            setattr(self, key, value)",
    "keys": "for key in content:\n            setattr(self, key, content[key])",
    "some made plain": (
        "for key, value in content.items():\n            if isinstance(value, str):\n"
        "                value = value.strip()\n            setattr(self, key, value)"
    ),
}


@pytest.mark.parametrize("way", COPIES)
def test_an_object_has_the_attributes_that_a_loop_gives_it_from_a_file(tmp_path, way):
    (tmp_path / "config.yaml").write_text("a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nsize: 6\nf: 7\n", encoding="utf-8")
    program = read(
        tmp_path,
        f"""
import yaml
class Options:
    def __init__(self, path):
        with open(path) as stream:
            content = yaml.safe_load(stream)
        {COPIES[way]}
options = Options("config.yaml")
DataLoader(range(8), batch_size=options.size)
""",
    )
    assert default_of(only(program.of(LoaderBuilt)).batch_size) == 6


def test_the_type_of_what_a_file_says_decides(tmp_path):
    (tmp_path / "config.yaml").write_text("layers: 12\nstages: [3, 4]\n", encoding="utf-8")
    program = read(
        tmp_path,
        """
        import yaml
        content = yaml.safe_load(open("config.yaml"))
        DataLoader(range(8), batch_size=1 if isinstance(content["layers"], (tuple, list)) else 2)
        DataLoader(range(8), batch_size=1 if isinstance(content["stages"], (tuple, list)) else 2)
        """,
    )
    assert [default_of(built.batch_size) for built in program.of(LoaderBuilt)] == [2, 1]


def test_a_copy_of_a_configuration_still_has_what_the_program_put_in(tmp_path):
    program = read(
        tmp_path,
        "import json, sys\n"
        "class Lenient(dict):\n    def __missing__(self, key):\n        return None\n"
        "def lenient(opt):\n"
        "    if isinstance(opt, dict):\n        new = {}\n        for key, value in opt.items():\n"
        "            new[key] = lenient(value)\n        return Lenient(**new)\n"
        "    if isinstance(opt, list):\n        return [lenient(value) for value in opt]\n    return opt\n"
        "dist.init_process_group('gloo')\n"
        "opt = json.loads(sys.stdin.read())\nopt['rank'], opt['size'] = dist.get_rank(), dist.get_world_size()\n"
        "opt = lenient(opt)\nif opt['rank'] == 0:\n    dist.barrier()\n",
    )
    assert {kind for literal in only(program.of(Collective)).when for kind in literal.atom.kinds} == {"rank"}


def test_an_item_that_is_set_under_a_condition_is_a_choice(tmp_path):
    program = read(
        tmp_path,
        "import json, sys\ncfg = json.load(open(sys.argv[1]))\nif len(sys.argv) > 2:\n    cfg['backend'] = 'gloo'\n"
        "dist.init_process_group(cfg['backend'])\n",
    )
    assert len(only(program.of(GroupInit)).backend.options) == 2


NESTED = '{"data": {"train": {"loader": {"batch_size": 4, "shuffle": true}}}, "a": 1, "b": 2, "c": 3, "d": [1]}'
COPIED_BY_ITSELF = {
    "a dictionary that misses nothing": (
        "class Given(dict):\n    def __missing__(self, key):\n        return None\n"
        "def copied(part):\n    if isinstance(part, dict):\n        new = {}\n        for key, inner in part.items():\n"
        "            new[key] = copied(inner)\n        return Given(**new)\n"
        "    return [copied(one) for one in part] if isinstance(part, list) else part\n",
        "cfg['data']['train']['loader']['shuffle']",
    ),
    "a namespace": (
        "import argparse\ndef copied(part):\n    new = argparse.Namespace()\n    for key, inner in part.items():\n"
        "        setattr(new, key, copied(inner) if isinstance(inner, dict) else inner)\n    return new\n",
        "cfg.data.train.loader.shuffle",
    ),
}


@pytest.mark.parametrize("way", COPIED_BY_ITSELF)
def test_a_configuration_that_a_function_copies_by_calling_itself_is_the_same(tmp_path, way):
    function, wanted = COPIED_BY_ITSELF[way]
    (tmp_path / "a.json").write_text(NESTED)
    program = read(
        tmp_path,
        function + "import json\ncfg = json.load(open('a.json'))\ncfg['rank'] = dist.get_rank()\ncfg = copied(cfg)\n"
        f"DataLoader([1], shuffle={wanted})\n",
    )
    assert default_of(only(program.of(LoaderBuilt)).shuffle) is True


def test_a_rank_that_is_put_into_a_configuration_is_copied_with_it(tmp_path):
    (tmp_path / "a.json").write_text(NESTED)
    function, _ = COPIED_BY_ITSELF["a dictionary that misses nothing"]
    program = read(
        tmp_path,
        function + "import json\ncfg = json.load(open('a.json'))\ncfg['rank'] = dist.get_rank()\ncfg = copied(cfg)\n"
        "if cfg['rank'] == 0:\n    dist.barrier()\n",
    )
    (literal,) = only(program.of(Collective)).when
    assert literal.atom.kind == "rank"


def test_a_file_of_which_the_lines_are_put_together_is_that_file(tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "a.json").write_text(JSON)
    program = read(
        tmp_path,
        "import json\ndef load(path):\n    text = ''\n    with open(path) as f:\n        for line in f:\n"
        "            line = line.split('//')[0] + '\\n'\n            text += line\n    return json.loads(text)\n"
        "dist.init_process_group(load('deep/er/a.json')['dist']['backend'])\n",
    )
    assert default_of(only(program.of(GroupInit)).backend) == "nccl"


SETS = (
    "part.update({'shuffle': False})",
    "part.update(shuffle=False)",
    "part['shuffle'] = False",
    "cfg['loader']['shuffle'] = False",
)


@pytest.mark.parametrize("statement", SETS)
def test_what_is_set_in_a_part_of_a_configuration_stays_set(tmp_path, statement):
    (tmp_path / "a.json").write_text(JSON)
    program = read(
        tmp_path,
        f"import json\ncfg = json.load(open('a.json'))\npart = cfg['loader']\n{statement}\nDataLoader([1], **part)\n"
        "DataLoader([2], **cfg['loader'])\n",
    )
    assert [default_of(event.shuffle) for event in program.of(LoaderBuilt)] == [False, False]


HPARAMS = (
    "import json, sys\n"
    "class HParams:\n"
    "    def __init__(self, **kwargs):\n"
    "        for key, value in kwargs.items():\n"
    "            if type(value) == dict:\n"
    "                value = HParams(**value)\n"
    "            setattr(self, key, value)\n"
    "hps = HParams(**json.load(open(sys.argv[1])))\n"
)


def test_a_value_of_a_configuration_has_the_type_that_the_files_give_it(tmp_path):
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "a.json").write_text('{"train": {"group": {"backend": "nccl"}, "half": true}}')
    (tmp_path / "configs" / "b.json").write_text('{"train": {"group": {"backend": "gloo"}, "half": false}}')
    init = "if hps.train.half:\n    dist.init_process_group(hps.train.group.backend)\n"
    event = only(read(tmp_path, HPARAMS + init).of(GroupInit))
    assert event.backend.text() == "json['train']['group']['backend']"
    assert [literal.atom.text for literal in event.when] == ["json['train']['half']"]


def test_a_dictionary_that_is_put_into_a_configuration_gives_its_items_as_attributes(tmp_path):
    program = read(
        tmp_path,
        """
        from omegaconf import OmegaConf
        cfg = OmegaConf.load("c.yaml")
        cfg.runtime = {"first": dist.get_rank() == 0, "shuffle": True}
        cfg.runtime.shuffle = False
        if cfg.runtime.first:
            dist.barrier()
        loader = DataLoader(data, shuffle=cfg.runtime.shuffle)
        """,
    )
    assert ranks(only(program.of(Collective))) == [0]
    assert truth(only(program.of(LoaderBuilt)).shuffle) is False
