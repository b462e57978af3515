"""Grammars that Winnow loads for languages without a module, and their files.

An allow-list: `tests/symbols/extract/test_grammars.py` parses with each grammar. No other grammar
is loaded: `cobol`, for example, hangs at its first byte. The file extensions are those of GitHub
and ripgrep.
"""

from __future__ import annotations

from collections.abc import Mapping

# File extensions and complete file names, by grammar.
FILES: Mapping[str, str] = {
    "actionscript": ".as",
    "ada": ".ada .adb .ads",
    "agda": ".agda",
    "apex": ".apex .trigger",
    "bicep": ".bicep .bicepparam",
    "bitbake": ".bb .bbappend .bbclass",
    "bsl": ".bsl .os",
    "cairo": ".cairo",
    "capnp": ".capnp",
    "clarity": ".clar",
    "d": ".d .di",
    "elm": ".elm",
    "erlang": ".erl .hrl .escript .app.src rebar.config",
    "fish": ".fish",
    "fortran": ".f .f77 .for .ftn .f90 .f95 .f03 .f08 .F .F90 .F95",
    "fsharp": ".fs .fsx .fsscript",
    "fsharp_signature": ".fsi",
    "func": ".fc .func",
    "gdscript": ".gd",
    "gleam": ".gleam",
    "glsl": ".glsl .vert .frag .geom .comp .tesc .tese .fsh .glslv .glslf",
    "hack": ".hack .hhi",
    "hare": ".ha",
    "haxe": ".hx .hxsl",
    "hlsl": ".hlsl .hlsli .fx .fxh .cginc",
    "ispc": ".ispc",
    "julia": ".jl",
    "llvm": ".ll",
    "luau": ".luau",
    "nim": ".nim .nims .nimble",
    "nix": ".nix",
    "ocaml": ".ml .eliom",
    "ocaml_interface": ".mli .eliomi",
    "odin": ".odin",
    "pascal": ".pas .dpr .dpk .lpr",
    "perl": ".pl .pm .perl .psgi .t cpanfile",
    "pony": ".pony",
    "powershell": ".ps1 .psm1 .psd1",
    "puppet": ".pp Puppetfile",
    "purescript": ".purs",
    "qmljs": ".qml .qbs",
    "smithy": ".smithy",
    "solidity": ".sol",
    "squirrel": ".nut",
    "starlark": ".bzl .bazel .star .sky BUILD WORKSPACE BUCK Tiltfile",
    "tablegen": ".td",
    "tcl": ".tcl .tm .adp .exp",
    "thrift": ".thrift",
    "v": ".vsh v.mod",
    "verilog": ".v .vh .sv .svh",
    "vhdl": ".vhd .vhdl",
    "vim": ".vim .vimrc vimrc .gvimrc _vimrc",
    "wgsl": ".wgsl",
}

# Interpreters in a `#!` line, by grammar.
PROGRAMS: Mapping[str, str] = {
    "erlang": "escript",
    "fish": "fish",
    "julia": "julia",
    "ocaml": "ocaml",
    "perl": "perl",
    "powershell": "pwsh",
    "tcl": "tclsh wish expect",
}

# Query patterns for what the shape of a tree does not show, by grammar; they come first.
PATTERNS: Mapping[str, str] = {
    "erlang": """
(module_attribute name: (_) @name) @definition.module
(pp_define lhs: (macro_lhs name: (_) @name)) @definition.macro
(type_alias name: (type_name name: (_) @name)) @definition.type
(record_decl name: (_) @name) @definition.struct
(record_field name: (_) @name) @definition.field
""",
    "julia": """
(assignment . (call_expression . (identifier) @name)) @definition.function
(const_statement (assignment . (identifier) @name)) @definition.constant
""",
    "ocaml": """
(variant_declaration (constructor_declaration (constructor_name) @name) @definition.enum_member)
(field_declaration . (field_name) @name) @definition.property
(exception_definition (constructor_declaration (constructor_name) @name)) @definition.type
(external (value_name) @name) @definition.function
(let_binding pattern: (value_name) @name (parameter)) @definition.function
(let_binding pattern: (value_name) @name body: (fun_expression)) @definition.function
(let_binding pattern: (value_name) @name body: (function_expression)) @definition.function
""",
    "ocaml_interface": """
(variant_declaration (constructor_declaration (constructor_name) @name) @definition.enum_member)
(field_declaration . (field_name) @name) @definition.property
(exception_definition (constructor_declaration (constructor_name) @name)) @definition.type
(value_specification (value_name) @name) @definition.function
""",
}
