// Package jsonschema embeds the JSON Schema documents of document 004 §15A and validates JSON against them. Its errors
// name fields and never quote values. A test of package schema checks that Go structs and documents have the same
// properties.
package jsonschema
