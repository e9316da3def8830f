"""F-strings that only Python 3.12 parses are read by older ones too, each character in its place."""

import ast

import pytest
from reading import only, read

from ddpdoctor.events import Collective
from ddpdoctor.reader.nested_quotes import for_older_python


@pytest.mark.parametrize(
    ("text", "older"),
    [
        ('x = f"a {d["k"]} b"', "x = f\"a {d['k']} b\""),
        ("x = f'{', '.join(f'{y}' for y in z)}'", 'x = f\'{", ".join(f"{y}" for y in z)}\''),
        (r'x = f"{"\n".join(z)} {v:>{w}}"', "x = f\"{'  '.join(z)} {v:>{w}}\""),
        ('x = f"{d["it\'s"]!r} {{no}}"', "x = f\"{d['it s']!r} {{no}}\""),
        (r'x = f"""{"\t".join(z)} {d["a"]}"""', 'x = f"""{"  ".join(z)} {d["a"]}"""'),
        ('x = f"{d[""]}"  # f"{"', 'x = f"{d[\'\']}"  # f"{"'),
        (r'x = rf"{d["k"]}\d" + "\"{" ', r"""x = rf"{d['k']}\d" + "\"{" """),
        (
            'x = f"{d["k"]}: {1 if y != "a" else 2}"',
            "x = f\"{d['k']}: {1 if y != 'a' else 2}\"",
        ),
    ],
)
def test_quotes_and_backslashes_in_the_braces_are_replaced(text, older):
    assert for_older_python(text) == older
    assert len(older) == len(text)
    ast.parse(older)


@pytest.mark.parametrize(
    "text",
    ['x = "a" + f"{b}"', 'x = f"{f"{f"{a}"}"}"', "x = f'{\n1}'", "x = f'{", "x = f'{y:", "x = f'{a # b}'"],
)
def test_what_needs_nothing_or_cannot_keep_its_places_is_left(text):
    assert for_older_python(text) is None


def test_a_module_that_is_written_for_python_3_12_is_read(tmp_path):
    program = read(tmp_path, 'print(f"best {best["epoch"]}: {", ".join(names)}")\ndist.barrier()\n')
    assert only(program.of(Collective)).op == "barrier"
