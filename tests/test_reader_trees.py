"""The nodes of trees are those that ``ast.walk`` finds, in its order."""

import ast
from pathlib import Path

import pytest

from ddpdoctor.reader.trees import nodes_of, own_nodes

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "ddpdoctor" / "reader").glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_all_nodes_but_contexts_are_found(file):
    tree = ast.parse(file.read_bytes())
    assert nodes_of(tree) == [node for node in ast.walk(tree) if not isinstance(node, ast.expr_context)]


def test_what_is_defined_in_a_body_keeps_its_own_nodes():
    body = ast.parse("for x in a:\n    def f(): return b\n    class C: y = c\n    z = lambda: d\n    {e: 1, **g}").body
    assert {node.id for node in own_nodes(body) if isinstance(node, ast.Name)} == {"x", "a", "z", "e", "g"}
    assert {type(node) for node in own_nodes(body)} >= {ast.FunctionDef, ast.ClassDef, ast.Lambda}
