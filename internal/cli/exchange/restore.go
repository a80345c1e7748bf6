package exchange

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/transfer"
)

// Limits of one transaction of a restore: lines, and bytes of these lines.
const (
	RestoreLines = 100
	restoreBytes = 8 << 20
)

// maxRestoreLine is the limit of one line of an export, which has the whole history of a memory.
const maxRestoreLine = 1 << 30

// isExport reports whether the input begins with the header of an export. It does not consume input.
func isExport(input *bufio.Reader) bool {
	start, _ := input.Peek(4096) // a header is shorter
	line, _, _ := bytes.Cut(bytes.TrimPrefix(start, []byte("\ufeff")), []byte("\n"))
	var header struct {
		Format string `json:"format"`
	}
	return json.Unmarshal(line, &header) == nil && header.Format == transfer.ExportFormat
}

// Restored is the output of an import of an export.
type Restored struct {
	Memories  int                        `json:"memories"` // in the file
	Restored  int                        `json:"restored"`
	Unchanged int                        `json:"unchanged"` // already stored
	Artifacts int                        `json:"artifacts"` // added
	Relations int                        `json:"relations"` // added
	Events    int                        `json:"events"`    // added
	Dangling  int                        `json:"dangling_relations"`
	Conflicts []transfer.RestoreConflict `json:"conflicts"`
	Failed    int                        `json:"failed"` // invalid lines
	Errors    []LineError                `json:"errors"`
	CutOff    bool                       `json:"cut_off"` // the file has no closing line
}

// restore reads an export twice: first to check it, then to write it, in batches of one transaction each. If file is
// nil, it copies the input to a temporary file, because the input cannot be read twice.
func restore(ctx context.Context, a *app.App, file *os.File, input io.Reader, f importFlags) error {
	if file == nil {
		spooled, err := os.CreateTemp("", "mneme-import-*")
		if err != nil {
			return fmt.Errorf("keep the input: %w", err)
		}
		defer func() { _ = spooled.Close(); _ = os.Remove(spooled.Name()) }()
		if _, err := io.Copy(spooled, input); err != nil {
			return fmt.Errorf("read input: %w", err)
		}
		file = spooled
	}
	st, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	r := restorer{App: a, store: st, strict: f.strict, report: Restored{Conflicts: []transfer.RestoreConflict{},
		Errors: []LineError{}}}
	if err := r.check(file); err != nil {
		return err
	}
	if f.strict && len(r.report.Errors) > 0 {
		return badLines(r.report.Errors)
	}
	if f.strict && r.report.CutOff {
		return app.Invalid("file", "has been cut off")
	}
	if r.erased, err = st.ErasedArtifacts(ctx, a.Cfg.Principal.Tenant, r.artifacts); err != nil {
		return err
	}
	a.Interrupted = "run the same command again to continue"
	failed := r.write(ctx, file)
	if failed != nil && r.report.Restored+r.report.Unchanged+r.report.Artifacts == 0 {
		return failed
	}
	if err := a.Print(r.report, r.report.text); err != nil {
		return err
	}
	var refused *schema.ValidationError
	switch p := r.report; {
	case errors.As(failed, &refused): // the lines before the invalid one are stored
		return app.WithCode(app.ExitPartial, fmt.Errorf("not finished: %w", failed))
	case failed != nil:
		return fmt.Errorf("not finished (run the same command again to continue): %w", failed)
	case p.Failed > 0:
		return app.WithCode(app.ExitPartial, fmt.Errorf("%d lines could not be restored", p.Failed))
	case len(p.Conflicts) > 0:
		return app.WithCode(app.ExitConflict,
			fmt.Errorf("%d of %d memories were not restored: they conflict with stored memories", len(p.Conflicts),
				p.Memories))
	case p.CutOff:
		return app.WithCode(app.ExitPartial, errors.New("the file has been cut off: it is incomplete"))
	}
	return nil
}

// rewind goes back to the beginning of a file, and reports whether it can.
func rewind(file *os.File) bool {
	_, err := file.Seek(0, io.SeekStart)
	return err == nil
}

// restorer is the state of one restore.
type restorer struct {
	*app.App
	store  *store.Store
	strict bool
	report Restored
	bad    map[int]bool // numbers of invalid lines

	artifacts transfer.ArtifactCheck
	erased    map[string]bool // artifacts that were erased with their memories, by SHA-256
}

// lines calls fn for every line of the file, from the beginning.
func (r *restorer) lines(file *os.File, fn func(n int, data []byte) error) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read input: %w", err)
	}
	scanner := bufio.NewScanner(file)
	scanner.Buffer(make([]byte, 0, 1<<20), maxRestoreLine)
	n := 0
	for scanner.Scan() {
		n++
		data := scanner.Bytes()
		if n == 1 {
			data = bytes.TrimPrefix(data, []byte("\ufeff"))
		}
		if len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		if err := fn(n, data); err != nil {
			return err
		}
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) {
		return app.Invalid(fmt.Sprintf("line %d", n+1), "is longer than %d MiB", maxRestoreLine>>20)
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("read input: %w", err)
	}
	return nil
}

// check reads the whole file before anything is written. It returns an error if the file is not an export of a known
// version, or if memories supersede each other in a cycle.
func (r *restorer) check(file *os.File) error {
	var revisions transfer.SupersessionCheck
	r.bad, r.report.CutOff = map[int]bool{}, true
	seen := false
	err := r.lines(file, func(n int, data []byte) error {
		line, err := decodeExportLine(data)
		if !seen {
			if err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
			if line.Kind != transfer.LineHeader {
				return app.Invalid("file", "is not an export: it has no header")
			}
			seen = true
			return nil
		}
		if err != nil {
			r.bad[n] = true
			r.refuse(n, err)
			return nil
		}
		switch line.Kind {
		case transfer.LineMemory:
			r.report.Memories++
			revisions.Add(line)
			r.artifacts.Add(line)
		case transfer.LineEnd:
			r.report.CutOff = false
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !seen {
		return app.Invalid("file", "is not an export: it has no header")
	}
	if id, cyclic := revisions.Cycle(); cyclic {
		return app.Invalid("file", "has a cycle of supersessions: memory %s superseded itself", id)
	}
	return nil
}

// refuse reports an invalid line, which is not restored.
func (r *restorer) refuse(n int, err error) {
	r.report.Failed++
	if e := (LineError{Line: n, Fields: FieldsOf(err)}); len(r.report.Errors) < maxListed {
		r.report.Errors = append(r.report.Errors, e)
		r.Note("mneme: %s", e)
	}
}

func decodeExportLine(data []byte) (transfer.ExportLine, error) {
	if !utf8.Valid(data) { // the JSON decoder would put replacement characters in
		return transfer.ExportLine{}, app.Invalid("(json)", "is not valid UTF-8")
	}
	return transfer.DecodeExportLine(data)
}

// write restores the valid lines in batches, and at the end the relations to memories in later lines.
func (r *restorer) write(ctx context.Context, file *os.File) error {
	tenant := r.Cfg.Principal.Tenant
	var batch []transfer.ExportLine
	var numbers []int // of the batch's lines
	var pending []transfer.PendingRelation
	size := 0
	restore := func(lines []transfer.ExportLine) error {
		out, err := r.store.Restore(ctx, tenant, lines, time.Now())
		if err != nil {
			return err
		}
		p := &r.report
		p.Restored += out.Restored
		p.Unchanged += out.Unchanged
		p.Artifacts += out.Artifacts
		p.Relations += out.Relations
		p.Events += out.Events
		p.Conflicts = append(p.Conflicts, out.Conflicts...)
		pending = append(pending, out.Pending...)
		return ctx.Err()
	}
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := restore(batch)
		var refused *schema.ValidationError
		if errors.As(err, &refused) { // Postgres refuses a value: restore line by line, to skip only that line
			for i := range batch {
				err = restore(batch[i : i+1])
				if errors.As(err, &refused) {
					if r.strict {
						return fmt.Errorf("line %d: %w", numbers[i], err)
					}
					r.refuse(numbers[i], err)
					err = nil
				}
				if err != nil {
					return err
				}
			}
		}
		batch, numbers, size = nil, nil, 0
		return err
	}
	err := r.lines(file, func(n int, data []byte) error {
		if r.bad[n] {
			return nil
		}
		line, err := decodeExportLine(data)
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err) // cannot happen: check has decoded it
		}
		if line.Kind == transfer.LineArtifact && r.erased[strings.ToLower(line.Artifact.SHA256)] {
			return nil
		}
		batch, numbers, size = append(batch, line), append(numbers, n), size+len(data)
		if len(batch) >= RestoreLines || size >= restoreBytes {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	for err == nil && len(pending) > 0 {
		n := min(len(pending), 1000)
		var added, missing int
		added, missing, err = r.store.RestoreRelations(ctx, tenant, pending[:n], time.Now())
		r.report.Relations += added
		r.report.Dangling += missing
		pending = pending[n:]
	}
	return err
}

func (p Restored) text(t *app.Text) {
	t.Line("%d memories: %d restored, %d unchanged, %d in conflict; %d artifacts, %d relations and %d events added",
		p.Memories, p.Restored,
		p.Unchanged, len(p.Conflicts), p.Artifacts, p.Relations, p.Events)
	if p.Dangling > 0 {
		t.Line("%d relations lead to memories that do not exist", p.Dangling)
	}
	if len(p.Conflicts) > 0 {
		rows := make([][]string, len(p.Conflicts))
		for i, c := range p.Conflicts {
			rows[i] = []string{c.ID, c.Reason}
		}
		t.Table("MEMORY CONFLICT", rows)
	}
}
