package schema

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema/check"
)

// Patch changes one memory (document 002 "Modify"). Nil fields are not changed.
type Patch struct {
	ID         string    `json:"id"`                   // UUID
	IfVersion  int       `json:"if_version,omitempty"` // 0 accepts any version
	Reason     string    `json:"reason,omitempty"`     // default: the reason of the request
	Content    *string   `json:"content,omitempty"`    // stored in storage form
	Category   *Category `json:"category,omitempty"`   // document 002 calls it type
	Importance *float64  `json:"importance,omitempty"` // [0,1]; must be 1 for a pinned memory
	Tags       *[]string `json:"tags,omitempty"`       // all of them; an empty list removes them
	Pinned     *bool     `json:"pinned,omitempty"`
	Who        *string   `json:"who,omitempty"`   // empty for no speaker
	Force      bool      `json:"force,omitempty"` // change the content of a pinned memory
}

// ModifyRequest applies patches independently of each other.
type ModifyRequest struct {
	Operation
	Patches []Patch `json:"patches"` // 1 to MaxPatches, of different memories

	problems []FieldError // found by decoding
}

// PatchStatus is the outcome of a patch.
type PatchStatus string

// The patch statuses. Only updated changes the memory.
const (
	PatchUpdated         PatchStatus = "updated"
	PatchNoChanges       PatchStatus = "no_changes"
	PatchNotFound        PatchStatus = "not_found"
	PatchDeleted         PatchStatus = "deleted"
	PatchVersionConflict PatchStatus = "version_conflict"
	PatchDuplicate       PatchStatus = "duplicate_content_hash"
	PatchPinned          PatchStatus = "pinned"      // content without force, or an importance other than 1
	PatchAppendOnly      PatchStatus = "append_only" // the content of an episode
	// The content of a competence or a plan follows from its payload. Put or revise the record instead.
	PatchStructured PatchStatus = "structured_content"
	PatchNotLive    PatchStatus = "not_live" // superseded, retracted or archived
	PatchFrozen     PatchStatus = "mutations_frozen"
)

// PatchResult is the outcome of one patch.
type PatchResult struct {
	ID             string      `json:"id"`
	Status         PatchStatus `json:"status"`
	CurrentVersion int         `json:"current_version,omitempty"` // version before the change, or the current one
	NewVersion     int         `json:"new_version,omitempty"`
	ContentChanged bool        `json:"content_changed,omitempty"`
	// Embedded reports whether the new content has an embedding. If not, the outbox worker adds it later.
	Embedded    bool   `json:"embedded,omitempty"`
	DuplicateID string `json:"duplicate_memory_id,omitempty"`
}

// ModifyResult holds the results in the order of the patches.
type ModifyResult struct {
	Results []PatchResult `json:"results"`
	Updated int           `json:"updated"`
}

// DecodePatch reads one patch from JSON, as strictly as DecodeCandidate.
func DecodePatch(data []byte) (Patch, error) {
	var p Patch
	if err := decodeWhole(data, &p); err != nil {
		return Patch{}, fmt.Errorf("patch: %w", err)
	}
	return p, nil
}

// Validate returns a *ValidationError that lists every invalid field.
func (r *ModifyRequest) Validate() error {
	if len(r.problems) > 0 { // other checks would report consequential errors
		return &ValidationError{Fields: r.problems}
	}
	var p check.Problems
	r.Operation.validate(&p)
	switch n := len(r.Patches); {
	case n == 0:
		p.Add("patches", "must hold at least one patch")
	case n > MaxPatches:
		p.Add("patches", "must hold at most %d patches, got %d", MaxPatches, n)
	}
	total, ids := 0, distinctIDs{}
	for i := range r.Patches {
		total += r.Patches[i].size()
		if i < MaxPatches {
			path := fmt.Sprintf("patches[%d]", i)
			ids.check(&p, path+".id", r.Patches[i].ID)
			r.Patches[i].validate(&p, path, isBlank(r.Reason))
		}
	}
	if total > MaxRequestBytes {
		p.Add("patches", "content, tags and reasons of all patches must be at most %d bytes, got %d", MaxRequestBytes,
			total)
	}
	return p.Err()
}

// validate checks a patch except its id. needsReason means that the request has no reason.
func (v *Patch) validate(p *check.Problems, path string, needsReason bool) {
	if v.Content == nil && v.Category == nil && v.Importance == nil && v.Tags == nil && v.Pinned == nil &&
		v.Who == nil {
		p.Add(path, "must change something: content, category, importance, tags, pinned or who")
	}
	if v.IfVersion < 0 {
		p.Add(path+".if_version", "must not be negative")
	}
	if needsReason && isBlank(v.Reason) {
		p.Add(path+".reason", "is required, here or for the whole request")
	}
	check.Text(p, path+".reason", v.Reason, MaxReasonLength)
	if v.Content != nil {
		checkPatchContent(p, path+".content", *v.Content)
	}
	if v.Category != nil && !v.Category.Valid() {
		p.Add(path+".category", "must be one of %s", check.Names(categories))
	}
	if f := v.Importance; f != nil {
		switch {
		case !unit(*f):
			p.Add(path+".importance", "must be between 0 and 1")
		case *f != 1 && v.Pinned != nil && *v.Pinned:
			p.Add(path+".importance", "must be 1 where pinned is true")
		}
	}
	if v.Tags != nil {
		if len(*v.Tags) > MaxTags {
			p.Add(path+".tags", "must hold at most %d tags", MaxTags)
		}
		for i, tag := range (*v.Tags)[:min(len(*v.Tags), MaxTags)] {
			field := fmt.Sprintf("%s.tags[%d]", path, i)
			if isBlank(tag) {
				p.Add(field, "is empty")
			}
			check.Text(p, field, tag, MaxTagLength)
		}
	}
	if v.Who != nil {
		check.Text(p, path+".who", *v.Who, MaxNameLength)
	}
}

// size returns the total size of a patch's texts in bytes.
func (v *Patch) size() int {
	n := len(v.Reason)
	if v.Content != nil {
		n += len(*v.Content)
	}
	if v.Tags != nil {
		for _, tag := range *v.Tags {
			n += len(tag)
		}
	}
	return n
}

// checkPatchContent checks new content like that of a candidate.
func checkPatchContent(p *check.Problems, field, content string) {
	switch {
	case isBlank(content):
		p.Add(field, "is empty")
	case len(content) > MaxContentBytes:
		p.Add(field, "must be at most %d bytes, got %d", MaxContentBytes, len(content))
	case !utf8.ValidString(content):
		p.Add(field, "is not valid UTF-8")
	case strings.ContainsRune(content, 0):
		p.Add(field, "contains a NUL character")
	}
}

// distinctIDs maps the memory ids of a request to the fields that name them.
type distinctIDs map[uuid.UUID]string

// check reports a text that is not a memory id of 36 characters, and a repeated id.
func (seen distinctIDs) check(p *check.Problems, field, id string) {
	parsed, err := uuid.Parse(id)
	if err != nil || len(id) != 36 {
		p.Add(field, "must be a memory id")
		return
	}
	if first, ok := seen[parsed]; ok {
		p.Add(field, "is the same as %s", first)
		return
	}
	seen[parsed] = field
}

// Summaries of a request with several parts.
const (
	summaryOK      = "ok"      // no part was refused
	summaryPartial = "partial" // some parts were refused
	summaryRefused = "refused" // all parts were refused
)

// summaryWord returns the summary of a request with the given numbers of done and refused parts.
func summaryWord(done, refused int) string {
	switch {
	case refused == 0:
		return summaryOK
	case done == 0:
		return summaryRefused
	default:
		return summaryPartial
	}
}

// Refused counts the patches that could not be applied: all except updated and no_changes.
func (r ModifyResult) Refused() int {
	n := 0
	for _, item := range r.Results {
		if item.Status != PatchUpdated && item.Status != PatchNoChanges {
			n++
		}
	}
	return n
}

// Summary returns ok, partial or refused.
func (r ModifyResult) Summary() string {
	refused := r.Refused()
	return summaryWord(len(r.Results)-refused, refused)
}

// Changed lists the memories that the request changed.
func (r ModifyResult) Changed() []string {
	var out []string
	for _, item := range r.Results {
		if item.Status == PatchUpdated {
			out = append(out, item.ID)
		}
	}
	return out
}

// VersionConflict means that a memory does not have the version that a request names. Nothing was changed.
type VersionConflict struct {
	ID        string `json:"id"`
	IfVersion int    `json:"if_version"`        // version in the request
	Version   int    `json:"version,omitempty"` // version of the memory; 0 if it changed during the request
}

// Error implements error.
func (e *VersionConflict) Error() string {
	if e.Version == 0 {
		return fmt.Sprintf("memory %s is no longer at version %d", e.ID, e.IfVersion)
	}
	return fmt.Sprintf("memory %s is at version %d, not %d", e.ID, e.Version, e.IfVersion)
}
