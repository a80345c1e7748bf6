package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"golang.org/x/term"
	"golang.org/x/text/width"

	mneme "github.com/mneme/mneme/client"
)

// Print writes v as one line of JSON, or as text with the function human.
func (a *App) Print(v any, human func(*Text)) error {
	if a.JSON {
		return WriteJSON(a.Out, v)
	}
	t := &Text{Width: Columns(a.Out)}
	human(t)
	_, err := a.Out.Write(t.Buf.Bytes())
	return err
}

// WriteJSON writes a value as one line of JSON, without HTML escapes.
func WriteJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// Note prints a message that is not part of the output.
func (a *App) Note(format string, args ...any) {
	if !a.JSON {
		a.noting.Lock()
		defer a.noting.Unlock()
		_, _ = fmt.Fprintf(a.ErrOut, format+"\n", args...)
	}
}

// NoteOnce prints a message once, even if several goroutines report it.
func (a *App) NoteOnce(format string, args ...any) {
	if _, told := a.told.LoadOrStore(fmt.Sprintf(format, args...), true); !told {
		a.Note(format, args...)
	}
}

// Text is output for people.
type Text struct {
	Buf   bytes.Buffer
	Width int // of the terminal; 0 if the output is not a terminal
}

// Line adds a line.
func (t *Text) Line(format string, args ...any) { fmt.Fprintf(&t.Buf, format+"\n", args...) }

// Note prints a line, and nothing if it is empty.
func (t *Text) Note(line string) {
	if line != "" {
		t.Line("%s", OneLine(line))
	}
}

// leastLast is the width that the last column of a table needs beside the others. With less, it has its own lines.
const leastLast = 40

// Mark is a remark after the last cell of a row. The short form is used if the terminal is too narrow for the full one.
type Mark struct{ Full, Short string }

// Table prints aligned columns. On a terminal, lines are cut to its width.
func (t *Text) Table(header string, rows [][]string) { t.MarkedTable(header, rows, nil) }

// MarkedTable prints a table with a mark after the last cell of each row. A cell that is too long is cut before its
// mark. On a narrow terminal, the last column is printed below the others.
func (t *Text) MarkedTable(header string, rows [][]string, marks []Mark) {
	names := strings.Fields(header)
	last := len(names) - 1
	var aligned bytes.Buffer
	w := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	line := func(cells []string) {
		for _, cell := range cells[:last] {
			_, _ = fmt.Fprint(w, cell+"\t")
		}
		_, _ = fmt.Fprintln(w)
	}
	line(names)
	ends := []string{names[last]}
	for _, row := range rows {
		row = append(slices.Clone(row), make([]string, max(0, len(names)-len(row)))...)
		for i := range row {
			row[i] = OneLine(row[i])
		}
		line(row)
		ends = append(ends, row[last])
	}
	_ = w.Flush()
	begins := strings.Split(strings.TrimSuffix(aligned.String(), "\n"), "\n")
	left, longest := 0, 0
	for i, begin := range begins {
		left, longest = max(left, shownWidth(begin)), max(longest, shownWidth(ends[i]))
	}
	below := t.Width > 0 && left > leastLast/2 && t.Width-left < min(longest, leastLast)
	for i, begin := range begins {
		mark := Mark{}
		if i > 0 && i <= len(marks) {
			mark = marks[i-1]
		}
		switch {
		case below && i > 0:
			t.Line("%s", Clip(strings.TrimRight(begin, " "), t.Width))
			if end := mark.after(ends[i], t.Width-2); end != "" {
				t.Line("  %s", end)
			}
		case t.Width == 0:
			t.Line("%s", strings.TrimRight(begin+ends[i]+mark.Full, " "))
		default:
			t.Line("%s", Clip(strings.TrimRight(begin+mark.after(ends[i], t.Width-left), " "), t.Width))
		}
	}
}

// after returns a cell with the mark, in a width.
func (m Mark) after(cell string, width int) string {
	if shownWidth(cell+m.Full) <= width {
		return cell + m.Full
	}
	return Clip(cell, width-shownWidth(m.Short)) + m.Short
}

// Fields prints names and values, one pair on each line, without empty values.
func (t *Text) Fields(pairs ...string) {
	w := tabwriter.NewWriter(&t.Buf, 0, 0, 2, ' ', 0)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			_, _ = fmt.Fprintf(w, "%s\t%s\n", pairs[i], OneLine(pairs[i+1]))
		}
	}
	_ = w.Flush()
}

// Clip cuts s to a width in columns of a terminal; 1 or less means no limit.
func Clip(s string, columns int) string {
	if columns <= 1 || shownWidth(s) <= columns {
		return s
	}
	used := 0
	for i, r := range s {
		if used += runeWidth(r); used >= columns {
			return s[:i] + "…"
		}
	}
	return s
}

// shownWidth returns the number of columns that a text takes in a terminal.
func shownWidth(s string) (n int) {
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth returns the columns of a rune: two for Chinese, Japanese and Korean characters and for emoji, none for
// combining marks.
func runeWidth(r rune) int {
	switch kind := width.LookupRune(r).Kind(); {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// OneLine makes text safe for a table and a terminal. It turns white space into single spaces and removes control
// characters, so that no content can move the cursor or change colours.
func OneLine(s string) string {
	return Printable(strings.Join(strings.Fields(s), " "))
}

// Printable removes control characters other than line breaks and tabs.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return -1
		}
		return r
	}, s)
}

// When formats a time in the local zone.
func When(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format("2006-01-02T15:04:05Z07:00")
}

// WhenSet is When, or empty if the time is not set.
func WhenSet(at *time.Time) string {
	if at == nil {
		return ""
	}
	return When(*at)
}

// Number prints a score without trailing noise.
func Number(f float64) string { return fmt.Sprintf("%.2f", f) }

// Counts prints a map of numbers in a fixed order.
func Counts[K ~string, N int | int64](m map[K]N) string {
	parts := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%d %s", m[k], k))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// Columns returns the width of the terminal that w writes to, or 0.
func Columns(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// Span formats a duration to the second.
func Span(d time.Duration) string { return mneme.ShortDuration(d.Round(time.Second)) }

// Page is a listing as --json shows it.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"` // the cursor of the next page; absent on the last page
	Note  string `json:"note,omitempty"` // why it is empty, for example that the tenant is not known
}

// OpenInput opens a file, or standard input for "-". The caller closes it. A file that cannot be opened is an error of
// the command line.
func (a *App) OpenInput(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(a.In), nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, WithCode(ExitUsage, err)
	}
	return file, nil
}
