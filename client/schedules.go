package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema"
)

// Names of schedules in schedules files and commands.
const (
	ScheduleDecay         = "decay"         // DecaySweep
	ScheduleRetention     = "retention"     // RetentionPurge
	ScheduleSyncIndex     = "sync_index"    // SyncIndex
	ScheduleDrift         = "drift"         // DriftCheck
	ScheduleTopics        = "topics"        // RefreshTopics
	ScheduleConsolidation = "consolidation" // ConsolidateAll
)

// ScheduleSpec describes one schedule. Its runs never overlap. A start that is due during a run is skipped, because the
// run does all pending work.
type ScheduleSpec struct {
	Name     string // one of ScheduleNames
	Workflow string // the workflow that it starts

	// Either Every or Calendar must be set.
	Every    time.Duration                 // counted from 1970 in UTC
	Calendar []client.ScheduleCalendarSpec // the schedule is due at each of them
	TimeZone string                        // of Calendar; default UTC

	Jitter time.Duration // maximum random delay of a start
	// maximum age of starts that are caught up after an outage of the server
	CatchUp        time.Duration
	PauseOnFailure bool   // a failed run pauses the schedule
	Note           string // shown in the Temporal UI
}

// scheduleKind is a kind of schedule.
type scheduleKind struct {
	name, workflow string
	least          time.Duration // minimum interval
	id             func(index string) string
	args           func(index string) []any
}

// The ids must not change, so that installations keep their schedules. An empty input of a sweep means all tenants.
var scheduleKinds = []scheduleKind{
	{ScheduleDecay, api.WorkflowDecaySweep, time.Minute, fixed(api.DecaySweepID), func(string) []any {
		return []any{struct{}{}}
	}},
	{ScheduleRetention, api.WorkflowRetentionPurge, time.Minute, fixed(api.RetentionPurgeID), func(string) []any {
		return []any{struct{}{}}
	}},
	{ScheduleSyncIndex, api.WorkflowSyncIndex, 10 * time.Second, api.SyncIndexWorkflowID, func(string) []any {
		return []any{api.SyncIndexInput{}}
	}},
	{ScheduleDrift, api.WorkflowDriftCheck, time.Minute, api.DriftWorkflowID, func(index string) []any {
		return []any{api.DriftInput{Index: index}}
	}},
	{ScheduleTopics, api.WorkflowRefreshTopics, time.Minute, fixed(api.RefreshTopicsID), func(string) []any {
		return []any{struct{}{}}
	}},
	{ScheduleConsolidation, api.WorkflowConsolidateAll, time.Minute, fixed(api.ConsolidateAllID), func(string) []any {
		return []any{struct{}{}}
	}},
}

func fixed(id string) func(string) string { return func(string) string { return id } }

func kindOf(name string) (scheduleKind, bool) {
	i := slices.IndexFunc(scheduleKinds, func(k scheduleKind) bool { return k.name == name })
	if i < 0 {
		return scheduleKind{}, false
	}
	return scheduleKinds[i], true
}

// ScheduleNames returns the names of the schedules that this build supports.
func ScheduleNames() []string {
	var out []string
	for _, k := range scheduleKinds {
		if k.workflow != "" {
			out = append(out, k.name)
		}
	}
	return out
}

// Schedules manages Mneme's schedules in a namespace: those of the installation, and of one vector index.
type Schedules struct {
	Client    client.Client
	Namespace string // namespace of Client
	TaskQueue string // task queue of the workflows
	Index     string // name of the vector index
	// Converter is the data converter of the client. It is used to compare the arguments of schedules. Nil means the
	// default converter.
	Converter converter.DataConverter
	// TakeOver allows Apply to change the task queue of a schedule. Otherwise Apply refuses this, because the schedule
	// may belong to another installation.
	TakeOver bool
}

// Errors of requests about a schedule.
var (
	ErrNoSchedule   = errors.New("there is no such schedule: `mneme schedules apply` creates missing ones")
	ErrScheduleBusy = errors.New("a run of the schedule is open, and two runs never overlap")
	// ErrScheduleElsewhere means that the runs of the schedule use another task queue.
	ErrScheduleElsewhere = errors.New("it belongs to another task queue: `mneme schedules " +
		"apply --take-over` moves it to this one")
)

// Outcomes of Apply.
const (
	ScheduleCreated   = "created"
	ScheduleUpdated   = "updated"
	ScheduleUnchanged = "unchanged"
)

// AppliedSchedule is the result of Apply for one schedule.
type AppliedSchedule struct {
	Name    string   `json:"name"`
	ID      string   `json:"id"`
	Outcome string   `json:"outcome"`           // created, updated or unchanged
	Changed []string `json:"changed,omitempty"` // properties that differed from the description
	Paused  bool     `json:"paused,omitempty"`  // the schedule is paused, by an operator or a failure, and stays paused
}

// check reports schedules that this build does not support, and duplicates, before anything is changed.
func (s Schedules) check(specs []ScheduleSpec) error {
	var fields []schema.FieldError
	seen := map[string]bool{}
	for i, spec := range specs {
		problem := ""
		switch _, known := kindOf(spec.Name); {
		case !known:
			problem = "must be one of " + strings.Join(ScheduleNames(), ", ")
		case seen[spec.Name]:
			problem = "is the name of another schedule too"
		case spec.Every <= 0 && len(spec.Calendar) == 0:
			problem = "has neither an interval nor a calendar"
		}
		seen[spec.Name] = true
		if problem != "" {
			fields = append(fields, schema.FieldError{Field: fmt.Sprintf("schedules[%d].name", i), Problem: problem})
		}
	}
	if len(fields) > 0 {
		return &schema.ValidationError{Fields: fields}
	}
	return nil
}

// Apply creates missing schedules and updates those that differ from their specs. A paused schedule stays paused and
// keeps its note, which gives the reason. Schedules without a spec are not changed. For a schedule of another task
// queue, Apply returns ErrScheduleElsewhere and changes nothing, unless TakeOver is set. Apply may be called repeatedly
// and concurrently.
func (s Schedules) Apply(ctx context.Context, specs []ScheduleSpec) ([]AppliedSchedule, error) {
	if err := s.check(specs); err != nil {
		return nil, err
	}
	there := make([]*client.ScheduleDescription, len(specs))
	for i, spec := range specs { // nothing is changed if one of them may not be
		var err error
		if there[i], err = s.lookUp(ctx, spec); err == nil && there[i] != nil {
			err = s.elsewhere(there[i].Schedule)
		}
		if err != nil {
			return nil, fmt.Errorf("schedule %s: %w", spec.Name, err)
		}
	}
	out := make([]AppliedSchedule, 0, len(specs))
	for i, spec := range specs {
		done, err := s.apply(ctx, spec, there[i])
		if err != nil {
			return out, fmt.Errorf("schedule %s: %w", spec.Name, err)
		}
		out = append(out, done)
	}
	return out, nil
}

// lookUp returns the schedule of a spec, or nil if there is none.
func (s Schedules) lookUp(ctx context.Context, spec ScheduleSpec) (*client.ScheduleDescription, error) {
	described, err := s.Client.ScheduleClient().GetHandle(ctx, s.id(spec.Name)).Describe(ctx)
	if missing(err) {
		return nil, nil
	}
	return described, err
}

// elsewhere returns ErrScheduleElsewhere if a schedule would be moved from another task queue without TakeOver.
func (s Schedules) elsewhere(there client.Schedule) error {
	if queue := taskQueueOf(there); queue != s.TaskQueue && queue != "" && !s.TakeOver {
		return fmt.Errorf("task queue %s: %w", queue, ErrScheduleElsewhere)
	}
	return nil
}

// apply creates a schedule, or changes the described one if it differs from its spec.
func (s Schedules) apply(ctx context.Context, spec ScheduleSpec,
	described *client.ScheduleDescription) (AppliedSchedule, error) {
	out := AppliedSchedule{Name: spec.Name, ID: s.id(spec.Name), Outcome: ScheduleCreated}
	handle := s.Client.ScheduleClient().GetHandle(ctx, out.ID)
	if described == nil {
		created, err := s.create(ctx, spec)
		if err == nil && !created { // created concurrently
			described, err = handle.Describe(ctx)
		}
		if err != nil || created {
			return out, err
		}
	}
	out.Outcome, out.Paused = ScheduleUnchanged, described.Schedule.State.Paused
	if out.Changed = s.differences(described.Schedule, spec); len(out.Changed) == 0 {
		return out, nil
	}
	out.Outcome = ScheduleUpdated
	return out, handle.Update(ctx,
		client.ScheduleUpdateOptions{DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			next := in.Description.Schedule // the current state: it may have been paused or moved in between
			if err := s.elsewhere(next); err != nil {
				return nil, err
			}
			wanted := s.options(spec)
			action, kept := *wanted.Action.(*client.ScheduleWorkflowAction), client.ScheduleWorkflowAction{}
			if there, ok := next.Action.(*client.ScheduleWorkflowAction); ok {
				kept = *there // keep memo and attributes that an operator added
			}
			kept.ID, kept.Workflow, kept.Args, kept.TaskQueue = action.ID, action.Workflow, action.Args, action.TaskQueue
			next.Action, next.Spec = &kept, &wanted.Spec
			next.Policy = &client.SchedulePolicies{Overlap: wanted.Overlap, CatchupWindow: wanted.CatchupWindow,
				PauseOnFailure: wanted.PauseOnFailure}
			if !next.State.Paused {
				next.State.Note = spec.Note
			}
			return &client.ScheduleUpdate{Schedule: &next}, nil
		}})
}

// taskQueueOf returns the task queue of a schedule's runs, or "" if it starts none.
func taskQueueOf(s client.Schedule) string {
	if action, ok := s.Action.(*client.ScheduleWorkflowAction); ok {
		return action.TaskQueue
	}
	return ""
}

// Ensure creates missing schedules. It does not change existing ones, so that changes of an operator are kept. Workers
// call it at startup.
func (s Schedules) Ensure(ctx context.Context, specs []ScheduleSpec) error {
	if err := s.check(specs); err != nil {
		return err
	}
	for _, spec := range specs {
		if _, err := s.create(ctx, spec); err != nil {
			return fmt.Errorf("schedule %s: %w", spec.Name, err)
		}
	}
	return nil
}

// create creates a schedule, unless it exists.
func (s Schedules) create(ctx context.Context, spec ScheduleSpec) (created bool, err error) {
	_, err = s.Client.ScheduleClient().Create(ctx, s.options(spec))
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return false, nil
	}
	return err == nil, err
}

// options converts a spec to the options of the Temporal client.
func (s Schedules) options(spec ScheduleSpec) client.ScheduleOptions {
	kind, _ := kindOf(spec.Name)
	o := client.ScheduleOptions{
		ID:             kind.id(s.Index),
		Spec:           client.ScheduleSpec{Calendars: spec.Calendar, Jitter: spec.Jitter, TimeZoneName: spec.TimeZone},
		Overlap:        enumspb.SCHEDULE_OVERLAP_POLICY_SKIP,
		CatchupWindow:  spec.CatchUp,
		PauseOnFailure: spec.PauseOnFailure,
		Note:           spec.Note,
		Action: &client.ScheduleWorkflowAction{ID: kind.id(s.Index), Workflow: kind.workflow,
			Args: kind.args(s.Index), TaskQueue: s.TaskQueue},
	}
	if spec.Every > 0 {
		o.Spec.Intervals = []client.ScheduleIntervalSpec{{Every: spec.Every}}
	}
	return o
}

// id returns the id of a schedule in Temporal, or "" for an unknown name.
func (s Schedules) id(name string) string {
	if kind, _ := kindOf(name); kind.id != nil {
		return kind.id(s.Index)
	}
	return ""
}

// Names of properties that differences returns.
const (
	differentNote      = "note"
	DifferentTaskQueue = "task queue"
)

// differences returns the names of the properties of a schedule that differ from its spec. It ignores the note of a
// paused schedule, which gives the reason of the pause.
func (s Schedules) differences(have client.Schedule, spec ScheduleSpec) []string {
	want := s.options(spec)
	action, _ := have.Action.(*client.ScheduleWorkflowAction)
	if action == nil {
		action = &client.ScheduleWorkflowAction{}
	}
	wanted := want.Action.(*client.ScheduleWorkflowAction)
	var out []string
	for _, field := range []struct {
		name string
		same bool
	}{
		{"every", slices.Equal(have.Spec.Intervals, want.Spec.Intervals)},
		{"calendar", sameCalendars(have.Spec.Calendars, want.Spec.Calendars) && len(have.Spec.Skip) == 0},
		{"time_zone", have.Spec.TimeZoneName == want.Spec.TimeZoneName},
		{"jitter", have.Spec.Jitter == want.Spec.Jitter},
		{"start and end", have.Spec.StartAt.IsZero() && have.Spec.EndAt.IsZero()},
		{"overlap", have.Policy.Overlap == want.Overlap},
		{"catch_up", have.Policy.CatchupWindow == want.CatchupWindow},
		{"pause_on_failure", have.Policy.PauseOnFailure == want.PauseOnFailure},
		{"workflow", action.Workflow == wanted.Workflow && action.ID == wanted.ID},
		{DifferentTaskQueue, action.TaskQueue == wanted.TaskQueue},
		{"arguments", s.sameArguments(action.Args, wanted.Args)},
		{differentNote, have.State.Paused || have.State.Note == want.Note},
	} {
		if !field.same {
			out = append(out, field.name)
		}
	}
	return out
}

// sameArguments compares decoded arguments. Arguments that cannot be decoded, for example because they were encrypted
// with another key, are not equal. No worker could read them.
func (s Schedules) sameArguments(have, want []any) bool {
	dc := s.Converter
	if dc == nil {
		dc = converter.GetDefaultDataConverter()
	}
	if len(have) != len(want) {
		return false
	}
	for i := range want {
		payload, ok := have[i].(*commonpb.Payload)
		var stored json.RawMessage
		if !ok || dc.FromPayload(payload, &stored) != nil {
			return false
		}
		wanted, err := json.Marshal(want[i])
		var compact bytes.Buffer
		if err != nil || json.Compact(&compact, stored) != nil || !bytes.Equal(compact.Bytes(), wanted) {
			return false
		}
	}
	return true
}

func sameCalendars(a, b []client.ScheduleCalendarSpec) bool {
	return slices.EqualFunc(a, b, func(a, b client.ScheduleCalendarSpec) bool { return timesOf(a) == timesOf(b) })
}

// timesOf returns a canonical text of a calendar, which has several equivalent forms.
func timesOf(c client.ScheduleCalendarSpec) string {
	var out strings.Builder
	write := func(name string, ranges []client.ScheduleRange, least, most int) {
		parts := make([]string, 0, len(ranges))
		for _, r := range ranges {
			r.End, r.Step = max(r.Start, r.End), max(1, r.Step)
			text := fmt.Sprint(r.Start)
			switch {
			case r.Start == least && r.End == most:
				text = "*"
			case r.End > r.Start:
				text = fmt.Sprintf("%d-%d", r.Start, r.End)
			}
			if r.Step > 1 && r.End > r.Start {
				text += fmt.Sprintf("/%d", r.Step)
			}
			parts = append(parts, text)
		}
		if text := strings.Join(parts, ","); text != "" && text != "*" {
			if out.Len() > 0 {
				out.WriteString(" ")
			}
			out.WriteString(name + " " + text)
		}
	}
	write("year", c.Year, 0, 0)
	write("month", c.Month, 1, 12)
	write("day", c.DayOfMonth, 1, 31)
	write("weekday", c.DayOfWeek, 0, 6)
	write("hour", c.Hour, 0, 23)
	write("minute", c.Minute, 0, 59)
	if len(c.Second) != 1 || c.Second[0].Start != 0 || c.Second[0].End > 0 {
		write("second", c.Second, 0, 59)
	}
	return out.String()
}

// scheduled describes when a schedule runs.
func scheduled(spec client.ScheduleSpec) string {
	var parts []string
	for _, i := range spec.Intervals {
		text := "every " + ShortDuration(i.Every)
		if i.Offset > 0 {
			text += " from " + ShortDuration(i.Offset)
		}
		parts = append(parts, text)
	}
	for _, c := range spec.Calendars {
		parts = append(parts, timesOf(c))
	}
	if spec.TimeZoneName != "" {
		parts = append(parts, "in "+spec.TimeZoneName)
	}
	return strings.Join(parts, "; ")
}

// ShortDuration formats a duration without zero parts: 6h instead of 6h0m0s.
func ShortDuration(d time.Duration) string {
	text := d.String()
	if s, ok := strings.CutSuffix(text, "m0s"); ok {
		text = s + "m"
	}
	if s, ok := strings.CutSuffix(text, "h0m"); ok {
		text = s + "h"
	}
	return text
}

// missing reports whether an error of Temporal means that the object does not exist.
func missing(err error) bool {
	var none *serviceerror.NotFound
	return errors.As(err, &none)
}
