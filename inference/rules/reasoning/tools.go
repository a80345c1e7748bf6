package reasoning

import (
	"fmt"
	"slices"

	"github.com/mneme/mneme/schema/ledger"
)

// attempts are the calls of one tool.
type attempts struct {
	failed []int  // places of tool.failed since it last worked
	error  string // the message of the last of them
	times  int    // total number of failures
	worked int    // place of tool.returned after a failure; -1: it has not worked since
	before []int  // places of the failures before that
}

// failures reports which tools failed and whether they worked later. A result is matched to its call by the tool; a
// result whose call is before the span is ignored.
func failures(span []ledger.Event) []finding {
	toolOf := map[string]string{}
	byTool := map[string]*attempts{}
	var order []string
	for i, e := range span {
		switch e.Kind {
		case ledger.KindToolCalled:
			call, _ := ledger.Payload[ledger.ToolCall](e)
			toolOf[e.Stream+"\x00"+call.CallID] = call.Tool
		case ledger.KindToolFailed, ledger.KindToolReturned:
			result, _ := ledger.Payload[ledger.ToolResult](e)
			tool := toolOf[e.Stream+"\x00"+result.CallID]
			if tool == "" {
				continue
			}
			a := byTool[tool]
			if a == nil {
				a = &attempts{worked: -1}
				byTool[tool] = a
				order = append(order, tool)
			}
			a.note(i, e.Kind == ledger.KindToolFailed, quote(e))
		}
	}
	var out []finding
	for _, tool := range order {
		if f, ok := byTool[tool].finding(tool); ok {
			out = append(out, f)
		}
	}
	return out
}

func (a *attempts) note(place int, failed bool, says string) {
	switch {
	case failed:
		a.failed = append(a.failed, place)
		a.error, a.worked = says, -1
		a.times++
	case len(a.failed) > 0:
		a.before, a.failed, a.worked = a.failed, nil, place
	}
}

// shown is how many failures of one tool a finding cites.
const shown = 3

func (a *attempts) finding(tool string) (finding, bool) {
	often := ""
	if a.times > 1 {
		often = fmt.Sprintf(" %d times", a.times)
	}
	switch {
	case a.times == 0:
		return finding{}, false
	case a.worked >= 0:
		places := append(slices.Clone(a.before[max(0, len(a.before)-shown):]), a.worked)
		return finding{tool + " failed" + often + " and then worked; last error: " + a.error, 0.85, places}, true
	default:
		return finding{tool + " failed" + often + " and has not worked since: " + a.error, 0.88,
			a.failed[max(0, len(a.failed)-shown):]}, true
	}
}
