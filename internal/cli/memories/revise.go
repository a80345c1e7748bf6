package memories

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
)

type reviseFlags struct {
	app.OperationFlags
	with, by, content, object, replace, conditions, from, until string
	confidence                                                  float64
	targetConditions, winner                                    string
	evidence                                                    []string
}

// reviseCommands are the actions with their help texts.
var reviseCommands = []struct {
	action             schema.ReviseAction
	use, short, long   string
	record, named, one bool // takes a new record; takes an existing one; takes one target only
}{
	{schema.ReviseSupersede, "ID...", "Replace memories by a current statement",
		`The statement is a new memory, or an existing one (--by). The replaced memories are kept and marked as
superseded. Lineage shows which memory superseded which.`, true, true, false},
	{schema.ReviseFork, "ID", "Add a statement that is valid under other conditions",
		`The memory and the new statement are then both valid. Their conditions must be disjoint. If the memory is
global, or its conditions overlap with the new ones, give --target-conditions: the conditions under which the memory
stays valid. The memory is replaced by a copy with these conditions. For a competence or a plan, no
--target-conditions are needed: the new record is added.`, true, false, true},
	{schema.ReviseRetract, "ID...", "Mark memories as no longer true",
		"They are kept, but recall and list do not return them.", false, false, false},
	{schema.ReviseMerge, "ID ID...", "Merge memories into one",
		"A new memory, or an existing one (--by), supersedes the memories. All must have the same type.", true, true, false},
	{schema.ReviseContest, "ID...", "Mark memories as contradicted, until this is resolved",
		"The memories and the record that contradicts them are contested: recall and list return all of them, marked.",
		true, true, false},
	{schema.ReviseResolve, "ID...", "Decide which of contradicting memories is true",
		`One of the memories (--winner), or a new record, becomes active and supersedes the others.`,
		true, false, false},
	{schema.ReviseReconcile, "ID", "Replace, fork or contest, by policy and evidence",
		`The choice depends on the memory's revision policy (replace, fork or contest) and on the evidence for each
side: confidence, trust and the number of sources. With --json, the result says what was chosen and why.`,
		true, false, true},
}

// NewRevise returns the command that revises memories: supersede, fork, retract and so on.
func NewRevise(a *app.App) *cobra.Command {
	cmd := app.Group(&cobra.Command{
		Use:   "revise",
		Short: "Revise memories: supersede, fork, retract, merge, contest, resolve, reconcile",
		Long: `Revise memories. Nothing is overwritten: each revision is one step with evidence and a reason, and every
memory that it changes keeps its versions and its history.

Name a memory as ID or ID@VERSION. The revision is refused if that is not the current version. The default is
the version that is current when the command begins.`,
		Example: `  mneme revise supersede 0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b --object Porto \
    --evidence human=Ana --reason "she moved"
  mneme revise supersede 0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b --replace Lisbon --object Porto \
    --evidence human=Ana --reason "she moved"
  mneme revise fork 0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b@2 --object python \
    --conditions '{"project_kind":"data_science"}' \
    --target-conditions '{"project_kind":"backend_service"}' --evidence event=evt://42 --reason "said so"
  mneme revise retract 0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b --evidence observation=log://7 \
    --reason "was never so" --json`,
	})
	for _, c := range reviseCommands {
		var f reviseFlags
		args := cobra.MinimumNArgs(1)
		if c.one {
			args = cobra.ExactArgs(1)
		}
		sub := &cobra.Command{
			Use: string(c.action) + " " + c.use, Short: c.short, Args: args,
			Long: c.short + ".\n\n" + c.long + "\n\nExits with 3 if a memory is not found, and with 6 if the " +
				"revision is refused: then nothing has changed.",
			RunE: func(cmd *cobra.Command, args []string) error {
				return revise(cmd.Context(), a, cmd.Flags(), c.action, args, f)
			},
		}
		flags := sub.Flags()
		if c.record {
			flags.StringVar(&f.with, "with", "", "the new record: a file with its JSON, or - for standard input")
			flags.StringVar(&f.object, "object", "",
				"the new record is a copy of the (first) memory with this object, also in its sentence; "+
					"a value in JSON other than a string is read as JSON")
			flags.StringVar(&f.replace, "replace", "",
				"with --object: the words in the memory's sentence that the object replaces; by default "+
					"the words of its current object")
			flags.StringVar(&f.content, "content", "",
				"text of the new record; without --object, the new record states only this text")
			flags.StringVar(&f.conditions, "conditions", "",
				"conditions under which the record is valid: key=value, or a JSON object; a list admits each element")
			flags.StringVar(&f.from, "valid-from", "", "start of its validity (RFC 3339, or a date)")
			flags.StringVar(&f.until, "valid-until", "", "end of its validity")
			flags.Float64Var(&f.confidence, "confidence", 0, "confidence, 0 to 1; that of the memory by default")
		}
		if c.named {
			flags.StringVar(&f.by, "by", "", "an existing memory, as ID or ID@VERSION")
		}
		if c.action == schema.ReviseFork || c.action == schema.ReviseReconcile {
			flags.StringVar(&f.targetConditions, "target-conditions", "",
				"conditions under which the memory stays valid: key=value or a JSON object")
		}
		if c.action == schema.ReviseResolve {
			flags.StringVar(&f.winner, "winner", "", "the memory that is true")
		}
		flags.StringArrayVar(&f.evidence, "evidence", nil,
			"evidence, as KIND=REF (repeatable): event, artifact, tool_call, observation, "+
				"outcome, human or retrieval; REF may be a memory's id")
		f.RegisterRequired(flags)
		cmd.AddCommand(sub)
	}
	return cmd
}

// revise completes the request, and carries out the revision.
func revise(
	ctx context.Context,
	a *app.App,
	flags *pflag.FlagSet,
	action schema.ReviseAction,
	args []string,
	f reviseFlags,
) error {
	req := schema.ReviseRequest{Operation: f.Operation(a.Cfg.Principal), Action: action, Winner: f.winner}
	var err error
	if req.Evidence, err = parseEvidence(f.evidence); err != nil {
		return err
	}
	if f.targetConditions != "" {
		v, err := validityOf("target_conditions", f.targetConditions, "", "")
		if err != nil {
			return err
		}
		req.TargetConditions = v
	}
	targets := make([]named, len(args))
	for i, arg := range args {
		if targets[i], err = parseNamed(fmt.Sprintf("targets[%d].id", i), arg); err != nil {
			return err
		}
	}
	if err := f.combine(flags); err != nil {
		return err
	}
	var first schema.MemoryRecord // its current state, if needed
	for i, t := range targets {
		if t.version == 0 || i == 0 && f.copies(flags) {
			m, err := storedRecord(ctx, a, t.id)
			if err != nil {
				return err
			}
			if i == 0 {
				first = m
			}
			if t.version == 0 {
				t.version = m.Version
			}
		}
		req.Targets = append(req.Targets, schema.Target{ID: t.id.String(), IfVersion: t.version})
	}
	if req.Record, err = newRecord(a, flags, first, f); err != nil {
		return err
	}
	req.Replace = f.replace
	if err := req.Validate(); err != nil {
		return err
	}
	return carryRevision(ctx, a, req)
}

// combine refuses flags that cannot be combined.
func (f *reviseFlags) combine(flags *pflag.FlagSet) error {
	for _, source := range []string{"with", "by"} {
		if !flags.Changed(source) {
			continue
		}
		for _, other := range []string{"with", "by", "object", "replace", "content", "conditions",
			"valid-from", "valid-until", "confidence"} {
			if other != source && flags.Changed(other) {
				return app.Invalid(other, "cannot be combined with --%s", source)
			}
		}
	}
	if flags.Changed("replace") && (!flags.Changed("object") || flags.Changed("content")) {
		return app.Invalid("replace", "needs --object, and cannot be combined with --content")
	}
	if !f.copies(flags) {
		for _, other := range []string{"conditions", "valid-from", "valid-until", "confidence"} {
			if flags.Changed(other) {
				return app.Invalid(other, "needs --object or --content")
			}
		}
	}
	return nil
}

// copies reports whether the new record is made from the first target.
func (f *reviseFlags) copies(flags *pflag.FlagSet) bool {
	return flags.Changed("object") || flags.Changed("content")
}

// storedRecord reads the current record of a memory.
func storedRecord(ctx context.Context, a *app.App, id uuid.UUID) (schema.MemoryRecord, error) {
	st, err := a.OpenStore(ctx)
	if err != nil {
		return schema.MemoryRecord{}, err
	}
	ctx, cancel := a.Within(ctx)
	defer cancel()
	return st.Get(ctx, a.Cfg.Principal, id, policy.UpTo(schema.SensitivityHyper)) // the new record is as sensitive
}

// newRecord returns the record that the flags name or describe, or nil if there is none.
func newRecord(
	a *app.App,
	flags *pflag.FlagSet,
	target schema.MemoryRecord,
	f reviseFlags,
) (*schema.MemoryRecord, error) {
	switch {
	case f.with != "":
		return readRecord(a, f.with)
	case f.by != "":
		n, err := parseNamed("by", f.by)
		if err != nil {
			return nil, err
		}
		return &schema.MemoryRecord{ID: n.id.String(), Version: n.version}, nil
	case !f.copies(flags):
		return nil, nil
	}
	return f.revised(flags, target)
}

// readRecord reads one record from a file or standard input.
func readRecord(a *app.App, path string) (*schema.MemoryRecord, error) {
	input := a.In
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, app.WithCode(app.ExitUsage, err)
		}
		defer func() { _ = file.Close() }()
		input = file
	}
	data, err := io.ReadAll(io.LimitReader(input, schema.MaxRecordBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read record: %w", err)
	case len(data) > schema.MaxRecordBytes:
		return nil, app.Invalid("record", "is larger than %d MiB", schema.MaxRecordBytes>>20)
	case !json.Valid(data):
		return nil, app.Invalid("record", "is not valid JSON")
	}
	var m schema.MemoryRecord
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, app.Invalid("record", "is not valid JSON")
	}
	return &m, nil // validation reports invalid fields
}

// revised returns the target with another object or text, as a new record.
func (f *reviseFlags) revised(flags *pflag.FlagSet, target schema.MemoryRecord) (*schema.MemoryRecord, error) {
	if target.Type != schema.TypeSemantic {
		return nil, app.Invalid("object", "is for semantic memories, as --content is; give others a record --with")
	}
	var payload map[string]json.RawMessage
	if err := json.Unmarshal(target.Payload, &payload); err != nil || payload == nil {
		return nil, errors.New("the memory's payload cannot be read")
	}
	for _, field := range []string{"revision", "evidence"} {
		delete(payload, field)
	}
	if flags.Changed("object") {
		payload["object"] = objectOf(f.object)
		if err := f.refuseSentence(flags, payload["predicate"]); err != nil {
			return nil, err
		}
	} else {
		payload["predicate"], payload["object"] = app.JSONOf(schema.PredicateStates), app.JSONOf(f.content)
		delete(payload, "cardinality")
	}
	v, err := validityOf("conditions", f.conditions, f.from, f.until)
	if err != nil {
		return nil, err
	}
	if v != nil {
		payload["validity"] = app.JSONOf(v)
	}
	out := schema.MemoryRecord{Type: target.Type, Sensitivity: target.Sensitivity, Confidence: target.Confidence,
		Importance: target.Importance,
		Salience:   schema.DefaultSalience, SourceTrust: schema.DefaultSourceTrust, Tags: target.Tags,
		Category: target.Category, Tier: target.Tier,
		Typology: target.Typology, Who: target.Who, Language: target.Language, Content: f.content,
		Payload: app.JSONOf(payload)}
	out.Lifecycle.Decay, out.Lifecycle.Pinned, out.Lifecycle.DeletionPolicy = target.Lifecycle.Decay,
		target.Lifecycle.Pinned, target.Lifecycle.DeletionPolicy
	if flags.Changed("confidence") {
		out.Confidence = f.confidence
	}
	var refused *revision.RewriteError
	if _, err := revision.RewrittenRecord(out, target, f.replace); errors.As(err, &refused) {
		return nil, app.Invalid("object",
			"%s; give the whole sentence with --content, or name the words that it replaces with --replace",
			refused.Problem)
	}
	return &out, nil
}

// refuseSentence refuses an object for a memory that is a sentence, unless the flags say which part of the sentence
// it replaces.
func (f *reviseFlags) refuseSentence(flags *pflag.FlagSet, predicate json.RawMessage) error {
	var name string
	if json.Unmarshal(predicate, &name) != nil || name != schema.PredicateStates || flags.Changed("replace") {
		return nil
	}
	return app.Invalid("object",
		"would replace the whole sentence, because the memory has no subject, predicate and "+
			"object; "+
			"name the words that it replaces with --replace, or give the whole sentence with --content alone")
}

// objectOf reads an object: JSON that is not a string, otherwise text.
func objectOf(s string) json.RawMessage {
	var value any
	if json.Unmarshal([]byte(s), &value) == nil && value != nil {
		if _, isText := value.(string); !isText {
			return json.RawMessage(strings.TrimSpace(s))
		}
	}
	return app.JSONOf(s)
}

// validityOf returns the validity from the flags, nil if none is set.
func validityOf(field, conditions, from, until string) (*schema.Validity, error) {
	var v schema.Validity
	if conditions != "" {
		parsed, err := app.ParseContext(field, []string{conditions})
		if err != nil {
			return nil, err
		}
		v.Mode, v.Conditions = schema.ValidConditional, parsed
	}
	var err error
	if v.Start, err = app.ParseTime("valid_from", from); err != nil {
		return nil, err
	}
	if v.End, err = app.ParseTime("valid_until", until); err != nil {
		return nil, err
	}
	if v.Start != nil || v.End != nil {
		v.Mode = schema.ValidTimeboxed
	}
	if v.Mode == "" {
		return nil, nil
	}
	return &v, nil
}

// named is a memory by its id and, unless 0, the version that was seen.
type named struct {
	id      uuid.UUID
	version int
}

// parseNamed reads ID or ID@VERSION.
func parseNamed(field, s string) (named, error) {
	text, version, versioned := strings.Cut(s, "@")
	id, err := app.ParseID(field, text)
	if err != nil {
		return named{}, err
	}
	n := named{id: id}
	if versioned {
		if n.version, err = strconv.Atoi(version); err != nil || n.version < 1 {
			return named{}, app.Invalid(field, "must end in a version of at least 1, or not have an @")
		}
	}
	return n, nil
}

// parseEvidence reads refs as KIND=REF.
func parseEvidence(given []string) ([]schema.Ref, error) {
	out := make([]schema.Ref, 0, len(given))
	for i, s := range given {
		kind, ref, ok := strings.Cut(s, "=")
		if !ok {
			return nil, app.Invalid(fmt.Sprintf("evidence[%d]", i), "must be KIND=REF, such as event=evt://42")
		}
		out = append(out, schema.Ref{Kind: kind, Ref: ref})
	}
	return out, nil
}

// Revised is the output of `revise`.
type Revised struct {
	schema.ReviseResult
	app.OperationRun
}

func carryRevision(ctx context.Context, a *app.App, req schema.ReviseRequest) error {
	var out Revised
	var err error
	if out.OperationRun, err = app.CarryOut(ctx, a, mneme.StartRevise, req, &out.ReviseResult); err != nil {
		return err
	}
	if err := a.Print(out, out.text); err != nil {
		return err
	}
	switch out.Status {
	case schema.ReviseApplied:
		return nil
	case schema.ReviseNotFound:
		return app.WithCode(app.ExitNotFound, errors.New("a memory is not found"))
	}
	return app.WithCode(app.ExitConflict, fmt.Errorf("refused: %s: %s", out.Status, out.Why))
}

func (r Revised) text(t *app.Text) {
	rows := make([][]string, 0, len(r.Targets)+len(r.Created)+len(r.Conflicts)+1)
	row := func(role string, m schema.RevisedMemory) {
		version := ""
		if m.Version > 0 {
			version = strconv.Itoa(m.Version)
		}
		rows = append(rows, []string{role, m.ID, version, string(m.Status)})
	}
	if r.Record != nil {
		row("record", *r.Record)
	}
	for _, id := range r.Created {
		if r.Record == nil || id != r.Record.ID {
			row("remaining", schema.RevisedMemory{ID: id, Version: 1, Status: schema.StatusActive})
		}
	}
	for _, m := range r.Targets {
		row("target", m)
	}
	for _, m := range r.Conflicts {
		row("conflicting", m)
	}
	t.Line("%s: %s", r.Action, r.Status)
	if r.Why != "" {
		t.Line("%s", app.Printable(r.Why))
	}
	t.Table("ROLE MEMORY VERSION STATUS", rows)
}
