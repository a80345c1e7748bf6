package frame

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/english"
)

// conceptAsked has the words that people use to ask for an attribute.
var conceptAsked = map[string]string{
	"HOME": "home, address or city", "EMPLOYER": "employer, company or workplace",
	"ROLE":    "job, role, title or occupation",
	"MANAGER": "manager, boss or supervisor, who is in charge", "PARTNER": "partner or relationship, wife or husband",
	"PHONE": "phone number, which number to call or dial", "EMAIL": "email address", "DIET": "diet or way of eating",
	"ALLERGY": "allergy or intolerance, what food to avoid", "VEHICLE": "car or vehicle, what is driven",
	"COMMUTE": "commute, the way to travel to work or the office", "HOBBY": "hobby or free time activity at weekends",
	"INSTRUMENT": "musical instrument", "GYM": "gym, training or workout, where to exercise",
	"SCHOOL":   "school, university or class",
	"LANGUAGE": "language that is learned or spoken", "DRINK": "favourite drink", "WAKE": "time of getting up",
	"PET":    "pet or animal",
	"ONCALL": "on-call duty, whom to page or call at night",
	"LEAD":   "lead, owner or person responsible, who is in charge",
	"REVIEW": "reviewer or approval", "STANDUP": "standup or daily meeting", "SPRINT": "sprint length or iteration",
	"LAUNCH": "launch, release or go-live date", "DEADLINE": "deadline or due date",
	"BUDGET": "budget or money to spend",
	"SALARY": "salary or pay", "CI": "CI system, build server or pipeline",
	"REPO":    "repository, where the code is hosted",
	"TRACKER": "issue tracker for tickets and bugs", "CHAT": "chat tool or messenger",
	"DATABASE": "database or data store",
	"QUEUE":    "message bus, queue or broker for events",
	"REGION":   "region or location, where it is deployed or hosted",
	"PORT":     "port that it listens on", "BRANCH": "branch", "RETENTION": "retention, how long it is kept",
	"LIMIT": "limit, quota or maximum", "TIMEOUT": "timeout", "THEME": "theme or mode",
	"MONITOR": "monitoring or dashboard",
	"MERGE":   "merge or branch policy", "BANK": "bank", "SECRET": "secret, credential or password store",
}

// ConceptVocabulary is the text of all words that AskedBy uses.
var ConceptVocabulary = func() string {
	var out []string
	for _, asked := range conceptAsked {
		out = append(out, asked)
	}
	slices.Sort(out)
	return strings.ReplaceAll(strings.Join(out, " "), ",", "")
}()

// AskedBy returns the words that people use to ask for the attribute of a statement, or "" if the lexicon does not have
// the attribute.
func (f Frame) AskedBy() string {
	if f.Event || f.IfClause || len(f.Values) == 0 && len(f.Old) == 0 {
		return ""
	}
	for _, t := range f.Topic {
		for _, c := range english.Concepts[t] {
			if asked := conceptAsked[c]; asked != "" && !slices.Contains(f.Owners, t) {
				return asked
			}
		}
	}
	return ""
}
