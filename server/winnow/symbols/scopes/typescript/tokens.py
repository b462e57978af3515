"""The queries for identifiers, scopes and what else binds names in TypeScript and JavaScript."""

from __future__ import annotations

_BOTH = """
(identifier) @identifier
(this) @identifier
(super) @identifier
(property_identifier) @identifier
(private_property_identifier) @identifier
(shorthand_property_identifier) @identifier @shorthand
(shorthand_property_identifier_pattern) @identifier @shorthand @bind
(function_declaration name: (identifier) @bind)
(generator_function_declaration name: (identifier) @bind)
(function_expression name: (identifier) @bind)
(class_declaration name: (_) @bind @name.both)
(class name: (_) @bind @name.both)
(variable_declarator name: (identifier) @bind)
(pair_pattern value: (identifier) @bind)
(array_pattern (identifier) @bind)
(array_pattern (assignment_pattern left: (identifier) @bind))
(rest_pattern (identifier) @bind)
(pair_pattern value: (assignment_pattern left: (identifier) @bind))
(for_in_statement left: (identifier) @bind)
(arrow_function parameter: (identifier) @parameter)
(catch_clause parameter: (identifier) @bind)
(assignment_expression left: [(object_pattern) (array_pattern)] @assigned)
(class_body (method_definition
  name: [(property_identifier) (private_property_identifier)] @member))
(pair key: (property_identifier) @key)
(pair_pattern key: (property_identifier) @key)
(object (method_definition name: (property_identifier) @key))
(object) @object
(object_pattern) @object
(function_declaration) @scope.function @function
(generator_function_declaration) @scope.function @function
(function_expression) @scope.function @function
(arrow_function) @scope.function @function
(method_definition) @scope.function @function
(class_declaration) @scope.class @class
(class) @scope.class @class
(variable_declarator !type name: (identifier) value: (object)) @scope.class @literal
(variable_declarator !type name: (identifier) value: (object
  (pair key: (property_identifier) value: (object)) @scope.class @literal))
(if_statement (statement_block) @scope.block)
(else_clause (statement_block) @scope.block)
(while_statement (statement_block) @scope.block)
(do_statement (statement_block) @scope.block)
(try_statement (statement_block) @scope.block)
(finally_clause (statement_block) @scope.block)
(statement_block (statement_block) @scope.block)
(program (statement_block) @scope.block)
(switch_body) @scope.block
(catch_clause) @scope.block
(for_statement) @scope.block
(for_in_statement) @scope.block
(class_body (method_definition "static") @static)
(new_expression constructor: [(identifier) (member_expression)] @new)
(call_expression function: (super) @new.super)
(call_expression function: (import) arguments: (arguments . (string))) @import.call
(subscript_expression index: (string (string_fragment) @quoted))
(variable_declaration) @hoisted
(arguments) @arguments
(subscript_expression) @subscript
(parenthesized_expression) @parenthesis
(await_expression) @await
(import_statement) @import
(export_statement) @export
(variable_declarator) @declarator
(for_in_statement) @loop
(return_statement (_)) @return
(comment) @comment
"""
_JSX = """
(jsx_opening_element) @object
(jsx_self_closing_element) @object
(jsx_attribute (property_identifier) @key)
"""
JAVASCRIPT = (
    _BOTH.replace("!type ", "")
    + _JSX
    + """
(formal_parameters (identifier) @parameter)
(formal_parameters (assignment_pattern left: (identifier) @parameter))
(formal_parameters (rest_pattern (identifier) @parameter))
(field_definition property: [(property_identifier) (private_property_identifier)] @member)
(field_definition "static") @static
(field_definition value: (_)) @field
(assignment_expression left: (member_expression object: (this))) @assignment.this
(assignment_expression
  left: (member_expression
    object: [(identifier) (member_expression)] property: (property_identifier))
  right: [(function_expression) (generator_function) (arrow_function)]) @assignment.member
(assignment_expression
  left: (member_expression object: (identifier) property: (property_identifier))
  right: (object)) @assignment.object
(assignment_expression left: (member_expression
  object: [(identifier) (member_expression)] @object.exports
  (#match? @object.exports "^(module\\\\.)?exports$"))) @assignment.exports
(assignment_expression left: (member_expression
  object: (identifier) @object.module property: (property_identifier) @property.exports)
  (#eq? @object.module "module") (#eq? @property.exports "exports")) @assignment.module
"""
)
TYPESCRIPT = (
    _BOTH
    + """
(type_identifier) @identifier @name.type
(nested_type_identifier module: (identifier) @name.namespace)
(nested_type_identifier module: (nested_identifier) @name.namespace)
(abstract_class_declaration name: (_) @bind @name.both)
(interface_declaration name: (_) @bind)
(enum_declaration name: (_) @bind @name.both)
(type_alias_declaration name: (_) @bind)
(internal_module name: (identifier) @bind)
(module name: (identifier) @bind)
(function_signature name: (identifier) @bind)
(ambient_declaration "global" (statement_block) @scope.namespace @global)
(import_alias . (identifier) @bind) @alias.import
(type_parameter name: (type_identifier) @bind)
(infer_type (type_identifier) @bind)
(mapped_type_clause name: (type_identifier) @bind)
(index_signature name: (identifier) @parameter)
(required_parameter pattern: (identifier) @parameter)
(optional_parameter pattern: (identifier) @parameter)
(required_parameter (accessibility_modifier) pattern: (identifier) @shorthand)
(required_parameter "readonly" pattern: (identifier) @shorthand)
(optional_parameter (accessibility_modifier) pattern: (identifier) @shorthand)
(optional_parameter "readonly" pattern: (identifier) @shorthand)
(public_field_definition name: [(property_identifier) (private_property_identifier)] @member)
(class_body (method_signature
  name: [(property_identifier) (private_property_identifier)] @member))
(interface_body (method_signature name: (property_identifier) @member))
(object_type (method_signature name: (property_identifier) @member))
(property_signature name: (property_identifier) @member)
(abstract_method_signature name: (property_identifier) @member)
(enum_body (property_identifier) @member)
(enum_assignment name: (property_identifier) @member)
(abstract_class_declaration) @scope.class @class
(interface_declaration) @scope.class @class
(enum_declaration) @scope.class
(type_alias_declaration) @scope.class @alias
(object_type) @scope.class
(internal_module name: (identifier)) @scope.namespace @namespace
(module name: (identifier)) @scope.namespace @namespace
(lookup_type (literal_type (string (string_fragment) @quoted)))
(class_declaration type_parameters: (_)) @scope.block
(abstract_class_declaration type_parameters: (_)) @scope.block
(interface_declaration type_parameters: (_)) @scope.block
(function_signature) @scope.function @function
(method_signature) @scope.function @function
(abstract_method_signature) @scope.function @function
(call_signature) @scope.function @signature
(construct_signature) @scope.function @signature
(function_type) @scope.function
(constructor_type) @scope.function
(call_expression type_arguments: (_) @typearguments)
(new_expression type_arguments: (_) @typearguments)
(parenthesized_expression [(as_expression) (satisfies_expression) (type_assertion)]) @casting
(public_field_definition "static") @static
(public_field_definition) @field
(property_signature) @field
(type_parameter constraint: (_)) @constrained
(required_parameter pattern: (this) type: (_)) @this
"""
)
TSX = TYPESCRIPT.replace(" (type_assertion)", "") + _JSX
# Names that are not symbols.
SKIPPED = frozenset(("this", "super", "undefined"))
