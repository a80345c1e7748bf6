package outcome

import (
	"fmt"
	"strings"

	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
)

// Words for a candidate as a whole.
const (
	Remembered = "remembered"
	KeptAsSaid = "kept as said" // the text is kept, and no fact was drawn from it
	Known      = "already known"
)

// shown is how many characters of a memory a message quotes.
const shown = 300

// skipped says, by reason, why a fact was not written. The fact follows.
var skipped = map[string]string{
	proposals.ReasonAlreadyKnown:            Known,
	proposals.ReasonDuplicate:               Known,
	proposals.ReasonEmptyFactContent:        "nothing in it to keep",
	proposals.ReasonRetractionWithoutTarget: "takes back what no memory says",
	proposals.ReasonInvalidAction:           unusable,
	proposals.ReasonInvalidConfidence:       unusable,
	proposals.ReasonMissingTarget:           unusable,
	proposals.ReasonUnknownTarget:           unusable,
	proposals.ReasonUndecided:               unusable,
	proposals.ReasonParentForgotten:         "forgotten meanwhile",
	"forgotten":                             "forgotten meanwhile",
}

const unusable = "only kept as said, because the decision about it could not be used"

// blocked has, for each reason, why a change waits for a person. A reason that is not listed needs no text: the
// worker is set up so.
var blocked = map[string]string{
	proposals.ReasonDestructiveDisabled: "",
	proposals.ReasonPinnedTarget:        "the memory is pinned",
	proposals.ReasonContradiction:       "they contradict each other",
	proposals.ReasonRevisionPolicy:      "more speaks for the memory that is there",
	proposals.ReasonActiveFactExists:    "both cannot hold",
	proposals.ReasonCandidatesChanged:   "the memories that it was compared with kept changing",
}

// held says, by reason, which mode kept a change from being written.
var held = map[string]string{
	proposals.ReasonShadowMode:      "shadow mode writes nothing",
	proposals.ReasonMutationsFrozen: "frozen mode keeps only what was said",
}

// Knows reports whether there are words for a reason.
func Knows(reason string) bool {
	_, isSkipped := skipped[reason]
	_, isBlocked := blocked[reason]
	_, isHeld := held[reason]
	return isSkipped || isBlocked || isHeld || reason == proposals.ReasonLowFactConfidence
}

// Fact returns the outcome of a fact in one line. It does not quote a withheld fact.
func Fact(f schema.FactOutcome) string {
	line := fact(f)
	if f.Withheld {
		line += "; " + Withheld(f.Sensitivity, f.Detected)
	}
	return line
}

func fact(f schema.FactOutcome) string {
	switch f.State {
	case schema.ProposalApplied:
		return applied(f)
	case schema.ProposalBlocked:
		return waits(f)
	case schema.ProposalRejected:
		return follow("rejected in review", f.Content)
	case schema.ProposalExpired:
		if f.Contested {
			return applied(f)
		}
		return follow("expired, because it was not reviewed in time", f.Content)
	case schema.ProposalSkipped:
		return skip(f)
	}
	return follow("still being worked on", f.Content)
}

// applied says what a fact changed.
func applied(f schema.FactOutcome) string {
	switch {
	case f.Contested && quote(f.Target) == "":
		return follow("contradicts another memory, both are kept and marked", f.Content)
	case f.Contested:
		return "contradicts: " + open(between(f, "↔")) + "; both are kept and marked"
	case f.Retracts && (f.TargetID != "" || f.Target != ""), f.Action == schema.ActionDelete:
		return follow("takes back", orElse(f.Target, "an earlier memory"))
	case f.Action == schema.ActionUpdate:
		return "updates: " + between(f, "→")
	}
	return follow(Remembered, f.Content)
}

// waits says what waits for a person, or which mode keeps it from being written.
func waits(f schema.FactOutcome) string {
	change := quote(f.Content)
	switch {
	case f.Action == schema.ActionDelete || f.Retracts:
		change = "takes back " + orElse(f.Target, "an earlier memory")
	case f.Action == schema.ActionUpdate || quote(f.Target) != "":
		change = between(f, "→")
	}
	if mode, ok := held[f.Skipped]; ok {
		return follow("not written, because "+mode, change)
	}
	line := follow("waits for review", change)
	why, known := blocked[f.Skipped]
	if !known {
		why = f.Skipped
	}
	if why != "" {
		line = open(line) + " (" + why + ")"
	}
	if f.ProposalID != "" {
		line = open(line) + "; see mneme review show " + f.ProposalID
	}
	return line
}

// skip says why nothing was written.
func skip(f schema.FactOutcome) string {
	switch {
	case f.Skipped == proposals.ReasonLowFactConfidence:
		return follow(fmt.Sprintf("not sure enough to keep (confidence %s)", confidence(f.Confidence)), f.Content)
	case f.Skipped == proposals.ReasonAlreadyKnown && f.MemoryID != "" && f.MemoryID == f.SourceID:
		return follow(Remembered, f.Content) // what was handed in says just this
	}
	words, known := skipped[f.Skipped]
	if !known {
		words = "not written (" + f.Skipped + ")"
	}
	return follow(words, f.Content)
}

// confidence is a number in [0,1] with as many digits as it needs, two at most.
func confidence(f float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.2f", f), "0")
}

// Candidate gives in a few words the outcome of a candidate, from the outcomes of its facts.
func Candidate(c schema.CandidateOutcome, facts []schema.FactOutcome) string {
	line := KeptAsSaid
	switch {
	case c.Recalled:
		return "came out of recall: recorded, not learned again"
	case c.Deduped:
		line = Known
	case !c.Stored:
		line = "only evaluated, because " + held[proposals.ReasonShadowMode]
	default:
		for _, f := range facts {
			if f.SourceID == c.MemoryID && Took(f) {
				line = Remembered
			}
		}
	}
	if c.Withheld {
		line += "; " + Withheld(c.Sensitivity, c.Detected)
	}
	return line
}

// Accepted gives the outcome of a candidate when no more is known than that it is durable.
func Accepted(c schema.CandidateOutcome) string {
	c.Stored = true
	line := Candidate(c, nil)
	if rest, ok := strings.CutPrefix(line, KeptAsSaid); ok {
		return Remembered + rest
	}
	return line
}

// Took reports whether a fact is in memory now: written, or there already.
func Took(f schema.FactOutcome) bool {
	return f.State == schema.ProposalApplied ||
		f.State == schema.ProposalSkipped &&
			(f.Skipped == proposals.ReasonAlreadyKnown || f.Skipped == proposals.ReasonDuplicate)
}

// Describe fills in the messages of a batch.
func Describe(candidates []schema.CandidateOutcome, facts []schema.FactOutcome) {
	for i := range facts {
		facts[i].Message = Fact(facts[i])
	}
	for i := range candidates {
		candidates[i].Message = Candidate(candidates[i], facts)
	}
}

// detected are words for what DetectSensitive finds and recall withholds.
var detected = map[string]string{
	sensitive.DetectedPrivateKey:       "a private key",
	sensitive.DetectedAPIKey:           "an API key",
	sensitive.DetectedToken:            "an access token",
	sensitive.DetectedPassword:         "a password",
	sensitive.DetectedSecret:           "a secret",
	sensitive.DetectedConnectionString: "a connection string with a password",
	sensitive.DetectedPaymentCard:      "a payment card number",
	sensitive.DetectedIBAN:             "an IBAN",
	sensitive.DetectedBankAccount:      "a bank account number",
	sensitive.DetectedSSN:              "a US social security number",
	sensitive.DetectedIdentity:         "the number of an identity document",
}

// Withheld says what was found in a text that recall withholds. It names kinds, never what was found.
func Withheld(level schema.Sensitivity, kinds []string) string {
	var found []string
	for _, kind := range kinds {
		if words, ok := detected[kind]; ok {
			found = append(found, words)
		}
	}
	switch len(found) {
	case 0:
		return fmt.Sprintf("withheld, because its sensitivity is %s", level)
	case 1:
		return found[0] + " was found and is withheld"
	}
	last := len(found) - 1
	return strings.Join(found[:last], ", ") + " and " + found[last] + " were found and are withheld"
}

// between shows the old and the new value, or one of them if only one may be shown.
func between(f schema.FactOutcome, sign string) string {
	from, to := quote(f.Target), quote(f.Content)
	switch {
	case from == "" && to == "":
		return "an earlier memory"
	case from == "":
		return "an earlier memory " + sign + " " + to
	case to == "":
		return from
	}
	return open(from) + " " + sign + " " + to
}

// open removes the full stop of a sentence that continues.
func open(sentence string) string { return strings.TrimSuffix(sentence, ".") }

// follow appends what a memory says to words about it.
func follow(words, content string) string {
	if content = quote(content); content != "" {
		return words + ": " + content
	}
	return words
}

func orElse(content, otherwise string) string {
	if content = quote(content); content != "" {
		return content
	}
	return otherwise
}

// quote is the content of a memory on one line, cut where it is long.
func quote(content string) string {
	content = strings.Join(strings.Fields(content), " ")
	if runes := []rune(content); len(runes) > shown {
		return string(runes[:shown-1]) + "…"
	}
	return content
}
