package schema_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/revision.md describes every status and action.
func TestStatusesAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/revision.md")
	require.NoError(t, err)
	sources, err := filepath.Glob("*.go")
	require.NoError(t, err)
	documented := map[string]int{"PutStatus": 0, "ReviseStatus": 0, "ReviseAction": 0, "PatchStatus": 0,
		"RecoverStatus": 0, "ReviewStatus": 0, "ForgetMode": 0}
	inspect := func(n ast.Node) bool {
		constant, ok := n.(*ast.ValueSpec)
		if !ok || len(constant.Values) != 1 {
			return true
		}
		of, isNamed := constant.Type.(*ast.Ident)
		value, isLiteral := constant.Values[0].(*ast.BasicLit)
		if !isNamed || !isLiteral {
			return true
		}
		if _, ok := documented[of.Name]; ok {
			word, err := strconv.Unquote(value.Value)
			require.NoError(t, err)
			require.Contains(t, string(text), "`"+word+"`", of.Name)
			documented[of.Name]++
		}
		return true
	}
	for _, source := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, inspect)
	}
	for name, n := range documented {
		require.Positive(t, n, name)
	}
}

// The user documentation cites the source documents by a short name with a link to docs/sources.md. Only that page
// uses their numbers, for readers of the code.
func TestSourcesAreCitedByName(t *testing.T) {
	t.Parallel()
	const page = "../docs/sources.md"
	numbered := regexp.MustCompile(`(?i)\bdocument\s+00[1-4]`)
	for _, pattern := range []string{"../README.md", "../docs/*.md", "../docs/reference/*.md", "jsonschema/*.json",
		"../deploy/grafana/dashboards/*.json"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, file := range files {
			if file == page {
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NotRegexp(t, numbered, string(text), file)
			if filepath.Ext(file) == ".md" && regexp.MustCompile(`\bRFC(\]\(| §|'s)|ADR-058|\bSignet\b`).Match(text) {
				require.Contains(t, string(text), "sources.md", file)
			}
		}
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, n := range []string{"001", "002", "003", "004"} {
		require.Contains(t, string(text), "| document "+n+" |")
	}
}
