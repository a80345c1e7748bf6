package schema_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/revision.md says what every status and action means.
func TestStatusesAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/revision.md")
	require.NoError(t, err)
	sources, err := filepath.Glob("*.go")
	require.NoError(t, err)
	documented := map[string]int{"PutStatus": 0, "ReviseStatus": 0, "ReviseAction": 0, "PatchStatus": 0, "RecoverStatus": 0, "ReviewStatus": 0, "ForgetMode": 0}
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
