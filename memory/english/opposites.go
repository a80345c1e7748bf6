package english

import (
	"strings"
)

// Sentiments has verbs of liking, +1, and disliking, -1.
var Sentiments = func() map[string]int {
	out := map[string]int{}
	for w := range Stems("love like enjoy adore prefer fancy favor appreciate relish", "fanof") {
		out[w] = 1
	}
	for w := range Stems("hate dislike detest despise loathe avoid abhor resent", "cantstand") {
		out[w] = -1
	}
	return out
}()

// Opposites maps each state to the state that it excludes.
var Opposites = func() map[string]string {
	out := map[string]string{}
	for pair := range strings.FieldsSeq(`enabled/disabled enable/disable on/off open/closed open/close
		allowed/forbidden allow/forbid allowed/denied required/optional mandatory/optional public/private up/down
		active/inactive manual/automatic manually/automatically blocked/unblocked locked/unlocked remote/onsite
		remotely/onsite sync/async synchronous/asynchronous available/unavailable single/married married/divorced
		employed/unemployed free/paid online/offline early/late tabs/spaces tab/space dark/light light/dark day/night
		passing/failing green/red fixed/broken done/pending approved/rejected supported/unsupported vegetarian/vegan
		yes/no true/false frozen/unfrozen paused/running signed/unsigned encrypted/unencrypted full/empty
		full-time/part-time window/aisle squash/rebase aisle/window cash/card left/right hot/cold iced/hot
		broken/work defective/work broken/repair order/work jammed/work sick/well ill/well sick/healthy
		ill/healthy sick/fit ill/fit injured/fit closed/reopen lost/found missing/found vacant/occupied
		sold/available busy/free busy/available dirty/clean wet/dry unemployed/job asleep/awake sold-out/available
		morning/evening morning/afternoon afternoon/evening`) {
		a, b, _ := strings.Cut(pair, "/")
		out[StemOf(a)] += " " + StemOf(b)
		out[StemOf(b)] += " " + StemOf(a)
	}
	return out
}()

// Opposite reports whether two states exclude each other, given by their stems.
func Opposite(a, b string) bool {
	for w := range strings.FieldsSeq(Opposites[a]) {
		if w == b {
			return true
		}
	}
	return false
}
