"""Schemas and interface definitions: SQL, Protocol Buffers, GraphQL, Prisma, Thrift, Cap'n
Proto."""

from __future__ import annotations

from winnow.symbols.language import Language

SQL = Language(
    name="sql",
    files=(".sql", ".ddl", ".pgsql", ".psql", ".mysql"),
    definitions="""
(create_table (object_reference name: (_) @name)) @definition.struct
(create_view (object_reference name: (_) @name)) @definition.struct
(create_materialized_view (object_reference name: (_) @name)) @definition.struct
(create_function (object_reference name: (_) @name)) @definition.function
(create_type (keyword_type) . (object_reference name: (_) @name)) @definition.type
(create_trigger (keyword_trigger) . (object_reference name: (_) @name)) @definition.event
(create_sequence (object_reference name: (_) @name)) @definition.variable
(create_index column: (identifier) @name) @definition.variable
(create_schema (identifier) @name) @definition.namespace
(create_database (identifier) @name) @definition.namespace
(column_definition name: (_) @name) @definition.field
""",
    comments=("comment", "marginalia"),
    header=("statement",),
    name_part=r"[^\"`\[\]]+",
)

PROTO = Language(
    name="proto",
    files=(".proto",),
    definitions="""
(package (full_ident) @name) @definition.namespace
(message (message_name) @name) @definition.struct
(enum (enum_name) @name) @definition.enum
(enum_field . (identifier) @name) @definition.enum_member
(service (service_name) @name) @definition.interface
(rpc (rpc_name) @name) @definition.method
(field (identifier) @name) @definition.field
(oneof . (identifier) @name) @definition.field
(oneof_field (identifier) @name) @definition.field
(map_field (identifier) @name) @definition.field
""",
)

GRAPHQL = Language(
    name="graphql",
    files=(".graphql", ".gql", ".graphqls"),
    definitions="""
(object_type_definition (description)? @doc (name) @name) @definition.class
(interface_type_definition (description)? @doc (name) @name) @definition.interface
(enum_type_definition (description)? @doc (name) @name) @definition.enum
(enum_value_definition (enum_value (name) @name)) @definition.enum_member
(input_object_type_definition (description)? @doc (name) @name) @definition.struct
(union_type_definition (description)? @doc (name) @name) @definition.union
(scalar_type_definition (description)? @doc (name) @name) @definition.type
(directive_definition (description)? @doc (name) @name) @definition.macro
(object_type_extension (name) @name) @inside
(interface_type_extension (name) @name) @inside
(field_definition (description)? @doc (name) @name) @definition.field
(input_fields_definition (input_value_definition (name) @name) @definition.field)
(operation_definition (name) @name) @definition.function
(fragment_definition (fragment_name (name) @name)) @definition.function
""",
)
