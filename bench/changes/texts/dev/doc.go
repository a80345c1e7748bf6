// Package dev holds the texts of the development half. Package changes makes
// conversations of them.
package dev
