"""The languages whose symbols a repo map has: the endings of their files, their grammar, and what defines a symbol.

A query marks the definition with its kind (`@class`, `@function`, …) and its name with `@name`. A `@container` and a
`@namespace` are no symbols, but symbols are found in them. `@prose` is text written for people: comments, strings.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any

from msgspec import Struct

from transom.errors import InvalidSetting
from transom.extras import install_command

_PYTHON = """
(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(module (expression_statement (assignment left: (identifier) @name) @constant))
[(comment) (string)] @prose
"""
_SCRIPT = """
(method_definition name: (property_identifier) @name) @method
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(program (lexical_declaration (variable_declarator name: (identifier) @name) @constant))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @constant)))
[(comment) (string) (template_string)] @prose
"""
_JAVASCRIPT = "(class_declaration name: (identifier) @name) @class" + _SCRIPT
_TYPESCRIPT = (
    """
(class_declaration name: (type_identifier) @name) @class
(abstract_class_declaration name: (type_identifier) @name) @class
(interface_declaration name: (type_identifier) @name) @class
(type_alias_declaration name: (type_identifier) @name) @type
(enum_declaration name: (identifier) @name) @class
(method_signature name: (property_identifier) @name) @method
(abstract_method_signature name: (property_identifier) @name) @method
(function_signature name: (identifier) @name) @function
(internal_module name: (identifier) @name) @namespace
"""
    + _SCRIPT
)
_GO = """
(function_declaration name: (identifier) @name) @function
(method_declaration name: (field_identifier) @name) @method
(type_spec name: (type_identifier) @name) @class
(source_file (const_declaration (const_spec name: (identifier) @name) @constant))
(source_file (var_declaration (var_spec name: (identifier) @name) @constant))
[(comment) (interpreted_string_literal) (raw_string_literal)] @prose
"""
_RUST = """
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @class
(enum_item name: (type_identifier) @name) @class
(trait_item name: (type_identifier) @name) @class
(type_item name: (type_identifier) @name) @type
(macro_definition name: (identifier) @name) @function
(const_item name: (identifier) @name) @constant
(static_item name: (identifier) @name) @constant
(impl_item type: (_) @name) @container
(mod_item name: (identifier) @name) @namespace
[(line_comment) (block_comment) (string_literal) (raw_string_literal)] @prose
"""
_JAVA = """
(class_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @class
(enum_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
[(line_comment) (block_comment) (string_literal)] @prose
"""
_C = """
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @function
(function_declarator declarator: (identifier) @name) @function
(struct_specifier name: (type_identifier) @name body: (_)) @class
(enum_specifier name: (type_identifier) @name body: (_)) @class
(type_definition declarator: (type_identifier) @name) @type
(preproc_function_def name: (identifier) @name) @function
(preproc_def name: (identifier) @name) @constant
[(comment) (string_literal)] @prose
"""
_CPP = (
    """
(class_specifier name: (type_identifier) @name body: (_)) @class
(function_definition declarator: (function_declarator declarator: (field_identifier) @name)) @method
(function_declarator declarator: (field_identifier) @name) @method
(function_declarator declarator: (qualified_identifier name: (identifier) @name)) @method
(namespace_definition name: (namespace_identifier) @name) @namespace
"""
    + _C
)
_C_SHARP = """
(class_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @class
(struct_declaration name: (identifier) @name) @class
(enum_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(namespace_declaration name: (_) @name) @namespace
[(comment) (string_literal)] @prose
"""
_RUBY = """
(class name: (constant) @name) @class
(module name: (constant) @name) @class
(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
[(comment) (string)] @prose
"""
_PHP = """
(class_declaration name: (name) @name) @class
(interface_declaration name: (name) @name) @class
(trait_declaration name: (name) @name) @class
(enum_declaration name: (name) @name) @class
(function_definition name: (name) @name) @function
(method_declaration name: (name) @name) @method
[(comment) (string)] @prose
"""
_BASH = "(function_definition name: (word) @name) @function [(comment) (string)] @prose"


class Language(Struct, frozen=True):
    """A language that the map can read.

    `endings`: of its files; `package`: of its grammar; `function`: the function of that package that returns the
    grammar; `query`: finds definitions.
    """

    name: str
    endings: tuple[str, ...]
    package: str
    function: str
    query: str


LANGUAGES = (
    Language("python", (".py", ".pyi"), "tree_sitter_python", "language", _PYTHON),
    Language("javascript", (".js", ".jsx", ".mjs", ".cjs"), "tree_sitter_javascript", "language", _JAVASCRIPT),
    Language("typescript", (".ts", ".mts", ".cts"), "tree_sitter_typescript", "language_typescript", _TYPESCRIPT),
    Language("tsx", (".tsx",), "tree_sitter_typescript", "language_tsx", _TYPESCRIPT),
    Language("go", (".go",), "tree_sitter_go", "language", _GO),
    Language("rust", (".rs",), "tree_sitter_rust", "language", _RUST),
    Language("java", (".java",), "tree_sitter_java", "language", _JAVA),
    Language("c", (".c", ".h"), "tree_sitter_c", "language", _C),
    Language("cpp", (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), "tree_sitter_cpp", "language", _CPP),
    Language("csharp", (".cs",), "tree_sitter_c_sharp", "language", _C_SHARP),
    Language("ruby", (".rb",), "tree_sitter_ruby", "language", _RUBY),
    Language("php", (".php",), "tree_sitter_php", "language_php", _PHP),
    Language("bash", (".sh", ".bash"), "tree_sitter_bash", "language", _BASH),
)
"""Every language that has symbols."""

BY_ENDING = {ending: language for language in LANGUAGES for ending in language.endings}
"""The language of a file, by the ending of its name in lower case."""


@cache
def grammar(language: Language) -> tuple[Any, Callable[[], Any]]:
    """Load a language: return its parser, and a function that starts a search with its query. Both are kept for the
    next call. Raises ImportError if the package of its grammar is not installed."""
    from tree_sitter import Language as Grammar  # noqa: PLC0415 - an extra
    from tree_sitter import Parser, Query, QueryCursor  # noqa: PLC0415

    capsule = getattr(import_module(language.package), language.function)()
    found = Grammar(capsule)  # pyright: ignore[reportDeprecated] - a number is, a capsule is not
    query = Query(found, language.query)
    return Parser(found), lambda: QueryCursor(query)


def require_extra() -> None:
    """Raise InvalidSetting if a package of the extra `map` is not installed."""
    for package in ("numpy", "pathspec", "tree_sitter", *(language.package for language in LANGUAGES)):
        try:
            import_module(package)
        except ImportError:
            name = package.replace("_", "-")
            raise InvalidSetting(f"the repo map needs {name}: {install_command('map')}") from None


def versions() -> str:
    """Return the versions of the parser and of all grammars, in one line: another version may find other symbols.
    Raises PackageNotFoundError if one is not installed (`require_extra`)."""
    packages = dict.fromkeys(("tree_sitter", *(language.package for language in LANGUAGES)))
    return " ".join(version(package.replace("_", "-")) for package in packages)
