"""Batches that a script takes without a DataLoader: which of them every rank takes alike."""

import pytest
from reading import only, read

from ddpdoctor import registry
from ddpdoctor.events import LoaderBuilt

CLASS = """
class Batches:
    def __init__(self, tokens{params}):
        self.tokens = tokens
        self.position = {start}

    def next(self):
        begin = self.position
        part = self.tokens[begin : begin + 65]
        self.position += {step}
        {more}
        return part[:-1], part[1:]
"""
TRAINING = """
import numpy as np
import random

def main():
    rank = int(os.environ["RANK"])
    dist.init_process_group("nccl")
    {seed}
    tokens = {tokens}
    {made}
    model = DDP(nn.Embedding(97, 97).cuda(), device_ids=[int(os.environ["LOCAL_RANK"])])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(100):
        x, y = {taken}
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
    dist.destroy_process_group()

main()
"""
ORDER = {"params": "", "start": "0", "step": "64", "more": "pass"}
ALIKE = {"seed": "pass", "tokens": "np.fromfile('tokens.bin')", "made": "batches = Batches(tokens)"}
FUNCTION = """
def batch(tokens):
    places = {places}
    x = torch.stack([torch.from_numpy(tokens[i : i + 64]) for i in places])
    y = torch.stack([torch.from_numpy(tokens[i + 1 : i + 65]) for i in places])
    return {returned}
"""
DRAWN = {"places": "torch.randint(len(tokens) - 64, (8,))", "returned": "x, y"}


def found(tmp_path, functions, **training):
    text = functions + TRAINING.format(**{**ALIKE, **training})
    program = read(tmp_path, text)
    return program, list(registry.load("unsharded-loader").predict(program))


IN_ORDER = {
    "plain": ({}, {}, True),
    "round and round": ({"more": "if self.position > 1000: self.position = 0"}, {}, True),
    "from the rank's place": (
        {"params": ", rank", "start": "64 * rank", "step": "64 * 8"},
        {"made": "batches = Batches(tokens, rank)"},
        False,
    ),
    "a rank that is looked up": ({"start": "64 * dist.get_rank()", "step": "64 * dist.get_world_size()"}, {}, False),
    "a start that is given": (
        {"params": ", start", "start": "start"},
        {"made": "batches = Batches(tokens, 64 * rank)"},
        False,
    ),
    "data of the rank's own": ({}, {"tokens": "np.fromfile(f'tokens.{rank}.bin')"}, False),
    "a buffer that is filled": ({"more": "self.tokens[self.position] = 1"}, {}, False),
    "a list that is filled": ({"more": "self.tokens.append(1)"}, {}, False),
    "a place that does not move": ({"more": "self.position = 0", "step": "0"}, {}, True),
}


@pytest.mark.parametrize("name", IN_ORDER)
def test_batches_from_a_position_on(tmp_path, name):
    made, training, alike = IN_ORDER[name]
    _, faults = found(tmp_path, CLASS.format(**{**ORDER, **made}), taken="batches.next()", **training)
    assert bool(faults) is alike


AT_RANDOM = {
    "one seed": ({}, {"seed": "torch.manual_seed(1)"}, True),
    "one seed for the other generator": ({}, {"seed": "np.random.seed(1)"}, False),
    "a seed for each rank": ({}, {"seed": "torch.manual_seed(1 + rank)"}, False),
    "a seed for each rank besides": ({}, {"seed": "torch.manual_seed(1); torch.cuda.manual_seed(rank)"}, False),
    "no seed": ({}, {}, False),
    "a seed only where it is asked for": ({}, {"seed": "if os.environ.get('SEED'): torch.manual_seed(1)"}, False),
    "numpy": ({"places": "np.random.randint(0, len(tokens), 8)"}, {"seed": "np.random.seed(1)"}, True),
    "the standard library": (
        {"places": "[random.randint(0, 1000) for _ in range(8)]"},
        {"seed": "random.seed(1)"},
        True,
    ),
    "sampled places": ({"places": "random.sample(range(len(tokens)), 8)"}, {"seed": "random.seed(1)"}, True),
    "sampled things": ({"places": "random.sample(tokens, 8)"}, {"seed": "random.seed(1)"}, False),
    "a generator of its own": (
        {"places": "torch.randint(len(tokens), (8,), generator=torch.Generator())"},
        {"seed": "torch.manual_seed(1)"},
        False,
    ),
    "a part for each rank": (
        {"returned": "x[dist.get_rank() :: 8], y[dist.get_rank() :: 8]"},
        {"seed": "torch.manual_seed(1)"},
        False,
    ),
}


@pytest.mark.parametrize("name", AT_RANDOM)
def test_batches_at_random_places(tmp_path, name):
    made, training, alike = AT_RANDOM[name]
    functions = FUNCTION.format(**{**DRAWN, **made})
    _, faults = found(tmp_path, functions, **{"made": "pass", "taken": "batch(tokens)", **training})
    assert bool(faults) is alike


def test_what_takes_the_batches_stands_for_the_loader(tmp_path):
    program, faults = found(tmp_path, CLASS.format(**ORDER), taken="batches.next()")
    event = only(program.of(LoaderBuilt))
    assert event.by_hand == "in order"
    assert only(faults).place == event.loader.place
