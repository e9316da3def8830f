"""What the bytes of a file are: every encoding that Python knows, and lines as Python counts them."""

import encodings
import pkgutil
import subprocess
import sys

import pytest
from reading import only, read

from ddpdoctor import reader
from ddpdoctor.content import decode, lines_of
from ddpdoctor.events import Collective, Unparsed

ENCODINGS = sorted({module.name for module in pkgutil.iter_modules(encodings.__path__)} | {"mbcs", "x" * 300, "utf-8"})


@pytest.mark.parametrize("body", [b"x = 1\n", b"x = '\xe9\xff\x81'\n", b"x = '\\ud800'\n", b"x." * 40 + b"y\n"])
def test_whatever_a_coding_line_names_the_file_is_read_or_a_finding(body):
    for name in ENCODINGS:
        content = b"# coding: " + name.encode() + b"\n" + body
        (program,) = reader.read("/-", "/", content)
        _, problem = decode(content)
        if problem is not None:
            assert name in only(program.of(Unparsed)).message


@pytest.mark.parametrize("name", ["undefined", "punycode", "rot13", "nonsense"])
def test_an_encoding_that_python_refuses_is_named(name):
    (program,) = reader.read("/-", "/", f"# coding: {name}\nx = 1\n".encode())
    assert name in only(program.of(Unparsed)).message


def test_a_coding_line_counts_only_where_python_looks_for_one():
    assert decode('x = 1\n# coding: latin-1\ny = "é"\n'.encode())[0].count("é") == 1
    assert decode(b"\n# coding: latin-1\ny = '\xe9'\n")[0].count("é") == 1
    assert decode(b"#!/usr/bin/python\r\n# coding: latin-1\r\ny = '\xe9'\r\n")[0].count("é") == 1


def test_lines_are_counted_as_python_counts_them(tmp_path):
    assert lines_of("a\r\nb\x0cc\u2028d\re") == ["a", "b\x0cc\u2028d", "e"]
    program = read(tmp_path, 'a = "\u2028é"\n\x0c\nx = "é"; dist.barrier()\n')
    assert only(program.of(Collective)).place.column == 10


def test_lines_are_read_without_the_reader():
    lines = "import sys, ddpdoctor.lines; print([name for name in sys.modules if name.startswith('ddpdoctor.reader')])"
    assert subprocess.check_output([sys.executable, "-c", lines], text=True) == "[]\n"
