package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// ParseRef reads kind=ref or kind=ref#hash. The hash is after the last #.
func ParseRef(s string) (schema.Ref, error) {
	kind, ref, ok := strings.Cut(s, "=")
	if !ok || kind == "" || ref == "" {
		return schema.Ref{}, Invalid("ref", "must be kind=ref or kind=ref#hash")
	}
	out := schema.Ref{Kind: kind, Ref: ref}
	if i := strings.LastIndexByte(ref, '#'); i > 0 && i < len(ref)-1 {
		out.Ref, out.Hash = ref[:i], ref[i+1:]
	}
	return out, nil
}

// ParseTime reads a time of RFC 3339, or a date, which begins at midnight here.
func ParseTime(field, s string) (*time.Time, error) {
	if s == "" {
		return nil, nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		at, err = time.ParseInLocation(time.DateOnly, s, time.Local)
	}
	if err != nil {
		return nil, Invalid(field, "must be a time (RFC 3339, 2026-05-08T13:56:00Z) or a date (2026-05-08)")
	}
	return &at, nil
}

// ParseID parses an id. The error names the field.
func ParseID(field, s string) (uuid.UUID, error) {
	id, err := uuid.Parse(s)
	if err != nil {
		return uuid.Nil, Invalid(field, "must be an id such as 0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b")
	}
	return id, nil
}

// Optional returns a flag's value if it was given.
func Optional[T any](flags *pflag.FlagSet, name string, value T) *T {
	if !flags.Changed(name) {
		return nil
	}
	return &value
}

// mayBeEmpty is the annotation of AllowEmpty.
const mayBeEmpty = "mneme_may_be_empty"

// AllowEmpty marks a flag whose empty value has a meaning.
func AllowEmpty(flags *pflag.FlagSet, name string) {
	_ = flags.SetAnnotation(name, mayBeEmpty, nil) // fails only for a name that is not registered
}

// refuseEmpty refuses the flags of a command that are given without a value, as --who "$WHO" is if WHO is not set.
// Otherwise a filter would be left out without a word, and the command would work on more than was meant. The flags of
// all commands, such as --user, may be empty: they replace a variable of the environment. So may the cursor of a page.
func refuseEmpty(cmd *cobra.Command) (err error) {
	global := cmd.Root().PersistentFlags()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		_, allowed := f.Annotations[mayBeEmpty]
		if err != nil || allowed || f.Name == "after" || f.Name == "before" || global.Lookup(f.Name) == f {
			return
		}
		empty := false
		switch v := f.Value.(type) {
		case pflag.SliceValue:
			values := v.GetSlice()
			empty = len(values) == 0 || slices.Contains(values, "")
		default:
			empty = f.Value.String() == ""
		}
		if empty {
			err = Invalid(f.Name, "is empty; give it a value or leave the flag out")
		}
	})
	return err
}

// CheckNumber refuses a negative number of an event, which a listing would take for none.
func CheckNumber(flag string, n int64) error {
	if n < 0 {
		return Invalid(flag, "must not be negative")
	}
	return nil
}

// CheckLimit refuses a number of items that a listing does not return. Clamped silently, a listing would end early.
func CheckLimit(flag string, n, most int) error {
	if n < 1 || n > most {
		return Invalid(flag, "must be between 1 and %d", most)
	}
	return nil
}

// FilterFlags narrow the results of recall and list.
type FilterFlags struct {
	readPolicy, who, since, until, MaxSensitivity string
	validAt                                       string
	types, categories, tags, context              []string
	pinned                                        bool
	importanceMin                                 float64
}

// Register registers all flags.
func (f *FilterFlags) Register(flags *pflag.FlagSet) {
	flags.StringVar(&f.readPolicy, "read-policy", "", "isolated (own memories, the default), shared or group")
	f.Narrow(flags)
}

// Narrow registers all flags except the read policy.
func (f *FilterFlags) Narrow(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.types, "type", nil,
		"memory type: episodic, working, semantic, competence, plan_graph (repeatable)")
	flags.StringSliceVar(&f.categories, "category", nil,
		"fact, preference, decision, procedural, semantic, rule, learning or issue (repeatable)")
	flags.StringSliceVar(&f.tags, "tag", nil, "required tag (repeatable: all of them)")
	flags.StringVar(&f.who, "who", "", "speaker")
	flags.BoolVar(&f.pinned, "pinned", false, "only pinned memories; --pinned=false: only the others")
	flags.Float64Var(&f.importanceMin, "importance-min", 0, "minimum current importance, 0 to 1")
	flags.StringVar(&f.since, "since", "", "occurred at or after (RFC 3339, or a date)")
	flags.StringVar(&f.until, "until", "", "occurred before (RFC 3339, or a date)")
	flags.StringArrayVar(&f.context, "context", nil,
		"key=value of the situation, or a JSON object: excludes memories whose conditions contradict it (repeatable)")
	flags.StringVar(&f.validAt, "valid-at", "", "time that the question is about (RFC 3339, or a date; default now)")
	flags.StringVar(&f.MaxSensitivity, "max-sensitivity", "", maxSensitivityUsage)
}

// Request returns the recall request that the flags describe.
func (f *FilterFlags) Request(flags *pflag.FlagSet, p schema.Principal) (schema.RecallRequest, error) {
	r := schema.RecallRequest{Principal: p, ReadPolicy: schema.ReadPolicy(f.readPolicy), Tags: f.tags, Who: f.who,
		Pinned: Optional(flags, "pinned", f.pinned), ImportanceMin: f.importanceMin,
		MaxSensitivity: schema.Sensitivity(f.MaxSensitivity)}
	for _, t := range f.types {
		if t == "plan" { // the name in one version of the RFC
			t = string(schema.TypePlanGraph)
		}
		r.Types = append(r.Types, schema.MemoryType(t))
	}
	for _, c := range f.categories {
		r.Categories = append(r.Categories, schema.Category(c))
	}
	var err error
	if r.Since, err = ParseTime("since", f.since); err != nil {
		return r, err
	}
	if r.Until, err = ParseTime("until", f.until); err != nil {
		return r, err
	}
	if r.ValidAt, err = ParseTime("valid_at", f.validAt); err != nil {
		return r, err
	}
	r.Context, err = ParseContext("context", f.context)
	return r, err
}

// ParseContext combines key=value pairs and JSON objects into one JSON object. A value that is a JSON number, true,
// false or a quoted string is decoded; any other value is text.
func ParseContext(field string, pairs []string) (json.RawMessage, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	out := map[string]json.RawMessage{}
	for _, pair := range pairs {
		if strings.HasPrefix(strings.TrimSpace(pair), "{") {
			if err := json.Unmarshal([]byte(pair), &out); err != nil {
				return nil, Invalid(field, "must be a JSON object or key=value")
			}
			continue
		}
		key, text, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, Invalid(field, "must be key=value or a JSON object")
		}
		out[key] = contextValue(text)
	}
	return json.Marshal(out)
}

func contextValue(text string) json.RawMessage {
	if json.Valid([]byte(text)) && text != "null" && !strings.ContainsAny(text[:1], "{[ \t\r\n") {
		return json.RawMessage(text)
	}
	return JSONOf(text)
}

// repeatable has the flags that may be repeated, by the fields of requests that hold their values.
var repeatable = map[string]string{"types": "type", "categories": "category", "tags": "tag"}

// OfFlags names the fields that hold the values of repeatable flags as these flags: types[0] becomes type.
func OfFlags(err error) error {
	var bad *schema.ValidationError
	if !errors.As(err, &bad) {
		return err
	}
	fields := slices.Clone(bad.Fields)
	for i, f := range fields {
		name, _, _ := strings.Cut(f.Field, "[")
		if flag, ok := repeatable[name]; ok {
			fields[i].Field = flag
		}
	}
	return &schema.ValidationError{Fields: fields}
}

// Filter returns the store's filter for a listing, within a clearance.
func (f *FilterFlags) Filter(flags *pflag.FlagSet, cfg config.Config, c policy.Clearance) (pg.Filter, error) {
	r, err := f.Request(flags, cfg.Principal)
	if err != nil {
		return pg.Filter{}, err
	}
	r.Query = "any" // a listing has none; everything else is checked as for recall
	if err := OfFlags(r.Validate()); err != nil {
		return pg.Filter{}, err
	}
	r.Tags = normalize.NormalizeTags(r.Tags) // the form in which tags are stored
	out := pg.FilterOf(r, c, time.Now(), nil)
	out.DailyDecay = cfg.ImportanceDecay
	return out, nil
}

// JSONOf encodes a value that always encodes, such as a string or a record; otherwise it returns nil.
func JSONOf(v any) json.RawMessage {
	encoded, err := json.Marshal(v)
	if err != nil {
		return nil // strings, records and validities always encode
	}
	return encoded
}

// ReadInput reads a file, up to one byte more than the limit, so that callers can detect a file that is too large.
func ReadInput(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		var bad *fs.PathError
		if errors.As(err, &bad) {
			err = bad.Err
		}
		return nil, Invalid("file", "cannot be read: %v", err)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	return data, nil
}

// CheckPrincipal refuses a principal without a name, as requests do.
func CheckPrincipal(p schema.Principal) error {
	switch {
	case p.Tenant == "":
		return Invalid("tenant", "is required")
	case p.Agent == "":
		return Invalid("agent", "is required")
	}
	return nil
}
