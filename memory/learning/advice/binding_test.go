package advice_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/advice"
	"github.com/mneme/mneme/memory/learning/trace"
)

// A value of the old occurrence that the present one does not have must not be advised: it has another value there.
func TestATentativeCandidateHasNoOldValues(t *testing.T) {
	for name, tt := range map[string]struct {
		old, now, repair, want string
		oldCall, nowCall       string
	}{
		"a version within a quoted text": {
			old:    "fetcher: error: nothing provides 'loom-east ^4.31'",
			now:    "fetcher: error: nothing provides 'loom-west ^2.18'",
			repair: "builder unpin 4.31", want: "builder unpin 2.18",
		},
		"a version of another line": {
			old:    "fetcher: error: nothing provides the part\nversions that exist: 6.2.9",
			now:    "fetcher: error: nothing provides the part\nversions that exist: 3.0.14",
			repair: "builder pin --to=6.2.9", want: "builder pin --to=3.0.14",
		},
		"a line in an expression": {
			old:    "loader: error: value not closed (at line 8, column 12)",
			now:    "loader: error: value not closed (at line 14, column 3)",
			repair: "sed -i '8s/$/;/' feed.dat", want: "sed -i '14s/$/;/' feed.dat",
		},
		"a line that is not the number of the repair": {
			old:    "loader: error: value not closed (at line 8, column 12)",
			now:    "loader: error: value not closed (at line 14, column 3)",
			repair: "sed -i '2s/8.5/$8/' feed.dat", want: "sed -i '2s/8.5/$8/' feed.dat",
		},
		"a line before a name in an expression": {
			old:    "loader: error: key 'tally' not closed (at line 8, column 12)",
			now:    "loader: error: key 'cost' not closed (at line 14, column 3)",
			repair: "sed -i '8s/tally = /tally: /' feed.dat", want: "sed -i '14s/cost = /cost: /' feed.dat",
		},
		"a line of one digit before a name with other marks": {
			old:    "loader: error: key 'tally' not closed (at line 3)",
			now:    "loader: error: key 'cost' not closed (at line 117)",
			repair: `sed -i '3s|\$tally|my $tally|;3i // tally' feed.dat`,
			want:   `sed -i '117s|\$cost|my $cost|;117i // cost' feed.dat`,
		},
		"a detail in another line": {
			old:    "a.x:4: error: symbol is not known\n  symbol:   class Ledger\n  location: class Main",
			now:    "a.x:9: error: symbol is not known\n  symbol:   class Quorum\n  location: class Other",
			repair: "sed -i '1a use store.api.Ledger;' a.x", want: "sed -i '1a use store.api.Quorum;' a.x",
		},
		"a symbol that another line offers": {
			old:    "error: no type `Lock` is in scope\nhelp: use one of these\n1 + use std::sync::Lock;",
			now:    "error: no type `Tree` is in scope\nhelp: use one of these\n1 + use kit::forest::Tree;",
			repair: "builder use std::sync::Lock", want: "builder use kit::forest::Tree",
		},
		"the last part of a symbol of another line": {
			old:    "a.x:6:4: error: the value is fixed\na.x:2:9: note: in call to 'int Harbour::tide()'",
			now:    "b.x:9:4: error: the value is fixed\nb.x:3:9: note: in call to 'int Pier::moonrise()'",
			repair: "sed -i 's/ tide() {/ tide() fixed {/' a.x", want: "sed -i 's/ moonrise() {/ moonrise() fixed {/' b.x",
		},
		"a number in quotes of another line": {
			old:    "loader: error: cannot read list.dat\nform `37` was found, which is not known",
			now:    "loader: error: cannot read list.dat\nform `5` was found, which is not known",
			repair: "sed -i 's/^form = 37$/form = 4/' list.dat", want: "sed -i 's/^form = 5$/form = 4/' list.dat",
		},
		"the number of another line of the excerpt": {
			old:    "error: the value is gone: `tide`\n --> q/a.x:19:3\n17 |  let tide = 1\n18 |  take(tide)\n",
			now:    "error: the value is gone: `moon`\n --> q/b.x:7:3\n5 |  let moon = 1\n6 |  take(moon)\n",
			repair: "sed -i '18s/(tide)/(copy(tide))/' q/a.x", want: "sed -i '6s/(moon)/(copy(moon))/' q/b.x",
		},
		"parts of one path without its first elements": {
			old:    "q/a.x:3:8: use of closed part site/one/tide/locked/harbour not allowed",
			now:    "q/a.x:3:8: use of closed part site/two/moon/high/locked/pier not allowed",
			repair: "mv tide/locked/harbour tide/harbour", want: "mv moon/high/locked/pier moon/high/pier",
		},
		"an element of a path that is a part of another one now": {
			old:    "q/a.x:3:8: use of closed part site/one/tide/locked/harbour not allowed",
			now:    "q/a.x:3:8: use of closed part site/two/high-tide/locked/pier not allowed",
			repair: "mv tide/locked/harbour tide/harbour", want: "mv high-tide/locked/pier high-tide/pier",
		},
		"a path below another directory": {
			old:    "sh: 1: ../tide/bin/harbour: Permission denied",
			now:    "sh: 1: ../moon/tools/pier: Permission denied",
			repair: "seal bin/harbour", want: "seal tools/pier",
		},
		"the user of an address": {
			old: "loader: could not check it", now: "loader: could not check it",
			oldCall: "loader -I harbour3@example.com -n run.dat", nowCall: "loader -I pier@example.com -n run.dat",
			repair: "seal keys/harbour3.pub", want: "seal keys/pier.pub",
		},
		"a directory that one of several commands names": {
			old: "loader: error: the part is off", now: "loader: error: the part is off",
			oldCall: "cd tide && ./harbour.sh one", nowCall: "cd moon && ./pier.sh",
			repair: "seal tide/base.dat", want: "seal moon/base.dat",
		},
		"the issue of a branch": {
			old:    "loader: begin with the issue of the branch SHOP-12-tide, a colon",
			now:    "loader: begin with the issue of the branch fix/DOCK-345-moon, a colon",
			repair: "sed -i '1s/^/SHOP-12: /' text", want: "sed -i '1s/^/DOCK-345: /' text",
		},
		"a step": {
			old:    "step tide was stopped after 0.2 s, the limit",
			now:    "step moon was stopped after 0.1 s, the limit",
			repair: "sed -i 's/^tide_limit=.*/tide_limit=60/' limits", want: "sed -i 's/^moon_limit=.*/moon_limit=60/' limits",
		},
		"what the program was doing": {
			old:    "packing tide\nloader: error: the part is off",
			now:    "packing tide\npacking moon\nloader: error: the part is off",
			repair: "sed -i '/^tide$/d' list && echo tide >> list", want: "sed -i '/^moon$/d' list && echo moon >> list",
		},
		"a value attached to an option of one letter": {
			old: "loader: error: Tide.pm is not whole", now: "loader: error: Moon.pm is not whole",
			oldCall: "loader -Ieast4 -w run.dat", nowCall: "loader -Iwest -w run.dat",
			repair: "seal east4/Tide.pm", want: "seal west/Moon.pm",
		},
		"a file of a prescribed name in another directory": {
			old: "loader: error: no part 'tide'", now: "loader: error: no part 'moon'",
			oldCall: "loader check", nowCall: "loader check --manifest-path east/Cargo.toml",
			repair: "sed -i '$a tide' Cargo.toml", want: "sed -i '$a moon' east/Cargo.toml",
		},
		"a file of a prescribed name in the working directory": {
			old: "loader: error: no part 'tide'", now: "loader: error: no part 'moon'",
			oldCall: "loader check --manifest-path east/Cargo.toml", nowCall: "loader check",
			repair: "sed -i '$a tide' east/Cargo.toml", want: "sed -i '$a moon' Cargo.toml",
		},
		"a file of another name instead of a prescribed one": {
			old: "loader: error: the part is off", now: "loader: error: the part is off",
			oldCall: ". ./.env; loader all", nowCall: ". ./east.env; loader all",
			repair: "sed -i 's/^ON=.*/ON=1/' .env", want: "sed -i 's/^ON=.*/ON=1/' east.env",
		},
		"a file with arguments": {
			old: "loader: error: the part is off", now: "loader: error: the part is off",
			oldCall: "loader @conf/tide.opts all", nowCall: "loader @east.opts all",
			repair: "sed -i 1d conf/tide.opts", want: "sed -i 1d east.opts",
		},
		"the directory above the directory": {
			old: "sh: 1: venv/bin/run: not found", now: "sh: 1: east/.venv/bin/run: not found",
			oldCall: "venv/bin/run all", nowCall: "east/.venv/bin/run all",
			repair: "rm -rf venv && build venv", want: "rm -rf east/.venv && build east/.venv",
		},
		"the value of an option of a call with another number of words": {
			old: "loader: error: the part is off", now: "loader: error: the part is off",
			oldCall: "loader -v -cp east all again", nowCall: "loader -cp west/part all",
			repair: "build -d east", want: "build -d west/part",
		},
		"a file of the same kind in another place": {
			old:     "/w/east/tide.js:6\nloader: error: wait is not allowed",
			now:     "set it in package.json\n/w/moon.js:6\nloader: error: wait is not allowed",
			oldCall: "loader east/tide.js", nowCall: "loader moon.js",
			repair: "sed -i 1d /w/east/tide.js", want: "sed -i 1d moon.js",
		},
		"a path without the directory that the call names": {
			old: "loader: error: the feed has no key", now: "loader: error: the feed has no key",
			oldCall: "loader ./main.dat", nowCall: "loader ./east/feed.dat",
			repair: "keyadd main.dat", want: "keyadd east/feed.dat",
		},
		"an element of a path that is in the repair by chance": {
			old: "builder: ./bin/weave.pl cannot start", now: "builder: ./knit.pl cannot start",
			oldCall: "./bin/weave.pl", nowCall: "./knit.pl",
			repair: "relink /usr/bin/env ./bin/weave.pl", want: "relink /usr/bin/env ./knit.pl",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.oldCall == "" {
				tt.oldCall, tt.nowCall = "builder all", "builder all"
			}
			s := newStory("ana", 1).in("linux", "/w", nil).does(tt.oldCall, tt.old).does(tt.repair, "")
			attempts := s.does(tt.oldCall, "").ends("success").attempts()
			args, err := json.Marshal(map[string]string{"cmd": tt.nowCall})
			require.NoError(t, err)
			now := advice.Situation{Error: tt.now, Context: map[string]string{"os": "linux"},
				Failed: trace.CallOf("shell", args)}
			answer := advice.Advise(now, advice.Tentative(now, attempts))
			require.NotNil(t, answer.Best)
			require.Len(t, answer.Best.Steps, 1)
			got := map[string]string{}
			require.NoError(t, json.Unmarshal(answer.Best.Steps[0].Args, &got))
			require.Equal(t, tt.want, got["cmd"])
		})
	}
}

// A value that the situation has in its context is not the old one.
func TestATentativeCandidateTakesValuesFromTheContext(t *testing.T) {
	s := newStory("ana", 1).in("linux", "/w", map[string]string{"zone": "east"}).
		does("loader all", "loader: error: there are no settings").does("cp conf/east.env settings.env", "")
	attempts := s.does("loader all", "").ends("success").attempts()
	now := advice.Situation{Error: "loader: error: there are no settings",
		Context: map[string]string{"os": "linux", "zone": "west"}}
	answer := advice.Advise(now, advice.Tentative(now, attempts))
	require.NotNil(t, answer.Best)
	require.JSONEq(t, `{"cmd":"cp conf/west.env settings.env"}`, string(answer.Best.Steps[0].Args))
}

// A later step uses the whole result of a step, although a part of it is a value of the error.
func TestATentativeCandidateUsesWholeResults(t *testing.T) {
	s := newStory("ana", 1).in("linux", "/w", nil).does("builder all", "builder: error: LOOM_ZONE: variable is not set")
	s.returns("grep LOOM_ZONE= sample.env", "LOOM_ZONE=east").does("builder set LOOM_ZONE=east", "")
	attempts := s.does("builder all", "").ends("success").attempts()
	now := advice.Situation{Error: "builder: error: KNIT_MODE: variable is not set",
		Context: map[string]string{"os": "linux"}}
	answer := advice.Advise(now, advice.Tentative(now, attempts))
	require.NotNil(t, answer.Best)
	require.Len(t, answer.Best.Steps, 2)
	require.JSONEq(t, `{"cmd":"grep KNIT_MODE= sample.env"}`, string(answer.Best.Steps[0].Args))
	require.JSONEq(t, `{"cmd":"builder set {step}"}`, string(answer.Best.Steps[1].Args))
	require.Equal(t, []string{"step"}, answer.Best.Steps[1].Missing)
}

// A repair that helped after a call of the present form precedes one that did after another, or that lacks a value.
func TestATentativeCandidateOfTheSameFormOfCallIsPreferred(t *testing.T) {
	const problem = "loader: error: the feed is not sorted"
	after := func(n int, call, repair string) []trace.Attempt {
		s := newStory("ana", n).in("linux", "/w", nil).does(call, problem).does(repair, "")
		return s.does(call, "").ends("success").attempts()
	}
	attempts := after(1, "loader all", "sort main.dat")
	attempts = append(attempts, after(2, "loader all --from east/feed.dat", "sort east/feed.dat")...)
	for call, want := range map[string]string{
		"loader all":                       "sort main.dat",
		"loader most":                      "sort main.dat",
		"loader all --from west/other.dat": "sort west/other.dat",
	} {
		args, err := json.Marshal(map[string]string{"cmd": call})
		require.NoError(t, err)
		now := advice.Situation{Error: problem, Context: map[string]string{"os": "linux"},
			Failed: trace.CallOf("shell", args)}
		answer := advice.Advise(now, advice.Tentative(now, attempts))
		options := answer.Others
		if answer.Best != nil {
			options = append([]advice.Option{*answer.Best}, options...)
		}
		require.NotEmpty(t, options)
		got := map[string]string{}
		require.NoError(t, json.Unmarshal(options[0].Steps[0].Args, &got))
		require.Equal(t, want, got["cmd"], call)
	}
}

// A step that only led to another error is less likely to be the repair than one after which the call passed.
func TestATentativeCandidateAfterWhichTheCallPassedIsPreferred(t *testing.T) {
	const problem, other = "loader: error: the feed is not sorted", "loader: permission denied"
	s := newStory("ana", 1).in("linux", "/w", nil).does("loader all", problem).does("sort main.dat", "")
	attempts := s.does("loader all", "").ends("success").attempts()
	s = newStory("ana", 2).in("linux", "/w", nil).does("loader all", problem).does("lock main.dat", "")
	s.does("loader all", other).does("unlock main.dat", "").does("loader all", "")
	attempts = append(attempts, s.ends("success").attempts()...)
	now := advice.Situation{Error: problem, Context: map[string]string{"os": "linux"}}
	candidates := advice.Tentative(now, attempts)
	require.Len(t, candidates, 2)
	answer := advice.Advise(now, candidates)
	require.NotEmpty(t, answer.Others)
	first := append([]advice.Option{}, answer.Others...)
	if answer.Best != nil {
		first = append([]advice.Option{*answer.Best}, first...)
	}
	require.JSONEq(t, `{"cmd":"sort main.dat"}`, string(first[0].Steps[0].Args))
}

// If a repair has helped and failed, what the situation shows decides: the options of the call, the marks in a name, or
// what another line says.
func TestATentativeCandidateOfASimilarSituationIsPreferred(t *testing.T) {
	for name, tt := range map[string]struct{ first, second [2]string }{ // call and error
		"an option": {[2]string{"loader -f -p0 %s.dat", "loader: error: the feed is not found"},
			[2]string{"loader -p1 -f %s.dat", "loader: error: the feed is not found"}},
		"a mark": {[2]string{"loader %s.dat", "loader: error: the first row is 'id;%[1]s;x'"},
			[2]string{"loader %s.dat", "loader: error: the first row is 'id|%[1]s|x'"}},
		"a number of one digit": {[2]string{"loader %s.dat", "loader: error: the feed ended early at depth 0"},
			[2]string{"loader %s.dat", "loader: error: the feed ended early at depth 1"}},
		"the extension of a file": {[2]string{"loader all", "loader: error: %s.cpp ended early"},
			[2]string{"loader all", "loader: error: %s.sh ended early"}},
		"another line": {[2]string{"loader %s.dat", "loader: error: wait is not allowed"},
			[2]string{"loader %s.dat", "set 'kind' to 'parallel'\nloader: error: wait is not allowed"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			in := func(situation [2]string, repairs ...string) []trace.Attempt {
				n++
				word := []string{"tide", "moon", "pier", "east", "west"}[n%5]
				call, problem := fill(situation[0], word), fill(situation[1], word)
				s := newStory("ana", n).in("linux", "/w", nil).does(call, problem)
				for i, repair := range repairs {
					s.does(repair, "")
					if i < len(repairs)-1 {
						s.does(call, problem)
					}
				}
				return s.does(call, "").ends("success").attempts()
			}
			attempts := in(tt.first, "sort all")
			attempts = append(attempts, in(tt.second, "sort all", "split all")...)
			attempts = append(attempts, in(tt.second, "split all")...)
			for want, situation := range map[string][2]string{"sort all": tt.first, "split all": tt.second} {
				args, err := json.Marshal(map[string]string{"cmd": fill(situation[0], "north")})
				require.NoError(t, err)
				now := advice.Situation{Error: fill(situation[1], "north"), Context: map[string]string{"os": "linux"},
					Failed: trace.CallOf("shell", args)}
				candidates := advice.Tentative(now, attempts)
				for i := range candidates { // a report may count an outcome again
					if candidates[i].Competence.Recipe[0].Step == "shell: sort all" {
						candidates[i].Stats.Observe("linux", false, candidates[i].Stats.All.LastAt)
					}
				}
				answer := advice.Advise(now, candidates)
				options := answer.Others
				if answer.Best != nil {
					options = append([]advice.Option{*answer.Best}, options...)
				}
				require.NotEmpty(t, options)
				require.JSONEq(t, `{"cmd":"`+want+`"}`, string(options[0].Steps[0].Args))
			}
		})
	}
}

func fill(text, word string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "%[1]s", word), "%s", word)
}
