package client

import (
	_ "embed" // the default file
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.temporal.io/sdk/client"
	"go.yaml.in/yaml/v3"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/yamlfile"
)

//go:embed schedules.yaml
var defaultSchedules []byte

// DefaultSchedules returns the schedules of an installation without a file.
func DefaultSchedules() []ScheduleSpec {
	specs, err := ParseSchedules(defaultSchedules)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return specs
}

// DefaultSchedulesFile returns the text of the default schedules file, as a template.
func DefaultSchedulesFile() string { return string(defaultSchedules) }

// Limits of a schedules file.
const (
	maxSchedulesBytes = 64 << 10
	maxScheduleNote   = 500 // bytes
	// Maximum interval and catch-up window. Rarer runs are better triggered by hand.
	maxScheduleEvery = 31 * 24 * time.Hour
	maxJitterOfTimes = time.Hour        // if a calendar is given
	minCatchUp       = 10 * time.Second // Temporal's own minimum
	catchUpOfTimes   = 24 * time.Hour   // if a calendar is given
)

// ParseSchedules reads a schedules file: one YAML document without unknown members. It returns a
// *schema.ValidationError that lists all problems. Its fields are paths such as schedules[2].every.
func ParseSchedules(data []byte) ([]ScheduleSpec, error) {
	f := scheduleFile{File: yamlfile.File{NoAliases: true}}
	if members, ok := f.Read(data, maxSchedulesBytes, "schedules"); ok {
		f.list(members["schedules"])
	}
	if len(f.Problems) > 0 {
		return f.specs, &schema.ValidationError{Fields: f.Problems}
	}
	return f.specs, nil
}

// scheduleFile is the state of one ParseSchedules.
type scheduleFile struct {
	yamlfile.File
	specs []ScheduleSpec
}

func (f *scheduleFile) list(list *yaml.Node) {
	if list.Kind != yaml.SequenceNode {
		f.Add(list, "schedules", "must be a list")
		return
	}
	seen := map[string]int{}
	for i, node := range list.Content {
		path := fmt.Sprintf("schedules[%d]", i)
		if spec, ok := f.schedule(node, path); ok {
			if before, twice := seen[spec.Name]; twice {
				f.Add(node, path+".name", "is the name of schedules[%d] too", before)
				continue
			}
			seen[spec.Name] = i
			f.specs = append(f.specs, spec)
		}
	}
}

// schedule reads one schedule. ok reports whether its name is known.
func (f *scheduleFile) schedule(node *yaml.Node, path string) (spec ScheduleSpec, ok bool) {
	members, isMap := f.Object(node, path, "name", "every", "calendar", "time_zone", "jitter",
		"catch_up", "pause_on_failure", "note")
	if !isMap {
		return spec, false
	}
	name := members["name"]
	if name == nil {
		f.Add(node, path+".name", "is required")
		return spec, false
	}
	kind, known := kindOf(name.Value)
	if name.Kind != yaml.ScalarNode || !known {
		f.Add(name, path+".name", "must be one of %s", strings.Join(ScheduleNames(), ", "))
		return spec, false
	}
	spec = ScheduleSpec{Name: kind.name, Workflow: kind.workflow, PauseOnFailure: true}
	every, calendar := members["every"], members["calendar"]
	switch {
	case every != nil && calendar != nil:
		f.Add(calendar, path+".calendar", "cannot be combined with every")
	case every == nil && calendar == nil:
		f.Add(node, path+".every", "is required, or calendar")
	case every != nil:
		spec.Every = f.duration(every, path+".every", kind.least, maxScheduleEvery)
	default:
		spec.Calendar = f.calendar(calendar, path+".calendar")
	}
	if zone := members["time_zone"]; zone != nil {
		spec.TimeZone = f.zone(zone, path+".time_zone", calendar != nil)
	}
	spec.CatchUp = spec.Every
	longest := spec.Every - time.Second // a later offset would coincide with the next run
	if calendar != nil {
		spec.CatchUp, longest = catchUpOfTimes, maxJitterOfTimes
	}
	if v := members["jitter"]; v != nil && longest >= 0 {
		spec.Jitter = f.duration(v, path+".jitter", 0, longest)
	}
	if v := members["catch_up"]; v != nil {
		spec.CatchUp = f.duration(v, path+".catch_up", minCatchUp, maxScheduleEvery)
	}
	if v := members["pause_on_failure"]; v != nil {
		if v.Kind != yaml.ScalarNode || v.ShortTag() != "!!bool" || v.Decode(&spec.PauseOnFailure) != nil {
			f.Add(v, path+".pause_on_failure", "must be true or false")
		}
	}
	if v := members["note"]; v != nil {
		spec.Note = strings.TrimSpace(v.Value)
		if v.Kind != yaml.ScalarNode || v.ShortTag() != "!!str" || len(spec.Note) > maxScheduleNote ||
			!utf8.ValidString(spec.Note) || strings.ContainsAny(spec.Note, "\r\n") {
			f.Add(v, path+".note", "must be a text of one line and at most %d bytes", maxScheduleNote)
		}
	}
	return spec, true
}

func (f *scheduleFile) duration(v *yaml.Node, path string, least, most time.Duration) time.Duration {
	d, err := time.ParseDuration(v.Value)
	switch {
	case v.Kind != yaml.ScalarNode || err != nil:
		f.Add(v, path, "must be a duration such as 90s, 15m or 6h")
	case d%time.Second != 0:
		f.Add(v, path, "must be in whole seconds")
	case d < least:
		f.Add(v, path, "must be at least %s", least)
	case d > most:
		f.Add(v, path, "must be at most %s", most)
	default:
		return d
	}
	return 0
}

func (f *scheduleFile) zone(v *yaml.Node, path string, hasCalendar bool) string {
	// Local refers to the zone of the machine that reads the file, which may differ from that of the server.
	_, err := time.LoadLocation(v.Value)
	switch {
	case v.Kind != yaml.ScalarNode || v.Value == "" || v.Value == "Local" || err != nil:
		f.Add(v, path, "must be the name of a time zone such as UTC or Europe/Berlin")
	case !hasCalendar:
		f.Add(v, path, "needs calendar: an interval is counted from 1970 in UTC")
	case v.Value != "UTC":
		return v.Value
	}
	return ""
}

// calendarFields lists the parts of a moment with their allowed values and defaults. A file cannot set seconds, because
// only schedules with an interval need to run more often than every minute.
var calendarFields = []struct {
	name        string
	least, most int
	fallback    string
	of          func(*client.ScheduleCalendarSpec) *[]client.ScheduleRange
}{
	{"minute", 0, 59, "0", func(c *client.ScheduleCalendarSpec) *[]client.ScheduleRange { return &c.Minute }},
	{"hour", 0, 23, "0", func(c *client.ScheduleCalendarSpec) *[]client.ScheduleRange { return &c.Hour }},
	{"day", 1, 31, "*", func(c *client.ScheduleCalendarSpec) *[]client.ScheduleRange { return &c.DayOfMonth }},
	{"month", 1, 12, "*", func(c *client.ScheduleCalendarSpec) *[]client.ScheduleRange { return &c.Month }},
	{"weekday", 0, 6, "*", func(c *client.ScheduleCalendarSpec) *[]client.ScheduleRange { return &c.DayOfWeek }},
}

// calendar reads a list of moments, each a mapping such as {weekday: 1-5, hour: "8,20", minute: 30}.
func (f *scheduleFile) calendar(v *yaml.Node, path string) []client.ScheduleCalendarSpec {
	if v.Kind != yaml.SequenceNode || len(v.Content) == 0 || len(v.Content) > 24 {
		f.Add(v, path, "must be a list of 1 to 24 moments")
		return nil
	}
	keys := make([]string, len(calendarFields))
	for i, field := range calendarFields {
		keys[i] = field.name
	}
	var out []client.ScheduleCalendarSpec
	for i, node := range v.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		members, ok := f.Object(node, at, keys...)
		if !ok {
			continue
		}
		c := client.ScheduleCalendarSpec{Second: []client.ScheduleRange{{Step: 1}}}
		for _, field := range calendarFields {
			text := field.fallback
			if m := members[field.name]; m != nil {
				text = m.Value
			}
			ranges, ok := parseRanges(text, field.least, field.most)
			if !ok {
				f.Add(members[field.name], at+"."+field.name,
					"must be numbers from %d to %d such as 5, 1-5, */2 or 1,3",
					field.least, field.most)
			}
			*field.of(&c) = ranges
		}
		out = append(out, c)
	}
	return out
}

var calendarRange = regexp.MustCompile(`^(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:/(\d{1,2}))?$`)

// parseRanges reads 5, 1-5, *, */15, 8-18/2, or a comma-separated list of these.
func parseRanges(text string, least, most int) ([]client.ScheduleRange, bool) {
	var out []client.ScheduleRange
	for part := range strings.SplitSeq(strings.ReplaceAll(text, " ", ""), ",") {
		m := calendarRange.FindStringSubmatch(part)
		if m == nil {
			return nil, false
		}
		r := client.ScheduleRange{Start: least, End: most, Step: 1}
		if m[1] != "" {
			r.Start, _ = strconv.Atoi(m[1]) // two digits
			r.End = r.Start
			if m[3] != "" { // 5/10 starts at 5
				r.End = most
			}
		}
		if m[2] != "" {
			r.End, _ = strconv.Atoi(m[2])
		}
		if m[3] != "" {
			r.Step, _ = strconv.Atoi(m[3])
		}
		if r.Start < least || r.End > most || r.End < r.Start || r.Step < 1 {
			return nil, false
		}
		out = append(out, r)
	}
	return out, true
}
