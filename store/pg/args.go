package pg

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Args are the named arguments of a statement, which refers to them @like_this. Sending the statement fails if a
// name has no argument or an argument has no name.
type Args map[string]any

// RewriteQuery implements pgx.QueryRewriter. It returns the text with $1, $2 instead of names, and the arguments in
// that order.
func (a Args) RewriteQuery(ctx context.Context, conn *pgx.Conn, sql string, _ []any) (string, []any, error) {
	known, ok := positionalTexts.get(sql)
	if !ok {
		names := make(pgx.StrictNamedArgs, len(a))
		for name := range a {
			names[name] = name
		}
		text, order, err := names.RewriteQuery(ctx, conn, sql, nil)
		if err != nil {
			return "", nil, err
		}
		known = positional{text, order}
		positionalTexts.put(sql, known)
	}
	out := make([]any, len(known.names))
	for i, name := range known.names {
		value, ok := a[name.(string)]
		if !ok {
			return "", nil, fmt.Errorf("the statement names @%s, which has no argument", name)
		}
		out[i] = value
	}
	if len(a) > len(out) {
		return "", nil, fmt.Errorf("the statement names %d of its %d arguments", len(out), len(a))
	}
	return known.text, out, nil
}

// positional is a statement with $1, $2 instead of names, and the names in that order.
type positional struct {
	text  string
	names []any
}

// texts caches rewritten statements: rewriting a long one takes 20 µs, and a recall sends sixteen. The zero value
// is ready.
type texts struct {
	mu    sync.RWMutex
	known map[string]positional
}

// textsMost is the number of cached statements. A program has fewer, but filters and search terms vary them.
const textsMost = 2000

var positionalTexts texts

func (t *texts) get(sql string) (positional, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	p, ok := t.known[sql]
	return p, ok
}

func (t *texts) put(sql string, p positional) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= textsMost {
		t.known = map[string]positional{}
	}
	t.known[sql] = p
}

// Arguments receives the arguments of a part of a statement: Args by name, Params by position.
type Arguments interface {
	named() Args // that the part adds its arguments to
	// take returns the part with the placeholders that the statement needs.
	take(part string, named Args) string
}

func (a Args) named() Args                     { return a }
func (a Args) take(part string, _ Args) string { return part }

// set adds an argument that several parts of a statement may share. Different values for it are a programming
// error, because one filter would then widen another.
func (a Args) set(name string, value any) {
	if known, ok := a[name]; ok && !reflect.DeepEqual(known, value) {
		panic(fmt.Sprintf("pg: two values for @%s in one statement", name))
	}
	a[name] = value
}

// Params are the positional arguments of a statement built from parts.
type Params []any

// Add appends an argument and returns its placeholder.
func (p *Params) Add(v any) string {
	*p = append(*p, v)
	return fmt.Sprintf("$%d", len(*p))
}

func (p *Params) named() Args { return Args{} }

func (p *Params) take(part string, named Args) string {
	places := make(map[string]string, len(named))
	return filterArgument.ReplaceAllStringFunc(part, func(name string) string {
		if places[name] == "" {
			places[name] = p.Add(named[name[1:]])
		}
		return places[name]
	})
}

// filterArgument matches the arguments of a filter in a statement.
var filterArgument = regexp.MustCompile(`@f_[a-z0-9_]+`)
