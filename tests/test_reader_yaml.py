"""What is read of YAML: what PyYAML makes of it, and no more of templates, tags and resolvers than they say."""

import time

import pytest

from ddpdoctor.reader.yaml_text import load_yaml
from ddpdoctor.value import UNKNOWN_VALUE

READ = {
    "anchors": ("base: &base {size: 4}\nb: *base\n", {"base": {"size": 4}, "b": {"size": 4}}),
    "a merge key": ("x: &x {a: 1, b: 2}\ny:\n  <<: *x\n  b: 3\n", {"x": {"a": 1, "b": 2}, "y": {"a": 1, "b": 3}}),
    "several merged": (
        "x: &x {a: 1}\ny: &y {a: 2, b: 2}\nz: {<<: [*x, *y]}\n",
        {"x": {"a": 1}, "y": {"a": 2, "b": 2}, "z": {"a": 1, "b": 2}},
    ),
    "a text over lines": ("a: >\n  one\n  two\nb: 1\n", {"a": "one two\n", "b": 1}),
    "a list in lines": ("a: [1,\n    2]\n", {"a": [1, 2]}),
    "a quoted number": ("a: '1'\n", {"a": "1"}),
    "a number of a core tag": ("a: !!int 3\n", {"a": 3}),
    "a colon in a text": ("url: tcp://localhost:1\n", {"url": "tcp://localhost:1"}),
    "the first of two documents": ("---\na: 1\n---\na: 2\n", {"a": 1}),
    "nothing": ("# only a comment\n", None),
    "a number as OmegaConf has it": ("lr: 1e-3\n", {"lr": 0.001}),
    "a tag of the program's own": ("a: !include b.yaml\nb: 1\n", {"a": UNKNOWN_VALUE, "b": 1}),
    "a resolver": ("a: ${oc.env:HOME}\nb: x/${a}\n", {"a": UNKNOWN_VALUE, "b": UNKNOWN_VALUE}),
    "lines that steer a template": ("{% if big %}\na: 1\n{% endif %}\nb: {{ size }}\n", {"a": 1, "b": UNKNOWN_VALUE}),
    "a list in itself": ("a: &a [1, *a]\n", {"a": [1, UNKNOWN_VALUE]}),
}


@pytest.mark.parametrize("name", READ)
def test_what_is_read(name):
    text, content = READ[name]
    assert load_yaml(text) == content


def test_what_a_mapping_gets_from_something_unknown_is_not_known():
    assert load_yaml("a:\n  <<: !include b.yaml\n  c: 1\n") == {"a": UNKNOWN_VALUE}


LAUGHS = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
ENDLESS = {
    "aliases of aliases": LAUGHS,
    "deep lists": "a: " + "[" * 40_000,
    "deep mappings": "\n".join(" " * i + "a:" for i in range(300)),
    "open braces": "{" * 40_000,
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_would_take_for_ever_is_refused_at_once(name):
    begun = time.process_time()
    with pytest.raises(ValueError, match=r"."):
        load_yaml(ENDLESS[name])
    assert time.process_time() - begun < 5  # some hundredths; without a bound it is hours, or a crash
