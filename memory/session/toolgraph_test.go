package session_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/schema/ledger"
)

// An argument that first occurred in an earlier result makes an edge, in any form.
func TestToolGraphFindsDataFlow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		story *story
		want  []string
	}{
		"text": {new(story).call("list", "users", `{}`).returned("list", `["alice","bernd"]`).
			call("get", "user", `{"name":"alice"}`),
			[]string{"get<-list"}},
		"number": {new(story).call("open", "pr", `{}`).returned("open", `{"number":48213}`).
			call("read", "pr", `{"number":48213}`),
			[]string{"read<-open"}},
		"number as text": {new(story).call("open", "pr", `{}`).returned("open", `{"number":48213}`).
			call("read", "pr", `{"ref":"48213"}`),
			[]string{"read<-open"}},
		"number in another form": {new(story).call("a", "x", `{}`).returned("a", `{"v":3.14150}`).
			call("b", "y", `{"v":31415e-4}`),
			[]string{"b<-a"}},
		"nested value": {new(story).call("at", "where", `{}`).returned("at", `{"place":{"x":103,"y":244}}`).
			call("go", "walk", `{"to":{"y":244,"x":103}}`),
			[]string{"go<-at"}},
		"path in output": {new(story).call("b", "build", `{}`).
			failed("b", "internal/store/put.go:41:2: undefined: rows").call("r", "read",
			`{"path":"internal/store/put.go"}`),
			[]string{"r<-b"}},
		"name in a command": {new(story).call("g", "git", `{}`).returned("g", `"commit 3f2a9c1 by ann\n"`).
			call("s", "sh", `{"command":"git show 3f2a9c1 --stat"}`),
			[]string{"s<-g"}},
		"deep in arguments": {new(story).call("g", "get", `{}`).returned("g", `{"id":"TCK-4821"}`).
			call("s", "set", `{"all":[{"one":{"ticket":"TCK-4821"}}]}`),
			[]string{"s<-g"}},
		"from two results": {new(story).call("a", "x", `{}`).call("b", "x", `{}`).
			returned("b", `"blue-whale-7"`).returned("a", `"red-fox-9"`).
			call("c", "y", `{"both":["red-fox-9","blue-whale-7"]}`), []string{"c<-a", "c<-b"}},
		"repeated by the next": {new(story).call("a", "x", `{}`).returned("a", `"red-fox-9"`).
			call("b", "x", `{"id":"red-fox-9"}`).
			returned("b", `{"id":"red-fox-9","size":"large-one"}`).call("c", "y", `{"id":"red-fox-9"}`),
			[]string{"b<-a", "c<-a"}},
		"repeated by many": {func() *story {
			s := new(story).call("login", "x", `{}`).returned("login", `"session-5f1d"`)
			for i := range 8 {
				id := fmt.Sprint("c", i)
				s.call(id, "y", `{"session":"session-5f1d"}`).returned(id, `{"session":"session-5f1d"}`)
			}
			return s
		}(), []string{"c0<-login", "c1<-login", "c2<-login", "c3<-login",
			"c4<-login", "c5<-login", "c6<-login", "c7<-login"}},
		"several times in a result": {new(story).call("a", "x", `{}`).
			returned("a", `["red-fox-9",["red-fox-9"],"red-fox-9","a red-fox-9","red-fox-9"]`).
			call("b", "y", `{"id":"red-fox-9"}`), []string{"b<-a"}},
		"artifact": {new(story).call("a", "x", `{}`).
			add(ledger.KindToolReturned, ledger.ToolResult{CallID: "a", Artifacts: []string{"shot://91"}}).
			call("b", "y", `{"image":"shot://91"}`), []string{"b<-a"}},
	} {
		require.Equal(t, c.want, edges(session.ToolGraph(c.story.events)), name)
	}
}

// An argument that did not come from a result makes no edge.
func TestToolGraphWithoutDataFlow(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*story{
		"said by the user": new(story).text(ledger.KindUserInjected, "Please look at TCK-4821.").call("l", "list",
			`{}`).
			returned("l", `["TCK-4821"]`).call("g", "get", `{"id":"TCK-4821"}`),
		"chosen by the user": new(story).call("l", "list", `{}`).returned("l", `["alice","bernd"]`).
			text(ledger.KindUserInjected, "Take Alice").call("g", "get", `{"id":"alice"}`),
		"phrase of the user": new(story).text(ledger.KindUserInjected, "add a line, then: fix the build").
			call("l", "list", `{}`).
			returned("l", `["fix the build"]`).call("g", "get", `{"title":"fix the build"}`),
		"environment": new(story).add(ledger.KindEnvironment, `{"os":"linux","working_dir":"/srv/app42"}`).
			call("p", "pwd", `{}`).
			returned("p", `"/srv/app42"`).call("l", "ls", `{"dir":"/srv/app42"}`),
		"argument first": new(story).call("a", "read", `{"path":"cmd/tool/main.go"}`).
			returned("a", `"in cmd/tool/main.go: package main"`).
			call("b", "read", `{"path":"cmd/tool/main.go"}`),
		"argument of another first": new(story).call("a", "read", `{"path":"cmd/tool/main.go"}`).
			returned("a", `1`).call("b", "ls", `{}`).
			returned("b", `["cmd/tool/main.go"]`).call("c", "read", `{"path":"cmd/tool/main.go"}`),
		"list of the user": new(story).text(ledger.KindUserInjected, "ask alice and bernd").call("l", "list", `{}`).
			returned("l", `["alice","bernd"]`).call("g", "get", `{"names":["alice","bernd"]}`),
		"observed first": new(story).text(ledger.KindWorldObserved, "door-17 is shut").call("a", "look", `{}`).
			returned("a", `["door-17"]`).call("b", "open", `{"what":"door-17"}`),
		"thought first": new(story).text(ledger.KindAgentThought, "door-17 is shut").call("a", "look", `{}`).
			returned("a", `["door-17"]`).call("b", "open", `{"what":"door-17"}`),
		"in many results": func() *story {
			s := new(story)
			for i := range 5 {
				s.call(fmt.Sprint(i), "ls", `{}`).returned(fmt.Sprint(i), `["node_modules"]`)
			}
			return s.call("x", "rm", `{"what":"node_modules"}`)
		}(),
		"small numbers": new(story).call("a", "x", `{}`).returned("a", `{"n":8080,"m":200,"k":100000}`).
			call("b", "y", `{"a":8080,"b":[200,100000]}`),
		"short texts": new(story).call("a", "x", `{}`).returned("a", `["eu","de"]`).
			call("b", "y", `{"n":"eu","m":"de"}`),
		"truth": new(story).call("a", "x", `{}`).returned("a", `{"ok":true,"no":null}`).
			call("b", "y", `{"ok":true,"no":null}`),
		"words of results": new(story).call("a", "x", `{}`).returned("a", `{"status":"completed"}`).
			call("b", "y", `{"status":"completed"}`),
		"words of a text": new(story).call("a", "x", `{}`).
			returned("a", `"everything compiled without problems"`).call("b", "y",
			`{"m":"the problems compiled elsewhere"}`),
		"dates": new(story).call("a", "x", `{}`).returned("a", `"2026-01-02T10:00:00Z started"`).
			call("b", "y", `{"m":"since 2026-01-02T10:30:00Z"}`),
		"parallel": new(story).call("a", "x", `{}`).call("b", "y", `{"id":"TCK-4821"}`).
			returned("a", `"TCK-4821"`).returned("b", `"TCK-4821"`),
		"result of no call": new(story).returned("lost", `"TCK-4821"`).
			call("b", "y", `{"id":"TCK-4821"}`),
		"erased result": func() *story {
			s := new(story).call("a", "x", `{}`).returned("a", `"TCK-4821"`).call("b", "y", `{"id":"TCK-4821"}`)
			s.events[1].Payload, s.events[1].Erased = nil, true
			return s
		}(),
	} {
		require.Empty(t, edges(session.ToolGraph(s.events)), name)
	}
}

// A dependency that the agent names is kept if it names an earlier call.
func TestToolGraphKeepsNamedDependencies(t *testing.T) {
	t.Parallel()
	s := new(story).call("a", "x", `{}`)
	s.add(
		ledger.KindToolCalled,
		ledger.ToolCall{CallID: "b", Tool: "y", DependsOn: []string{"a", "a", "b", "c", "nothing"}},
	)
	s.call("c", "z", `{}`)
	require.Equal(t, []string{"b<-a"}, edges(session.ToolGraph(s.events)))
}

// If there are more calls than a graph can hold, the calls with edges are kept.
func TestToolGraphPrefersConnectedCalls(t *testing.T) {
	t.Parallel()
	g := session.NewGraph(20_000)
	var s story
	for i := range 3_000 {
		id := fmt.Sprint("c", i)
		if i == 1_500 {
			s.call("from", "x", `{}`).returned("from", `"red-fox-9"`).call("to", "y",
				`{"id":"red-fox-9"}`).returned("to", `1`)
		}
		s.call(id, "z", `{}`).returned(id, `1`)
	}
	for _, e := range s.events {
		g.Add(e)
	}
	nodes, leftOut := g.Nodes()
	require.Equal(t, 3_002, len(nodes)+leftOut)
	require.Equal(t, []string{"to<-from"}, edges(nodes))
}

// script is a random session whose calls use values of earlier results, with the expected edges.
type script struct {
	story
	want []string
}

func drawScript(t *rapid.T) *script {
	s := &script{}
	var said []string // values from the user
	type made struct{ call, value string }
	var brought []made
	var open []string // calls without a result yet
	fresh := 0
	newValue := func() any {
		fresh++
		if rapid.Bool().Draw(t, "number") {
			return json.Number(fmt.Sprint(7_000_001 + 2*fresh))
		}
		return fmt.Sprintf(
			"%s-%d-item",
			rapid.SampledFrom([]string{"Order", "file", "case", "ärger"}).Draw(t, "word"),
			fresh,
		)
	}
	wrap := func(v any) any {
		switch rapid.IntRange(0, 3).Draw(t, "wrap") {
		case 0:
			return []any{"x", v}
		case 1:
			return map[string]any{"deep": map[string]any{"er": v}, "ok": true}
		case 2:
			return fmt.Sprintf("see %v, please", v)
		}
		return v
	}
	for step := range rapid.IntRange(1, 40).Draw(t, "steps") {
		switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
		case what == 0:
			v := fmt.Sprint(newValue())
			said = append(said, v)
			s.text(ledger.KindUserInjected, "I want "+v+" now")
		case what <= 4 && len(open) > 0: // a result of any open call
			i := rapid.IntRange(0, len(open)-1).Draw(t, "result")
			id := open[i]
			open = slices.Delete(open, i, i+1)
			v := newValue()
			brought = append(brought, made{id, fmt.Sprint(v)})
			result := map[string]any{"brings": wrap(v)}
			for _, value := range said { // a result may repeat what the user said
				result["echo"] = value
			}
			encoded, err := json.Marshal(result)
			require.NoError(t, err)
			if rapid.Bool().Draw(t, "fails") {
				s.add(ledger.KindToolFailed, ledger.ToolResult{CallID: id, Result: encoded, Error: "went wrong"})
			} else {
				s.returned(id, string(encoded))
			}
		default:
			id := fmt.Sprintf("c%d", step)
			args := map[string]any{"own": newValue()}
			if len(said) > 0 && rapid.Bool().Draw(t, "of user") {
				args["user"] = wrap(rapid.SampledFrom(said).Draw(t, "said"))
			}
			var from []string
			for i := range rapid.IntRange(0, min(3, len(brought))).Draw(t, "takes") {
				m := rapid.SampledFrom(brought).Draw(t, "taken")
				args[fmt.Sprint("arg", i)] = wrap(m.value)
				from = append(from, m.call)
			}
			order := map[string]int{}
			for i, e := range s.events {
				if call, ok := ledger.Payload[ledger.ToolCall](e); ok && e.Kind == ledger.KindToolCalled {
					order[call.CallID] = i
				}
			}
			slices.SortFunc(from, func(a, b string) int { return order[a] - order[b] })
			for _, before := range slices.Compact(from) {
				s.want = append(s.want, id+"<-"+before)
			}
			encoded, err := json.Marshal(args)
			require.NoError(t, err)
			s.call(id, "tool", string(encoded))
			open = append(open, id)
		}
	}
	return s
}

// The graph has exactly the edges along which data flowed. Values of the user, values that the agent invents, and
// parallel calls make no edges.
func TestToolGraphRecoversRandomGraphs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScript(t)
		require.Equal(t, s.want, edges(session.ToolGraph(s.events)))
	})
}

// For any events, edges point to earlier calls and the graph is valid for a record.
func TestToolGraphPointsBackward(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s story
		word := rapid.SampledFrom([]string{"a-1", "b-22222", "c/d.go", "12345", "x"})
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			id := rapid.SampledFrom([]string{"1", "2", "3", "4", "5"}).Draw(t, "id")
			v, _ := json.Marshal(map[string]any{"v": word.Draw(t, "v"), "w": []string{word.Draw(t, "w")}})
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				s.add(ledger.KindToolCalled, ledger.ToolCall{CallID: id, Tool: "t", Args: v,
					DependsOn: []string{rapid.SampledFrom([]string{"1", "2", "3", "6"}).Draw(t, "on")}})
			case 1:
				s.returned(id, string(v))
			default:
				s.failed(id, string(v))
			}
		}
		at := map[string]int{}
		for i, node := range session.ToolGraph(s.events) {
			for _, before := range node.DependsOn {
				place, known := at[before]
				require.True(t, known && place < i, "%s depends on %s", node.ID, before)
			}
			require.NotContains(t, at, node.ID)
			at[node.ID] = i
		}
	})
}

// The time to find data flow grows linearly with the number of calls.
func TestToolGraphOfManyCalls(t *testing.T) {
	t.Parallel()
	const calls = 10_000
	var s story
	for i := range calls {
		args := fmt.Sprintf(
			`{"id":"item-%d","path":"pkg/file%d.go","limit":50,"text":%q}`,
			i/2,
			i,
			strings.Repeat("some words of a text ", 10),
		)
		s.call(fmt.Sprint("c", i), "tool", args)
		s.returned(
			fmt.Sprint("c", i),
			fmt.Sprintf(`{"next":"item-%d","log":%q}`, i+1,
				strings.Repeat(fmt.Sprintf("line %d of pkg/other.go ", i), 10)),
		)
	}
	began := time.Now()
	nodes := session.ToolGraph(s.events)
	took := time.Since(began)
	require.Len(t, nodes, calls)
	require.Len(t, edges(nodes), calls-2) // the agent invented item-0
	require.Less(t, took, 30*time.Second, "quadratic time would take minutes")
	t.Logf("%d calls in %v", calls, took)
}

func BenchmarkToolGraph(b *testing.B) {
	for _, calls := range []int{1_000, 10_000} {
		var s story
		for i := range calls {
			s.call(fmt.Sprint("c", i), "tool", fmt.Sprintf(`{"id":"item-%d","limit":50}`, i))
			s.returned(
				fmt.Sprint("c", i),
				fmt.Sprintf(`{"next":"item-%d","log":%q}`, i+1, strings.Repeat("some words of a text ", 10)),
			)
		}
		b.Run(fmt.Sprint(calls), func(b *testing.B) {
			for b.Loop() {
				session.ToolGraph(s.events)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*calls), "ns/call")
		})
	}
}
