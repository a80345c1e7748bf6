package workflows_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
)

// conformanceSections are the sections of document 004 that docs/reference/conformance.md covers.
var conformanceSections = strings.Fields("4 5 6 7 8 9 12 13 14 15.0 15.1 15.2 15.3 15.4 15.5 15.6 15.7 15.8 15.9 " +
	"15.10 15A 15B")

var (
	conformanceHeading = regexp.MustCompile(`^#+ +(?:§ ?|Section )?([0-9]+[AB]?(?:\.[0-9]+)?)\b`)
	backticked         = regexp.MustCompile("`([^`]+)`")
	testReference      = regexp.MustCompile(`^(?:([a-z/]+)\.)?(Test[A-Za-z0-9_]+)(?:/.*)?$`)
	qualifiedSymbol    = regexp.MustCompile(`^([a-z]+(?:/[a-z]+)*)\.([A-Z][A-Za-z0-9]*)`)
	openWord           = regexp.MustCompile(`\bopen\b`)
)

// conformanceRow is one requirement in the page.
type conformanceRow struct {
	line               int
	requirement, level string
	where, test        string
}

// readConformance returns the page's sections and its rows.
func readConformance(t testing.TB) (sections map[string]int, rows []conformanceRow) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testkit.Root(), "docs", "reference", "conformance.md"))
	require.NoError(t, err)
	sections = map[string]int{}
	section := ""
	for i, line := range strings.Split(string(data), "\n") {
		if m := conformanceHeading.FindStringSubmatch(line); m != nil {
			section = m[1]
			sections[section] += 0
		}
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(strings.Trim(line, "| "), "-") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		require.Len(t, cells, 4, "line %d", i+1)
		for c := range cells {
			cells[c] = strings.TrimSpace(cells[c])
		}
		if strings.EqualFold(cells[len(cells)-1], "test") {
			continue // table header
		}
		rows = append(rows, conformanceRow{i + 1, cells[0], cells[1], cells[2], cells[3]})
		sections[section]++
	}
	return sections, rows
}

// TestConformanceNamesRealTests checks docs/reference/conformance.md against the source tree: every section has
// content, every test and place that it names exists, and every requirement has a test or a place, or is open.
func TestConformanceNamesRealTests(t *testing.T) {
	t.Parallel()
	sections, rows := readConformance(t)
	seen := map[string]bool{}
	for _, row := range rows {
		at := fmt.Sprintf("line %d: %s", row.line, row.requirement)
		require.NotEmpty(t, row.requirement, at)
		require.Regexp(t, `\b(MUST|SHALL|SHOULD|MAY|REQUIRED)\b`, row.level, at)
		tests := backticked.FindAllStringSubmatch(row.test, -1)
		for _, m := range tests {
			ref := testReference.FindStringSubmatch(m[1])
			require.NotNil(t, ref, "%s: %s is not a test", at, m[1])
			dir := ref[1]
			if dir == "" {
				dir = "workflows"
			}
			found, err := testsOf(dir)
			require.NoError(t, err, at)
			require.True(t, found[ref[2]], "%s: there is no %s in %s", at, ref[2], dir)
			seen[ref[2]] = true
		}
		places := checkPlaces(t, at, row.where)
		require.True(t, len(tests) > 0 || places > 0 || openWord.MatchString(row.where) ||
			openWord.MatchString(row.test), "%s: no test, no place and not open", at)
	}
	for _, section := range conformanceSections {
		require.Positive(t, sections[section], "section %s", section)
	}
	// Conversely, the suite's tests are all in the page.
	found, err := testsOf("workflows")
	require.NoError(t, err)
	for name := range found {
		if strings.HasPrefix(name, "TestSection") {
			require.True(t, seen[name], "%s is not on the page", name)
		}
	}
}

// checkPlaces checks the files and symbols that a cell names, and returns the number of files. A symbol must occur in
// the files of its cell.
func checkPlaces(t testing.TB, at, cell string) int {
	t.Helper()
	var text strings.Builder
	var symbols []string
	files := 0
	for _, m := range backticked.FindAllStringSubmatch(cell, -1) {
		name, symbol, _ := strings.Cut(m[1], ":")
		path := filepath.Join(testkit.Root(), filepath.FromSlash(name))
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			files++
		case err == nil:
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			text.Write(data)
			files++
			if symbol = strings.TrimSpace(symbol); symbol != "" {
				symbols = append(symbols, symbol)
			}
		case qualifiedSymbol.MatchString(name):
			q := qualifiedSymbol.FindStringSubmatch(name)
			sources, err := filepath.Glob(filepath.Join(testkit.Root(), q[1], "*.go"))
			require.NoError(t, err)
			require.NotEmpty(t, sources, "%s: no package %s", at, q[1])
			for _, source := range sources {
				data, err := os.ReadFile(source)
				require.NoError(t, err)
				text.Write(data)
			}
			files++
			symbols = append(symbols, q[2])
		default:
			require.False(t, strings.ContainsAny(name, "/") || strings.HasSuffix(name, ".go"), "%s: there is no %s", at,
				name)
			symbols = append(symbols, name)
		}
	}
	for _, symbol := range symbols {
		for _, part := range strings.Split(symbol, ".") {
			require.Regexp(t, `(^|\W)`+regexp.QuoteMeta(part)+`($|\W)`, text.String(),
				"%s: no %s in the files that it names", at, symbol)
		}
	}
	return files
}

var testNames sync.Map // directory to func() (map[string]bool, error)

// testsOf returns the test functions of a package, given by its directory.
func testsOf(dir string) (map[string]bool, error) {
	load, _ := testNames.LoadOrStore(dir, sync.OnceValues(func() (map[string]bool, error) {
		files, err := fs.Glob(os.DirFS(testkit.Root()), dir+"/*_test.go")
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("no tests in %s: %w", dir, err)
		}
		out := map[string]bool{}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(testkit.Root(), file), nil,
				parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			for _, d := range parsed.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
					out[f.Name.Name] = true
				}
			}
		}
		return out, nil
	}))
	return load.(func() (map[string]bool, error))() //nolint:forcetypeassert // nothing else is stored
}
