package api

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
	"github.com/mneme/mneme/schema/ledger"
)

// EraseEventsRequest starts the workflow EraseEvents. It erases the payloads of events permanently, and deletes the
// histories of the sessions that may contain them.
type EraseEventsRequest struct {
	Tenant string   `json:"tenant"`
	User   string   `json:"user,omitempty"` // erases only events of this user's streams
	IDs    []string `json:"ids"`            // at most ledger.MaxAppend
	// All erases all events of the user's streams, of every agent, instead of those with the ids. It requires a user.
	All bool `json:"all,omitempty"`
	// Everywhere also erases the episodes that repeat the events, and other memories with the same content. It requires
	// a reason, which their history keeps. It cannot be combined with All.
	Everywhere bool   `json:"everywhere,omitempty"`
	Actor      string `json:"actor,omitempty"`
	Reason     string `json:"reason,omitempty"`

	State *EraseEventsState `json:"state,omitempty" decode:"state"` // set by continue-as-new

	strict
}

// UnmarshalJSON reads the input strictly; DecodeErr reports what it found.
func (r *EraseEventsRequest) UnmarshalJSON(data []byte) error {
	type plain EraseEventsRequest
	r.decoded = check.DecodeInput(data, (*plain)(r))
	return nil
}

// EraseEventsState is the progress of a run that erases all events of a user. The pass has erased the events up to the
// number Seq of Stream, and those of streams before it.
type EraseEventsState struct {
	Stream string `json:"stream,omitempty"`
	Seq    int64  `json:"seq,omitempty"`
	// Passes is the number of complete passes over the user's events. Those after the first look for events that have
	// arrived since.
	Passes int               `json:"passes,omitempty"`
	Result EraseEventsResult `json:"result"`
	// Found means that the user has events, so that runs which may have shown them are deleted at the end.
	Found bool `json:"found,omitempty"`
}

// MaxErasedEpisodes is the maximum number of episodes in the result of a run that erases all events of a user.
const MaxErasedEpisodes = 1_000

// MaxErasePasses is the number of passes over a user's events after which a run ends, even if the last pass still found
// new events.
const MaxErasePasses = 10

// EraseEventsResult counts the erased items.
type EraseEventsResult struct {
	Erased int `json:"erased"` // newly erased events
	// Sessions counts the sessions whose histories were deleted. With All, a session with more events than one step
	// erases (ledger.MaxAppend) counts once for each step, and again if it appended events while the run worked.
	Sessions int      `json:"sessions"`
	Runs     int      `json:"runs"`               // deleted runs
	Indexed  int      `json:"indexed,omitempty"`  // events that were removed from a memory index outside Postgres
	Episodes []string `json:"episodes,omitempty"` // ids of records that repeat the events and were not erased
	// MoreEpisodes means that there are more than the MaxErasedEpisodes in Episodes.
	MoreEpisodes bool `json:"more_episodes,omitempty"`
	// StillWritten means, with All, that each of MaxErasePasses passes found new events: an agent writes for the user,
	// and newer events may be left. Stop the agent and repeat the request.
	StillWritten bool `json:"still_written,omitempty"`
	// Unknown are ids without an event, or without one of the user. If all are unknown, nothing was deleted.
	Unknown []string `json:"unknown,omitempty"`
	// Receipts are the receipts of records that were erased with Everywhere, one for each agent that had such
	// records.
	Receipts []schema.ForgetReceipt `json:"receipts,omitempty"`
}

// AddEpisodes adds the episodes of a step, each once, and keeps the first MaxErasedEpisodes.
func (r *EraseEventsResult) AddEpisodes(ids []string) {
	r.Episodes = append(r.Episodes, ids...)
	slices.Sort(r.Episodes)
	if r.Episodes = slices.Compact(r.Episodes); len(r.Episodes) > MaxErasedEpisodes {
		r.Episodes, r.MoreEpisodes = r.Episodes[:MaxErasedEpisodes], true
	}
}

// Validate returns a *schema.ValidationError that lists every invalid field.
func (r *EraseEventsRequest) Validate() error {
	if err := r.DecodeErr(); err != nil {
		return err
	}
	var p check.Problems
	switch {
	case r.Tenant == "":
		p.Add("tenant", "is required")
	case r.All && len(r.IDs) > 0:
		p.Add("all", "must not be given with ids")
	case r.All && r.User == "":
		p.Add("user", "is required with all")
	case r.All && r.Everywhere:
		p.Add("everywhere", "must not be given with all: a forget of all memories of the user erases the episodes")
	case !r.All && (len(r.IDs) == 0 || len(r.IDs) > ledger.MaxAppend):
		p.Add("ids", "must hold 1 to %d ids of a tenant", ledger.MaxAppend)
	}
	if r.Everywhere && strings.TrimSpace(r.Reason) == "" {
		p.Add("reason", "is required with everywhere: the history of the erased records keeps it")
	}
	if problem := schema.UserNameProblem(r.User); r.User != "" && problem != "" {
		p.Add("user", "%s", problem)
	}
	return p.Err()
}
