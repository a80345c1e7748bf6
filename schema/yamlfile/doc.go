// Package yamlfile reads YAML files of operators strictly: one document with only known members and without duplicates.
// It collects every problem with its path and line. The packages that read a file interpret its members: client for
// schedules, memory/policy for classification rules.
package yamlfile
