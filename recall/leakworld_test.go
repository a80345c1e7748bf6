package recall_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/passages"
	"github.com/mneme/mneme/memory/timeexpr"
	"github.com/mneme/mneme/schema"
)

// leakNow is the time at which every request is made.
var leakNow = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

// leakRow is a memory in the model of authorisation. Each of its texts contains its two marks: one may occur in
// requests, the other is in no request.
type leakRow struct {
	id          uuid.UUID
	mark        string
	secret      string
	p           schema.Principal
	vis         schema.Visibility
	kind        schema.MemoryType
	category    schema.Category
	sensitivity schema.Sensitivity
	status      schema.Status
	gone        string // the column that is set: deleted_at or archived_at
	tags        []string
	who         string
	pinned      bool
	importance  float64
	occurred    time.Time
	from, until *time.Time
	conditions  map[string]any
	summary     bool
	content     string
	successor   uuid.UUID // of a superseded memory
}

func (r leakRow) live() bool {
	return r.gone == "" && (r.status == schema.StatusActive || r.status == schema.StatusContested)
}

// reaches reports whether the caller may see a memory, regardless of sensitivity; scopes are those granted in addition
// to its own.
func reaches(r leakRow, q schema.RecallRequest, scopes []string) bool {
	p := q.Principal
	own := r.p.Scope == p.Scope
	if p.User != "" {
		own = r.p.Scope == "" || r.p.Scope == "user/"+p.User
	}
	if r.p.Tenant != p.Tenant || p.Project != "" && r.p.Project != p.Project || !own && !slices.Contains(scopes,
		r.p.Scope) {
		return false
	}
	if r.p.Agent == p.Agent {
		return true
	}
	if q.ReadPolicy == "" || q.ReadPolicy == schema.ReadIsolated {
		return false
	}
	switch r.vis {
	case schema.VisibilityGlobal:
		return true
	case schema.VisibilityShared:
		return r.p.Project == p.Project
	case schema.VisibilityGroup:
		return r.p.PolicyGroup != "" && r.p.PolicyGroup == p.PolicyGroup
	}
	return false
}

var ladder = []schema.Sensitivity{"public", "low", "medium", "high", "hyper"}

func rung(s schema.Sensitivity) int { return slices.Index(ladder, s) }

// shownMeets reports whether the visible part of a redacted memory matches the request.
func shownMeets(r leakRow, q schema.RecallRequest) bool {
	return (len(q.Types) == 0 || slices.Contains(q.Types, r.kind)) && (len(q.Categories) == 0 ||
		slices.Contains(q.Categories, r.category)) &&
		(q.Since == nil || !r.occurred.Before(*q.Since)) && (q.Until == nil || r.occurred.Before(*q.Until))
}

// meets reports whether a memory matches the request.
func meets(r leakRow, q schema.RecallRequest) bool {
	if !shownMeets(r, q) || q.Pinned != nil && r.pinned != *q.Pinned || r.importance < q.ImportanceMin ||
		q.Who != "" && !strings.EqualFold(r.who, q.Who) || !holdsThen(r, q) {
		return false
	}
	for _, tag := range q.Tags {
		if !slices.Contains(r.tags, strings.ToLower(tag)) {
			return false
		}
	}
	var known map[string]any
	_ = json.Unmarshal(q.Context, &known)
	for key, value := range known {
		if want, named := r.conditions[key]; named && want != value {
			return false
		}
	}
	return true
}

func holds(r leakRow, at time.Time) bool {
	return (r.from == nil || !r.from.After(at)) && (r.until == nil || r.until.After(at))
}

// holdsThen reports whether a memory is true at the time of the request, or at a time that its query names.
func holdsThen(r leakRow, q schema.RecallRequest) bool {
	if q.ValidAt != nil {
		return holds(r, *q.ValidAt)
	}
	return holds(r, leakNow) || slices.ContainsFunc(timeexpr.Begun(timeexpr.ParseTimes(q.Query, leakNow), leakNow),
		func(w timeexpr.TimeWindow) bool {
			return (r.from == nil || r.from.Before(w.End)) && (r.until == nil || r.until.After(w.Start))
		})
}

func oneOf[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

var (
	leakTopics = []string{"harbour", "kestrel", "violin", "granite", "saffron"}
	leakPeople = []string{"Alice", "Boris", "Chloe"}
	leakTypes  = []schema.MemoryType{"episodic", "episodic", "semantic", "semantic", "working", "competence",
		"plan_graph"}
	leakSessions = []string{"", "s1", "s1", "s2"}
)

func leakPrincipal(r *rand.Rand) schema.Principal {
	return schema.Principal{Tenant: oneOf(r, "t", "t", "t", "u"), Agent: oneOf(r, "a", "b", "c"),
		Project: oneOf(r, "", "p", "p", "q"),
		Scope:   oneOf(r, "", "", "", "", "s", "z", "user/m", "user/n"), PolicyGroup: oneOf(r, "", "g", "g", "h")}
}

// leakAsker returns a random caller in the place of a memory, often with a user.
func leakAsker(r *rand.Rand, p schema.Principal) schema.Principal {
	switch user, of := strings.CutPrefix(p.Scope, "user/"); {
	case of && r.IntN(4) > 0:
		p.Scope, p.User = "", user
	case p.Scope == "" && r.IntN(4) == 0:
		p.User = oneOf(r, "m", "n", "o")
	}
	return p
}

// newLeakRow generates a memory.
func newLeakRow(r *rand.Rand, n int) leakRow {
	row := leakRow{id: leakID("row", n), mark: fmt.Sprintf("mk%04d", n), secret: fmt.Sprintf("zz%04d", n),
		p:           leakPrincipal(r),
		vis:         oneOf[schema.Visibility](r, "private", "private", "group", "shared", "shared", "global"),
		kind:        oneOf(r, leakTypes...),
		category:    oneOf[schema.Category](r, "fact", "preference", "decision", "decision", "procedural", "issue"),
		sensitivity: oneOf(r, append(ladder, "low", "low", "medium")...),
		status: oneOf[schema.Status](r, "active", "active", "active", "active", "active", "contested",
			"superseded", "retracted"),
		gone: oneOf(r, "", "", "", "", "", "", "", "deleted_at", "archived_at"),
		tags: oneOf(r, nil, []string{"x"}, []string{"x", "y"}), who: oneOf(r, "", "Alice", "Boris"),
		pinned:     r.IntN(6) == 0,
		importance: oneOf(r, 0.2, 0.5, 0.9), occurred: leakNow.AddDate(0, 0, -oneOf(r, 1, 6, 20, 40, 400)),
		summary: r.IntN(2) == 0}
	if r.IntN(8) == 0 {
		from, until := leakNow.AddDate(0, 0, oneOf(r, -30, -10, 5)), leakNow.AddDate(0, 0, oneOf(r, 8, 30))
		if r.IntN(2) == 0 {
			until = leakNow.AddDate(0, 0, -5)
			from = leakNow.AddDate(0, 0, -60)
		}
		row.from, row.until = &from, &until
	}
	if r.IntN(8) == 0 {
		row.conditions = map[string]any{"os": oneOf(r, "linux", "windows"), "note": row.secret}
	}
	row.tags = append(slices.Clip(row.tags), "tag-"+row.secret)
	row.content = fmt.Sprintf("%s needle %s: %s keeps the %s near the %s %s%s",
		oneOf(r, "Last week", "In May 2026", "Once"), row.mark, oneOf(r, leakPeople...),
		oneOf(r, leakTopics...), oneOf(r, leakTopics...), row.secret, oneOf(r, ".", "?"))
	if n%leakLong == 0 {
		row.content += strings.Repeat(fmt.Sprintf(" Of %s and %s the notes say that little came of it.", row.mark,
			row.secret), 2*passages.MaxBytes/50)
	}
	return row
}

// One in leakLong memories is so long that it is shown by passages. Every passage contains its marks.
const leakLong = 5

// asked is the part of the content that a request may contain.
func (r leakRow) asked() string {
	first, _, _ := strings.Cut(r.content, " Of mk")
	return strings.ReplaceAll(first, " "+r.secret, "")
}

// leakID returns the id of the n-th thing of a kind, in no order.
func leakID(kind string, n int) uuid.UUID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", kind, n))
	return planted([8]byte(sum[:8]))
}

// succeed gives each superseded memory a successor, half of them with the same visibility: some chains can be followed
// by a caller, and others are interrupted.
func succeed(r *rand.Rand, rows []leakRow) {
	for i := range rows {
		if rows[i].status != schema.StatusSuperseded {
			continue
		}
		next := rows[r.IntN(len(rows))]
		if next.id == rows[i].id {
			continue
		}
		rows[i].successor = next.id
		if r.IntN(2) == 0 {
			rows[i].p, rows[i].vis, rows[i].sensitivity, rows[i].gone = next.p, next.vis, next.sensitivity, ""
		}
	}
}

// payload is a valid payload of its type that contains the mark.
func (r leakRow) payload() string {
	switch r.kind {
	case schema.TypeSemantic:
		return fmt.Sprintf(`{"kind":"semantic","subject":"Alice","predicate":"keeps","object":%q,"validity":{"mode":"global"}}`, r.content)
	case schema.TypeWorking:
		return fmt.Sprintf(`{"kind":"working","thread_id":"th","state":"planning","context_summary":%q}`, r.content)
	case schema.TypeCompetence:
		return fmt.Sprintf(`{"kind":"competence","skill_name":"skill_%[1]s","triggers":[{"signal":"needle %[1]s","conditions":{"os":"linux"}}],"recipe":[{"step":%[2]q}],`+
			`"performance":{"success_count":4,"failure_count":1}}`, r.mark, r.content)
	case schema.TypePlanGraph:
		return fmt.Sprintf(`{"kind":"plan_graph","plan_id":"plan_%[1]s","version":"1","intent":"needle","nodes":[{"id":"n","op":%[2]q}],"edges":[]}`, r.mark, r.content)
	}
	return fmt.Sprintf(`{"kind":"episodic","timeline":[{"t":"2026-01-01T00:00:00Z","event_kind":"note","ref":"e","summary":%q}]}`, r.content)
}
