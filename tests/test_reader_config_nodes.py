"""What the reader knows of nodes of yacs: what is written into them is a default once the user's values are merged."""

import pytest
from reading import only, read

from ddpdoctor.events import GroupInit, LoaderBuilt, OptionDefined
from ddpdoctor.facts import default_of
from ddpdoctor.value import Symbol

NODE = (
    "from {module} import CfgNode as CN\n{derived}cfg = CN()\ncfg.BACKEND = 'nccl'\ncfg.TRAIN = CN()\n"
    "cfg.TRAIN.DISTRIBUTED = False\n{merged}\ncfg.freeze()\n"
    "if cfg.TRAIN.DISTRIBUTED:\n    dist.init_process_group(cfg.BACKEND)\n"
)
MERGED = ("cfg.merge_from_file(sys.argv[1])", "if sys.argv[1:]:\n    cfg.merge_from_list(sys.argv[1:])")


@pytest.mark.parametrize("merged", MERGED)
@pytest.mark.parametrize("module", ["yacs.config", "fvcore.common.config"])
@pytest.mark.parametrize("derived", ["", "class Own(CN):\n    pass\nCN = Own\n"])
def test_what_the_user_merges_may_be_anything(tmp_path, merged, module, derived):
    program = read(tmp_path, "import sys\n" + NODE.format(module=module, merged=merged, derived=derived))
    event = only(program.of(GroupInit))
    assert isinstance(event.backend, Symbol)
    assert (event.backend.origin, default_of(event.backend)) == ("configuration", "nccl")
    assert [str(literal) for literal in event.when] == ["cfg.TRAIN.DISTRIBUTED"]


@pytest.mark.parametrize("merged", ["", "cfg.merge_from_list(sys.argv[1:])\ncfg.TRAIN.DISTRIBUTED = False"])
def test_what_is_written_and_not_merged_after_it_stays(tmp_path, merged):
    program = read(tmp_path, "import sys\n" + NODE.format(module="yacs.config", merged=merged, derived=""))
    assert not program.of(GroupInit)


def test_an_option_is_not_its_default_where_it_decides(tmp_path):
    program = read(
        tmp_path,
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--shuffle', type=int, default=1)\n"
        "args = parser.parse_args()\nsampler = DistributedSampler([1])\n"
        "DataLoader([1], sampler=sampler, shuffle=args.shuffle and sampler is None)\n",
    )
    assert not default_of(only(program.of(LoaderBuilt)).shuffle)


@pytest.mark.parametrize("table", ["OPTIONS", "OPTIONS[part]"])
def test_options_of_a_table_are_declared_one_by_one(tmp_path, table):
    names = "\n".join(f"    '--a{n}': {{'type': int, 'default': {n}}}," for n in range(9))
    options = f"{{\n    '--local_rank': {{'default': 7}},\n{names}\n}}"
    loop = f"for flag, said in {table}.items():\n    parser.add_argument(flag, **said)\n"
    if table != "OPTIONS":
        options = f"{{'a': {options}, 'b': {{}}, 'c': {{}}, 'd': {{}}, 'e': {{}}, 'f': {{}}}}"
        loop = "for part in OPTIONS:\n    " + loop.replace("\n", "\n    ").rstrip() + "\n"
    program = read(tmp_path, f"import argparse\nOPTIONS = {options}\nparser = argparse.ArgumentParser()\n{loop}")
    defined = program.of(OptionDefined)
    assert [event.default.value for event in defined] == [7, *range(9)]
    assert defined[0].written.line < defined[0].place.line - 9
