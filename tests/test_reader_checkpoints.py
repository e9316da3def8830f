"""What the reader knows of checkpoints and trackers: which states are saved, loaded and changed on the way."""

from reading import only, ranks, read

from ddpdoctor.events import FileUsed, ItemTaken, StateLoaded, TrackerStarted
from ddpdoctor.value import is_none

WRAPPED = """
dist.init_process_group("nccl")
net = nn.Linear(2, 2)
ddp = DDP(net)
optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
"""


def test_a_saved_dictionary_has_the_states_that_it_holds(tmp_path):
    program = read(
        tmp_path,
        WRAPPED
        + "torch.save({'a': {'net': ddp.state_dict()}, 'b': net.state_dict(), 'c': optimizer.state_dict()}, 'x')",
    )
    (save,) = program.of(FileUsed)
    assert [(state.keys, state.prefixed, state.module) for state in save.states] == [
        (("a", "net"), True, True),
        (("b",), False, True),
        (("c",), False, False),
    ]


def test_a_loaded_state_is_that_of_a_file_and_of_its_items(tmp_path):
    program = read(
        tmp_path,
        WRAPPED + "net.load_state_dict(torch.load('x', map_location='cpu')['a'].get('net'), strict=False)",
    )
    (load,) = program.of(FileUsed)
    loaded = only(program.of(StateLoaded))
    assert loaded.read == (load.order,)
    assert (loaded.keys, loaded.strict, loaded.prefixed, loaded.module) == (("a", "net"), False, False, True)
    assert load.map_location.text() == "'cpu'"


def test_a_state_that_was_changed_on_the_way_has_no_keys_and_is_still_of_the_file(tmp_path):
    program = read(
        tmp_path,
        WRAPPED
        + """
state = torch.load("x")
state.pop("fc.weight")
net.load_state_dict(state)
net.load_state_dict({name[7:]: value for name, value in torch.load("y").items()})
other = torch.load("z")
adapt(other)
net.load_state_dict(other["model"])
""",
    )
    assert [(event.keys, len(event.read)) for event in program.of(StateLoaded)] == [(None, 1)] * 3


def test_a_location_may_come_through_what_is_not_known(tmp_path):
    program = read(tmp_path, "import sys\ntorch.load('x', **vars(sys))\ntorch.load('y')\n")
    first, second = program.of(FileUsed)
    assert not is_none(first.map_location)
    assert is_none(second.map_location)


def test_a_model_that_was_stored_whole_is_loaded_into_nothing(tmp_path):
    program = read(tmp_path, "model = torch.load('x')\nmodel.eval()\n")
    assert is_none(only(program.of(StateLoaded)).into)


def test_a_tracker_starts_where_nothing_turns_it_off(tmp_path):
    program = read(
        tmp_path,
        """
        import wandb
        if dist.get_rank() != 0:
            os.environ["WANDB_MODE"] = "disabled"
        wandb.init()
        """,
    )
    assert ranks(only(program.of(TrackerStarted))) == [0]


def test_the_items_that_are_saved_and_taken_out_again(tmp_path):
    program = read(
        tmp_path,
        """
        net = nn.Linear(2, 2)
        torch.save({"config": 1, "model": net.state_dict()}, "a.pth")
        config = torch.load(option)["config"]
        """,
    )
    saved, loaded = program.of(FileUsed)
    assert saved.keys == ("config", "model")
    assert [(event.key, event.read) for event in program.of(ItemTaken)] == [("config", (loaded.order,))]
