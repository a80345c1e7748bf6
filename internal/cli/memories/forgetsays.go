package memories

import (
	"context"
	"fmt"
	"strings"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
)

// memories returns the number of memories in words.
func memories(n int) string {
	if n == 1 {
		return "1 memory"
	}
	return fmt.Sprintf("%d memories", n)
}

// others describes other memories, with the verb in the right number.
func others(n int, does, do string) string {
	if n == 1 {
		return "1 other memory " + does
	}
	return fmt.Sprintf("%d other memories %s", n, do)
}

// sameAndDerived describes the memories of a preview with the same content, and the derived memories that are kept.
func sameAndDerived(p schema.ForgetPreview) string {
	s, derived := "", p.Derived
	switch {
	case p.SaysSame > 0 && p.Everywhere:
		s += fmt.Sprintf("; %d of them because they say the same", p.SaysSame)
	case p.SaysSame > 0:
		s += "; " + others(p.SaysSame, "says", "say") + " the same and " + stays(p.SaysSame) + " (--everywhere)"
		for _, e := range p.Echoes {
			if e.Tie == "derived" {
				derived--
			}
		}
	}
	if p.SaysSameNotOwner > 0 {
		s += fmt.Sprintf("; %s the same and belong to other agents", others(p.SaysSameNotOwner, "says", "say"))
	}
	if derived > 0 {
		s += fmt.Sprintf("; %d derived from them %s (--include-derived)", derived, stays(derived))
	}
	return s
}

func stays(n int) string {
	if n == 1 {
		return "stays"
	}
	return "stay"
}

// sampleEchoes reads the memories with the same content that the principal may see.
func sampleEchoes(ctx context.Context, a *app.App, echoes []schema.ForgetEcho) ([]Sampled, error) {
	ids, by := make([]string, len(echoes)), make(map[string]schema.ForgetEcho, len(echoes))
	for i, e := range echoes {
		ids[i], by[e.ID] = e.ID, e
	}
	out, err := sample(ctx, a, ids)
	for i := range out {
		out[i].Tie, out[i].AlsoSays = by[out[i].ID].Tie, by[out[i].ID].AlsoSays
	}
	return out, err
}

// sameText prints the memories with the same content as the selected ones.
func (f Forgotten) sameText(t *app.Text) {
	if len(f.SaysSame) == 0 {
		return
	}
	rows := make([][]string, 0, len(f.SaysSame))
	several := false
	for _, m := range f.SaysSame {
		rows = append(rows, []string{m.ID, string(m.Type), m.Tie, alsoSays(m.AlsoSays), m.Content})
		several = several || m.AlsoSays > 0
	}
	t.Line("")
	if f.Preview.Everywhere {
		t.Line("%s the same and %s forgotten, too:", others(f.Preview.SaysSame, "says", "say"), is(f.Preview.SaysSame))
	} else {
		t.Line("%s the same; --everywhere selects %s too:", others(f.Preview.SaysSame, "says", "say"),
			them(f.Preview.SaysSame))
	}
	t.Table("ID TYPE HOW ALSO MEMORY", rows)
	if more := f.Preview.SaysSame - len(f.SaysSame); more > 0 {
		t.Line("and %d more", more)
	}
	if several && f.Preview.Everywhere {
		t.Line("A memory that also says other things loses all of its text. Other facts extracted from it stay.")
	}
}

func is(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func was(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

func them(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// alsoSays describes the number of other statements in a text.
func alsoSays(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "says 1 other thing"
	}
	return fmt.Sprintf("says %d other things", n)
}

// stillSaidText warns of remaining memories that repeat a forgotten one.
func stillSaidText(t *app.Text, r schema.ForgetReceipt) {
	if r.StillSaid == 0 {
		return
	}
	shown := make([]string, 0, len(r.Echoes))
	for _, e := range r.Echoes[:min(len(r.Echoes), shownSample)] {
		shown = append(shown, e.ID+" ("+e.Tie+")")
	}
	if more := r.StillSaid - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	t.Line("")
	said, ids := others(r.StillSaid, "says", "say"), strings.Join(shown, ", ")
	if r.Everywhere {
		t.Line("%s the same and %s not forgotten: %s", said, was(r.StillSaid), ids)
	} else {
		t.Line("%s the same: %s; --everywhere selects %s too", said, ids, them(r.StillSaid))
	}
}
