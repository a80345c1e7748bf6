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
	IfVersion  int       `json:"if_version,omitempty"` // 0: any
	Reason     string    `json:"reason,omitempty"`     // default: the request's
	Content    *string   `json:"content,omitempty"`    // kept in storage form
	Category   *Category `json:"category,omitempty"`   // document 002 calls it type
	Importance *float64  `json:"importance,omitempty"` // [0,1]; that of a pinned memory is 1
	Tags       *[]string `json:"tags,omitempty"`       // all of them; an empty list removes them
	Pinned     *bool     `json:"pinned,omitempty"`
	Who        *string   `json:"who,omitempty"`   // empty for no one in particular
	Force      bool      `json:"force,omitempty"` // change the content of a pinned memory
}

// ModifyRequest applies patches, each on its own.
type ModifyRequest struct {
	Operation
	Patches []Patch `json:"patches"` // 1 to MaxPatches, each of another memory

	problems []FieldError // what decoding found wrong
}

// PatchStatus is the outcome of a patch.
type PatchStatus string

// The patch statuses. All but updated leave the memory as it was.
const (
	PatchUpdated         PatchStatus = "updated"
	PatchNoChanges       PatchStatus = "no_changes"
	PatchNotFound        PatchStatus = "not_found"
	PatchDeleted         PatchStatus = "deleted"
	PatchVersionConflict PatchStatus = "version_conflict"
	PatchDuplicate       PatchStatus = "duplicate_content_hash"
	PatchPinned          PatchStatus = "pinned"      // content without force, or an importance other than 1
	PatchAppendOnly      PatchStatus = "append_only" // the content of an episode
	// The content of a competence or a plan, which says in words what its payload says: put or revise it.
	PatchStructured PatchStatus = "structured_content"
	PatchNotLive    PatchStatus = "not_live" // superseded, retracted or archived
	PatchFrozen     PatchStatus = "mutations_frozen"
)

// PatchResult is the outcome of one patch.
type PatchResult struct {
	ID             string      `json:"id"`
	Status         PatchStatus `json:"status"`
	CurrentVersion int         `json:"current_version,omitempty"` // before, or the current one
	NewVersion     int         `json:"new_version,omitempty"`
	ContentChanged bool        `json:"content_changed,omitempty"`
	// The new content is; false: the embedding follows with the outbox.
	Embedded    bool   `json:"embedded,omitempty"`
	DuplicateID string `json:"duplicate_memory_id,omitempty"`
}

// ModifyResult is in the order of the patches.
type ModifyResult struct {
	Results []PatchResult `json:"results"`
	Updated int           `json:"updated"`
}

// DecodePatch reads one patch from JSON. Unknown fields and trailing data are errors.
func DecodePatch(data []byte) (Patch, error) {
	var p Patch
	if err := decodeStrict(data, &p); err != nil {
		return Patch{}, fmt.Errorf("patch: %w", err)
	}
	return p, nil
}

// Validate reports every field that is wrong, as a *ValidationError.
func (r *ModifyRequest) Validate() error {
	if len(r.problems) > 0 { // other checks would report consequences of these
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

// validate checks all of a patch but its id. needsReason: the request gives none.
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

// size is the bytes of a patch's texts.
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

// checkPatchContent checks a new content as that of a candidate.
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

// distinctIDs are the memory ids of a request so far, with the field that named each.
type distinctIDs map[uuid.UUID]string

// check refuses text that is not a memory id of 36 characters, and an id that was named before.
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

// Words for the outcome of a request of several parts.
const (
	summaryOK      = "ok"      // every part was done, or no change was needed
	summaryPartial = "partial" // some were refused
	summaryRefused = "refused" // none was done
)

// summaryWord is the word for a request when some parts were done and some refused.
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

// Refused counts the patches that could not be applied: all but updated and no_changes.
func (r ModifyResult) Refused() int {
	n := 0
	for _, item := range r.Results {
		if item.Status != PatchUpdated && item.Status != PatchNoChanges {
			n++
		}
	}
	return n
}

// Summary is a word for operators: ok, partial or refused.
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

// VersionConflict says that a memory is not at the version that a request names. Nothing was changed.
type VersionConflict struct {
	ID        string `json:"id"`
	IfVersion int    `json:"if_version"`        // of the request
	Version   int    `json:"version,omitempty"` // of the memory; 0 if it changed during the request
}

// Error implements error.
func (e *VersionConflict) Error() string {
	if e.Version == 0 {
		return fmt.Sprintf("memory %s is no longer at version %d", e.ID, e.IfVersion)
	}
	return fmt.Sprintf("memory %s is at version %d, not %d", e.ID, e.Version, e.IfVersion)
}
