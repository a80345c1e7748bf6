// Package jsonschema has the JSON Schema documents of document 004 §15A, embedded, and validates JSON against them. Its
// errors name fields and never quote values. It knows nothing of Go's types: a test of package schema checks that
// structs and documents have the same properties.
package jsonschema
