package api

import (
	"bytes"
	"slices"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
)

// Limits of advice and reports.
const (
	MaxAdviceError = 64 << 10 // bytes of an error
	MaxAdviceKeys  = 40       // of the context, and of the preferences
	MaxAdviceValue = 400      // bytes of a value of these
	MaxAdviceTool  = 200      // characters of the name of the tool that failed
	MaxAdviceArgs  = 64 << 10 // bytes of its arguments
	MaxReportSteps = 200
)

// Validate returns a *schema.ValidationError that lists every invalid field.
func (r *AdviseRequest) Validate() error {
	p := principalProblems(r.Principal, r.ReadPolicy)
	if r.Task == "" && r.Error == "" {
		p.Add("task", "is required, or error")
	}
	check.Text(&p, "task", r.Task, schema.MaxIntentLength)
	check.Text(&p, "error", r.Error, MaxAdviceError)
	check.Text(&p, "working_dir", r.WorkingDir, schema.MaxNameLength)
	keys(&p, "context", r.Context)
	keys(&p, "preferences", r.Preferences)
	r.Failed.check(&p, "failed")
	return p.Err()
}

func (c *FailedCall) check(p *check.Problems, field string) {
	if c == nil {
		return
	}
	if c.Tool == "" {
		p.Add(field+".tool", "is required")
	}
	check.Text(p, field+".tool", c.Tool, MaxAdviceTool)
	if args := bytes.TrimSpace(c.Args); len(args) > 0 {
		if args[0] != '{' {
			p.Add(field+".args", "must be an object")
			return
		}
		check.Scan(args, field+".args", check.MaxDepth, MaxAdviceArgs, p)
	}
}

// Validate returns a *schema.ValidationError that lists every invalid field.
func (r *ReportRequest) Validate() error {
	p := principalProblems(r.Principal, r.ReadPolicy)
	if _, err := uuid.Parse(r.AdviceID); err != nil {
		p.Add("advice_id", "must be the id of advice")
	}
	if r.Used != "" {
		if id, err := uuid.Parse(r.Used); err != nil || id.String() != r.Used {
			p.Add("used", "must be the id of a memory")
		}
	}
	if r.Outcome != "" && !slices.Contains([]schema.Outcome{schema.OutcomeSuccess, schema.OutcomeFailure,
		schema.OutcomePartial}, r.Outcome) {
		p.Add("outcome", "must be success, failure or partial")
	}
	if r.Outcome == "" && len(r.Steps) == 0 {
		p.Add("outcome", "is required, or steps")
	}
	if len(r.Steps) > MaxReportSteps {
		p.Add("steps", "has too many elements")
	}
	keys(&p, "context", r.Context)
	return p.Err()
}

// principalProblems returns the problems that a recall would report for the principal.
func principalProblems(who schema.Principal, policy schema.ReadPolicy) check.Problems {
	var p check.Problems
	asked := schema.RecallRequest{Principal: who, ReadPolicy: policy, Query: "any"}
	if err, ok := asked.Validate().(*schema.ValidationError); ok {
		for _, f := range err.Fields {
			p.Add(f.Field, "%s", f.Problem)
		}
	}
	return p
}

func keys(p *check.Problems, field string, values map[string]string) {
	if len(values) > MaxAdviceKeys {
		p.Add(field, "has too many keys")
		return
	}
	for key, value := range values {
		if key == "" || len(key) > schema.MaxNameLength || len(value) > MaxAdviceValue {
			p.Add(field, "has a key or a value that is empty or too long")
			return
		}
	}
}
