"""The symbols of a file in each language: what is local to a function is none, methods have their class."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.repo_map.languages import BY_ENDING, LANGUAGES
from transom.repo_map.symbols import MAX_IDENTIFIERS, MAX_SYMBOLS, Symbol, file_facts

SAMPLES = {
    ".py": (
        """\
LIMIT: int = 3
__all__ = ["A"]

@frozen
class A(Base, x=1):
    def run(
        self,
        a: int,
    ) -> str:
        def inner(): pass
        local = 1
    async def go(self): ...
def f(): return A()
""",
        [
            ("LIMIT", "constant", 1, "LIMIT", ""),
            ("A", "class", 5, "class A(Base, x=1)", ""),
            ("run", "function", 6, "def run(self, a: int) -> str", "A"),
            ("go", "function", 12, "async def go(self)", "A"),
            ("f", "function", 13, "def f()", ""),
        ],
    ),
    ".js": (
        """\
export const LIMIT = 3;
class A extends B {
  run(a, b) { const local = 1; }
}
function f(x) { function inner() {} }
""",
        [
            ("LIMIT", "constant", 1, "LIMIT", ""),
            ("A", "class", 2, "class A extends B", ""),
            ("run", "method", 3, "run(a, b)", "A"),
            ("f", "function", 5, "function f(x)", ""),
        ],
    ),
    ".ts": (
        """\
interface Shape { area(unit: string): number; }
type Size = { w: number };
enum Kind { A, B }
export class Box<T> implements Shape {
  area(unit: string): number { return 1; }
}
export const make = (w: number) => new Box();
""",
        [
            ("Shape", "class", 1, "interface Shape", ""),
            ("area", "method", 1, "area(unit: string): number", "Shape"),
            ("Size", "type", 2, "type Size = { w: number }", ""),
            ("Kind", "class", 3, "enum Kind", ""),
            ("Box", "class", 4, "class Box<T> implements Shape", ""),
            ("area", "method", 5, "area(unit: string): number", "Box"),
            ("make", "constant", 7, "make", ""),
        ],
    ),
    ".tsx": (
        """\
export function Page(props: Props) { return <div>{props.title}</div>; }
""",
        [("Page", "function", 1, "function Page(props: Props)", "")],
    ),
    ".go": (
        """\
package a
import "fmt"
const Limit = 3
type Box struct { w int }
func (b *Box) Area(unit string) (int, error) { x := 1; return x, nil }
func main() { fmt.Println() }
""",
        [
            ("Limit", "constant", 3, "Limit", ""),
            ("Box", "class", 4, "Box struct { w int }", ""),
            ("Area", "method", 5, "func (b *Box) Area(unit string) (int, error)", ""),
            ("main", "function", 6, "func main()", ""),
        ],
    ),
    ".rs": (
        """\
pub struct Box { w: i32 }
impl Box {
    pub fn area(&self) -> i32 { fn inner() {} 1 }
}
pub trait Shape { fn area(&self) -> i32; }
mod inside { pub fn f() {} }
const LIMIT: i32 = 3;
""",
        [
            ("Box", "class", 1, "pub struct Box", ""),
            ("area", "function", 3, "pub fn area(&self) -> i32", "Box"),
            ("Shape", "class", 5, "pub trait Shape", ""),
            ("area", "function", 5, "fn area(&self) -> i32", "Shape"),
            ("f", "function", 6, "pub fn f()", ""),
            ("LIMIT", "constant", 7, "LIMIT", ""),
        ],
    ),
    ".java": (
        """\
package a;
public class Box extends Shape {
  Box(int w) {}
  int area(String unit) { return 1; }
}
interface Shape { int area(); }
""",
        [
            ("Box", "class", 2, "public class Box extends Shape", ""),
            ("Box", "method", 3, "Box(int w)", "Box"),
            ("area", "method", 4, "int area(String unit)", "Box"),
            ("Shape", "class", 6, "interface Shape", ""),
            ("area", "method", 6, "int area()", "Shape"),
        ],
    ),
    ".h": (
        """\
#define LIMIT 3
struct box { int w; };
int area(struct box *b);
int one(void) { int x = 1; return x; }
""",
        [
            ("LIMIT", "constant", 1, "LIMIT", ""),
            ("box", "class", 2, "struct box", ""),
            ("area", "function", 3, "area(struct box *b)", ""),
            ("one", "function", 4, "int one(void)", ""),
        ],
    ),
    ".cpp": (
        """\
namespace shapes {
class Box : public Shape {
  int area(int unit) const;
};
int Box::area(int unit) const { return 1; }
}
""",
        [
            ("Box", "class", 2, "class Box : public Shape", ""),
            ("area", "method", 3, "area(int unit) const", "Box"),
            ("area", "method", 5, "Box::area(int unit) const", ""),
        ],
    ),
    ".cs": (
        """\
namespace A {
public class Box : Shape {
  public int Area(string unit) { return 1; }
}
}
""",
        [
            ("Box", "class", 2, "public class Box : Shape", ""),
            ("Area", "method", 3, "public int Area(string unit)", "Box"),
        ],
    ),
    ".rb": (
        """\
module Shapes
  class Box < Shape
    def area(unit)
      1
    end
  end
end
""",
        [
            ("Shapes", "class", 1, "module Shapes", ""),
            ("Box", "class", 2, "class Box < Shape", "Shapes"),
            ("area", "method", 3, "def area(unit)", "Box"),
        ],
    ),
    ".php": (
        """\
<?php
class Box extends Shape {
  public function area(string $unit): int { return 1; }
}
function f() {}
""",
        [
            ("Box", "class", 2, "class Box extends Shape", ""),
            ("area", "method", 3, "public function area(string $unit): int", "Box"),
            ("f", "function", 5, "function f()", ""),
        ],
    ),
    ".sh": (
        """\
# begin
build() {
  echo done
}
""",
        [("build", "function", 2, "build()", "")],
    ),
}


@pytest.mark.parametrize("ending", SAMPLES)
def test_symbols_of_a_language(ending):
    source, expected = SAMPLES[ending]
    facts = file_facts(source.encode(), BY_ENDING[ending])
    assert facts.symbols == tuple(Symbol(*each) for each in expected)


def test_every_language_has_a_sample():
    assert {BY_ENDING[ending].name for ending in SAMPLES} == {language.name for language in LANGUAGES}


def test_the_words_of_code_and_of_prose_are_apart():
    facts = file_facts(b'"""About folds."""\nfold = fold_over(view)  # the view\n', BY_ENDING[".py"])
    assert facts.identifiers == {"fold": 1, "fold_over": 1, "view": 1}
    assert facts.prose == {"About": 1, "folds": 1, "the": 1, "view": 1}


def test_a_file_with_syntax_errors_has_the_symbols_around_them():
    facts = file_facts(b"def good(): pass\n\ndef bad(:\n\n\nclass Fine:\n    pass\n", BY_ENDING[".py"])
    assert {"good", "Fine"} <= {symbol.name for symbol in facts.symbols}


def test_a_generated_file_is_bounded():
    lines = [f"def function_{n}(): return value_{n}" for n in range(MAX_IDENTIFIERS)]
    facts = file_facts("\n".join(lines).encode(), BY_ENDING[".py"])
    assert (len(facts.symbols), len(facts.identifiers)) == (MAX_SYMBOLS, MAX_IDENTIFIERS)


def test_a_signature_is_one_bounded_line_without_control_characters():
    hostile = "def f(a='\x1b[31m\u202e', " + ", ".join(f"argument_{n}" for n in range(90)) + "): pass\n"
    (symbol,) = file_facts(hostile.encode(), BY_ENDING[".py"]).symbols
    assert symbol.signature.startswith("def f(a=' [31m ', argument_0")
    assert (len(symbol.signature), symbol.signature[-1]) == (120, "…")
    assert symbol.signature.isprintable()


@given(st.binary(max_size=300), st.sampled_from(LANGUAGES), st.sampled_from(sorted(SAMPLES)))
def test_no_bytes_raise(data, language, ending):
    source = SAMPLES[ending][0].encode()
    for each in (data, source[: len(data)] + data, source[len(data) :]):
        for symbol in file_facts(each, language).symbols:
            assert symbol.signature.isprintable()
