package memories

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/store/read"
)

// NewLineage returns the command that shows the sources of a memory and what was derived from it.
func NewLineage(a *app.App) *cobra.Command {
	var depth int
	var format string
	var sensitivity *string
	cmd := &cobra.Command{
		Use:   "lineage ID",
		Short: "Show where a memory comes from, and what was derived from it",
		Long: `Show where a memory comes from, and what was derived from it: its sources, the memories derived from it, its
revisions in both directions, and the memories that it contradicts or supports. Each has its actor, time and reason.

For deleted memories, and those that the principal may not read, only the id is shown.

--format mermaid and --format dot print the graph for Mermaid and Graphviz. --json prints nodes and
edges; "cut" says why the rest is missing.`,
		Example: `  mneme lineage 0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b --format dot | dot -Tsvg > lineage.svg`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := app.ParseID("id", args[0])
			if err != nil {
				return err
			}
			draw, ok := map[string]func(*app.Text, read.Lineage){"tree": LineageTree, "mermaid": LineageMermaid,
				"dot": LineageDOT}[format]
			switch {
			case !ok:
				return app.Invalid("format", "must be tree, mermaid or dot")
			case a.JSON && cmd.Flags().Changed("format"):
				return app.Invalid("format", "has no effect with --json; leave it out")
			case depth < 1 || depth > read.MaxLineageDepth:
				return app.Invalid("depth", "must be between 1 and %d", read.MaxLineageDepth)
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			seen, err := a.Clearance(*sensitivity)
			if err != nil {
				return err
			}
			l, err := st.Lineage(ctx, a.Cfg.Principal, id, depth, seen)
			if err != nil {
				return err
			}
			for _, by := range l.Cut {
				a.Note("mneme: there is more: %s", map[string]string{
					"depth": "--depth shows more distant ones",
					"nodes": fmt.Sprintf("no more than %d memories are shown", read.MaxLineageNodes),
				}[by])
			}
			return a.Print(l, func(t *app.Text) { draw(t, l) })
		},
	}
	sensitivity = app.SensitivityFlag(cmd.Flags())
	cmd.Flags().IntVar(&depth, "depth", read.DefaultLineageDepth,
		"maximum number of relations between the memory and a shown one")
	cmd.Flags().StringVar(&format, "format", "tree", "tree, mermaid or dot")
	return cmd
}

// maxLabel is the number of characters of a memory's content that a lineage shows.
const maxLabel = 72

// lineageGraph is a lineage, indexed by memory.
type lineageGraph struct {
	read.Lineage
	nodes map[string]read.LineageNode
	shown map[string]bool // memories of the tree whose branches have been drawn
}

func graphOf(l read.Lineage) lineageGraph {
	g := lineageGraph{Lineage: l, nodes: map[string]read.LineageNode{}, shown: map[string]bool{}}
	for _, n := range l.Nodes {
		g.nodes[n.ID] = n
	}
	return g
}

// wayNames name the relation of a branch to its parent; relations defined by a writer are named by their predicate.
var wayNames = map[read.Way]string{read.WaySource: "derived from", read.WayDerived: "gave rise to",
	read.WayOlder: "supersedes", read.WayNewer: "superseded by"}

// LineageTree draws the tree below the root. A memory that occurs twice is drawn in full only once.
func LineageTree(t *app.Text, l read.Lineage) {
	g := graphOf(l)
	root := g.nodes[l.Root]
	t.Line("%s", app.Clip(describe(root), t.Width))
	g.branches(t, root.ID, read.WayRoot, "")
}

func (g lineageGraph) branches(t *app.Text, id string, way read.Way, indent string) {
	key := id + string(way)
	if g.shown[key] {
		return
	}
	g.shown[key] = true
	type branch struct {
		name string
		to   string
		way  read.Way
		edge read.LineageEdge
	}
	var all []branch
	for _, e := range g.Edges {
		to, outward := e.To, true
		switch id {
		case e.From:
		case e.To:
			to, outward = e.From, false
		default:
			continue
		}
		next, ok := way.Follow(e.Predicate, outward)
		if !ok {
			continue
		}
		name := wayNames[next]
		if name == "" {
			name = strings.ReplaceAll(e.Predicate, "_", " ")
			if !outward {
				name = "named by it in " + name
				if e.Predicate == revision.RelationContradicts {
					name = "contradicted by"
				} else if e.Predicate == revision.RelationSupports {
					name = "supported by"
				}
			}
		}
		all = append(all, branch{name, to, next, e})
	}
	for i, b := range all {
		knot, below := "├─ ", "│  "
		if i == len(all)-1 {
			knot, below = "└─ ", "   "
		}
		again := ""
		if g.shown[b.to+string(b.way)] {
			again = " (drawn above)"
		}
		t.Line("%s", app.Clip(indent+knot+b.name+" "+describe(g.nodes[b.to])+again, t.Width))
		if why := explain(b.edge); why != "" {
			t.Line("%s", app.Clip(indent+below+"   "+why, t.Width))
		}
		g.branches(t, b.to, b.way, indent+below)
	}
}

// describe returns a memory in one line.
func describe(n read.LineageNode) string {
	if n.Withheld {
		return n.ID + " (withheld)"
	}
	return n.ID + " " + state(n) + " " + string(n.Category) + ": " + app.Clip(app.OneLine(n.Content), maxLabel)
}

func state(n read.LineageNode) string {
	if n.State == "" || n.State == "live" {
		return string(n.Status)
	}
	return n.State
}

// explain returns the author, time and reason of an edge.
func explain(e read.LineageEdge) string {
	var parts []string
	if e.At != nil {
		parts = append(parts, app.When(*e.At))
	}
	if e.Actor != "" {
		parts = append(parts, "by "+app.OneLine(e.Actor))
	}
	out := strings.Join(parts, " ")
	if e.Reason != "" {
		out += ": " + app.OneLine(e.Reason)
	}
	return out
}

// LineageMermaid draws the graph as a Mermaid flowchart.
func LineageMermaid(t *app.Text, l read.Lineage) {
	names := drawnNames(l)
	t.Line("flowchart TD")
	for _, n := range l.Nodes {
		t.Line(`  %s["%s"]`, names[n.ID], mermaidText(describe(n)))
	}
	for _, e := range l.Edges {
		t.Line(`  %s -- "%s" --> %s`, names[e.From], mermaidText(e.Predicate), names[e.To])
	}
}

// mermaidText writes all characters except letters, digits, spaces and a few marks as entity codes, because most of
// them have a meaning in Mermaid.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range app.OneLine(s) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" .,:-_", r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

// LineageDOT draws the graph for Graphviz.
func LineageDOT(t *app.Text, l read.Lineage) {
	names := drawnNames(l)
	t.Line("digraph lineage {")
	t.Line("  node [shape=box];")
	for _, n := range l.Nodes {
		t.Line("  %s [label=%s];", names[n.ID], dotText(describe(n)))
	}
	for _, e := range l.Edges {
		t.Line("  %s -> %s [label=%s];", names[e.From], names[e.To], dotText(e.Predicate))
	}
	t.Line("}")
}

// dotText is a quoted string of DOT, in which a backslash begins an escape.
func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(app.OneLine(s)) + `"`
}

// drawnNames gives the nodes names that do not depend on content.
func drawnNames(l read.Lineage) map[string]string {
	out := make(map[string]string, len(l.Nodes))
	for i, n := range l.Nodes {
		out[n.ID] = fmt.Sprintf("n%d", i)
	}
	return out
}
