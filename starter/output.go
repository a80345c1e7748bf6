package main

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

	"github.com/mneme/mneme/workflows"
)

// print writes v as one line of JSON, or what the function makes of it for people.
func (a *app) print(v any, human func(*text)) error {
	if a.json {
		return writeJSON(a.out, v)
	}
	t := &text{width: columns(a.out)}
	human(t)
	_, err := a.out.Write(t.buf.Bytes())
	return err
}

func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// note tells a person something beside the output.
func (a *app) note(format string, args ...any) {
	if !a.json {
		a.noting.Lock()
		defer a.noting.Unlock()
		_, _ = fmt.Fprintf(a.errOut, format+"\n", args...)
	}
}

// noteOnce is note for what several goroutines may find.
func (a *app) noteOnce(format string, args ...any) {
	if _, told := a.told.LoadOrStore(fmt.Sprintf(format, args...), true); !told {
		a.note(format, args...)
	}
}

// text is output for people.
type text struct {
	buf   bytes.Buffer
	width int // of the terminal; 0 when it is none
}

func (t *text) line(format string, args ...any) { fmt.Fprintf(&t.buf, format+"\n", args...) }

// note prints a line that may be empty, and then is none.
func (t *text) note(line string) {
	if line != "" {
		t.line("%s", oneLine(line))
	}
}

// table prints aligned columns. On a terminal, lines are cut to its width.
func (t *text) table(header string, rows [][]string) {
	var aligned bytes.Buffer
	w := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, strings.ReplaceAll(header, " ", "\t"))
	for _, row := range rows {
		for i := range row {
			row[i] = oneLine(row[i])
		}
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush()
	for line := range strings.Lines(aligned.String()) {
		t.line("%s", clip(strings.TrimRight(line, " \n"), t.width))
	}
}

// fields prints names and values below each other, leaving out what is empty.
func (t *text) fields(pairs ...string) {
	w := tabwriter.NewWriter(&t.buf, 0, 0, 2, ' ', 0)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			_, _ = fmt.Fprintf(w, "%s\t%s\n", pairs[i], oneLine(pairs[i+1]))
		}
	}
	_ = w.Flush()
}

// clip cuts s to a width in characters; 0 leaves it whole.
func clip(s string, width int) string {
	if runes := []rune(s); width > 1 && len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return s
}

// oneLine makes text safe for a table and a terminal: white space becomes single spaces, control
// characters go, so that no content can move the cursor or change colours.
func oneLine(s string) string {
	return printable(strings.Join(strings.Fields(s), " "))
}

// printable drops control characters other than line breaks and tabs.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return -1
		}
		return r
	}, s)
}

// when is a time for people, in their zone.
func when(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format("2006-01-02T15:04:05Z07:00")
}

func whenSet(at *time.Time) string {
	if at == nil {
		return ""
	}
	return when(*at)
}

// number prints a score without trailing noise.
func number(f float64) string { return fmt.Sprintf("%.2f", f) }

// counts prints a map of numbers in a fixed order.
func counts[K ~string, N int | int64](m map[K]N) string {
	parts := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%d %s", m[k], k))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// columns returns the width of the terminal behind w, or 0.
func columns(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// span is a duration in words, to the second.
func span(d time.Duration) string { return workflows.ShortDuration(d.Round(time.Second)) }

// page is a listing as --json shows it.
type page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"` // to go on behind; absent on the last page
	Note  string `json:"note,omitempty"` // that the tenant is not known
}
