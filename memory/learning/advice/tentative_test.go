package advice_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/advice"
	"github.com/mneme/mneme/memory/learning/competence"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/promote"
	"github.com/mneme/mneme/memory/learning/trace"
)

func linuxAt(n int) advice.Situation {
	return advice.Situation{Error: mismatch(n), Context: map[string]string{"os": "linux"}}
}

func TestOneWitnessedSuccessIsAdvisedTentatively(t *testing.T) {
	attempts := build("ana", 1, "linux", "make clean", clearCache(1)).attempts()
	answer := advice.Advise(linuxAt(99), advice.Tentative(linuxAt(99), attempts))
	require.NotNil(t, answer.Best)
	require.True(t, answer.Best.Tentative)
	require.Equal(t, []string{"run/ana-1"}, answer.Best.Evidence)
	require.Len(t, answer.Best.Steps, 1, "failed repairs and the old check are left out")
	require.JSONEq(t, `{"cmd":"rm -rf /home/dev99/.cache/build"}`, string(answer.Best.Steps[0].Args))
	require.Equal(t, competence.CallPasses, answer.Best.Steps[0].Validation)
	require.GreaterOrEqual(t, answer.Best.Confidence, advice.Threshold)

	elsewhere := linuxAt(99)
	elsewhere.Context["os"] = "macos"
	there := advice.Advise(elsewhere, advice.Tentative(elsewhere, attempts))
	require.Nil(t, there.Best, "only seen on linux")
	require.Len(t, there.Others, 1, "offered as an alternative")
	other := advice.Situation{Error: "ld: cannot find -lssl"}
	require.Empty(t, advice.Tentative(other, attempts))
}

func TestUntrustedSuccessesAreNotAdvised(t *testing.T) {
	for name, spoil := range map[string]func(*trace.Source){
		"told, not witnessed": func(s *trace.Source) { s.Witnessed = false },
		"low trust":           func(s *trace.Source) { s.Trust = 0.4 },
	} {
		t.Run(name, func(t *testing.T) {
			attempts := build("ana", 1, "linux", clearCache(1)).attempts()
			for i := range attempts {
				spoil(&attempts[i].Source)
			}
			require.Empty(t, advice.Tentative(linuxAt(2), attempts))
		})
	}
}

func TestFailuresCountAgainstATentativeCandidate(t *testing.T) {
	attempts := build("ana", 1, "linux", clearCache(1)).attempts()
	for n := 2; n < 6; n++ { // the same repair fails, and another one helps
		attempts = append(attempts, build("ana", n, "linux", clearCache(n), "brew reinstall llvm").attempts()...)
	}
	answer := advice.Advise(linuxAt(99), advice.Tentative(linuxAt(99), attempts))
	require.NotNil(t, answer.Best)
	require.JSONEq(t, `{"cmd":"brew reinstall llvm"}`, string(answer.Best.Steps[0].Args))
}

func TestTentativeCandidateRanksBelowPromotedOne(t *testing.T) {
	signal := "ld: cache mismatch in /home/dev1/.cache/build (expected 1, got 8)"
	promoted := fix("promoted", signal, "", "drop-caches", worked(true, false, true, false))
	tentative := advice.Tentative(linuxAt(9), build("ana", 1, "linux", clearCache(1)).attempts())
	answer := advice.Advise(linuxAt(9), append(tentative, promoted))
	require.NotNil(t, answer.Best)
	require.Equal(t, "promoted", answer.Best.ID)
	require.True(t, answer.Others[0].Tentative)

	promoted.Stats = worked(true, false, false, false, false, false)
	answer = advice.Advise(linuxAt(9), append(tentative, promoted))
	require.True(t, answer.Best.Tentative, "a promoted candidate that fails now does not suppress it")
}

func TestTentativeCandidateUsesDirectoryOfNewPath(t *testing.T) {
	text := func(n int) string {
		return fmt.Sprintf("builder: journal /srv/v%d/d%d/f%d.dat was not replayed", n, n, n)
	}
	s := newStory("ana", 1).in("linux", "/w", nil).does("make app", text(1))
	attempts := s.does("spool flush /srv/v1/d1", "").does("make app", "").ends("success").attempts()
	now := advice.Situation{Error: text(2), Context: map[string]string{"os": "linux"}}
	answer := advice.Advise(now, advice.Tentative(now, attempts))
	require.NotNil(t, answer.Best)
	require.JSONEq(t, `{"cmd":"spool flush /srv/v2/d2"}`, string(answer.Best.Steps[0].Args))
}

// A tool may report the absolute path of a file that the command names relative to the working directory.
func TestTentativeCandidateUsesPathRelativeToWorkingDirectory(t *testing.T) {
	text := func(n int) string {
		return fmt.Sprintf("builder: cannot create '/work/d%d/.store/index.lock': File exists.", n)
	}
	s := newStory("ana", 1).in("linux", "/work/d1", nil).does("builder add", text(1))
	attempts := s.does("rm -f .store/index.lock", "").does("builder add", "").ends("success").attempts()
	now := advice.Situation{Error: text(2), WorkingDir: "/work/d2", Context: map[string]string{"os": "linux"}}
	answer := advice.Advise(now, advice.Tentative(now, attempts))
	require.NotNil(t, answer.Best)
	require.JSONEq(t, `{"cmd":"rm -f .store/index.lock"}`, string(answer.Best.Steps[0].Args))
}

// Values that vary between occurrences may come from other places than the line of the problem.
func TestTentativeCandidateBindsValues(t *testing.T) {
	for name, tt := range map[string]struct {
		task, cmd, problem, repair func(n int) string
	}{
		"a name after an option of one letter": {
			cmd:     func(int) string { return "builder all" },
			problem: func(n int) string { return fmt.Sprintf("builder: setting 'WITH_ZONE%d' is not set", n) },
			repair:  func(n int) string { return fmt.Sprintf("builder configure -DWITH_ZONE%d=on", n) },
		},
		"a file that only the task names": {
			task:    func(n int) string { return fmt.Sprintf("Make this pass: loader srv%d/feed%d.dat", n, n) },
			cmd:     func(n int) string { return fmt.Sprintf("loader srv%d/feed%d.dat", n, n) },
			problem: func(int) string { return "loader: header checksum does not match" },
			repair:  func(n int) string { return fmt.Sprintf("loader sign srv%d/feed%d.dat", n, n) },
		},
		"a name that is a word of the problem too": {
			task:    func(n int) string { return fmt.Sprintf("Make this pass: loader srv%d/feed%d.dat", n, n) },
			cmd:     func(n int) string { return fmt.Sprintf("loader srv%d/feed%d.dat", n, n) },
			problem: func(int) string { return "loader: 'header' is deprecated, did you mean header or frame" },
			repair:  func(n int) string { return fmt.Sprintf("loader upgrade srv%d/feed%d.dat", n, n) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory("ana", 1).in("linux", "/w", nil)
			now := advice.Situation{Error: tt.problem(27), Context: map[string]string{"os": "linux"}}
			if tt.task != nil {
				s.says(tt.task(1))
				now.Task = tt.task(27)
			}
			s.does(tt.cmd(1), tt.problem(1)).does(tt.repair(1), "").does(tt.cmd(1), "")
			answer := advice.Advise(now, advice.Tentative(now, s.ends("success").attempts()))
			require.NotNil(t, answer.Best)
			require.JSONEq(t, fmt.Sprintf(`{"cmd":%q}`, tt.repair(27)), string(answer.Best.Steps[0].Args))
		})
	}
}

// Of the call that failed, the words that differ from those of the present call are values.
func TestATentativeCandidateTakesValuesFromTheCallThatFailed(t *testing.T) {
	const problem = "builder: the input is not ready"
	for name, tt := range map[string]struct {
		old, repair, now, want string
	}{
		"another word":         {"loader merge east", "loader sort all east", "loader merge west", "loader sort all west"},
		"the same word":        {"loader merge east", "loader sort all east", "loader merge east", "loader sort all east"},
		"an element of a path": {"loader in/east/a.dat", "loader sign in/east", "loader in/west/b.dat", "loader sign in/west"},
		"another option":       {"loader -v merge east", "loader sign east", "loader -q merge west", "loader sign west"},
		"another form":         {"loader merge east", "loader sort all east", "loader west", "loader sort all east"},
		"no call":              {"loader merge east", "loader sort all east", "", "loader sort all east"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory("ana", 1).in("linux", "/w", nil).does(tt.old, problem).does(tt.repair, "").does(tt.old, "")
			now := advice.Situation{Error: problem, Context: map[string]string{"os": "linux"}}
			if tt.now != "" {
				args, err := json.Marshal(map[string]string{"cmd": tt.now})
				require.NoError(t, err)
				now.Failed = trace.CallOf("shell", args)
			}
			answer := advice.Advise(now, advice.Tentative(now, s.ends("success").attempts()))
			require.NotNil(t, answer.Best)
			require.JSONEq(t, fmt.Sprintf(`{"cmd":%q}`, tt.want), string(answer.Best.Steps[0].Args))
		})
	}
}

// A directory of the system is in the old error and in the present one. Its name is a word of the repair, and no value.
func TestATentativeCandidateKeepsWhatBothErrorsHave(t *testing.T) {
	problem := func(n int) string { return fmt.Sprintf("builder: no part%d in /usr/lib/parts", n) }
	s := newStory("ana", 1).in("linux", "/w", nil).does("builder all", problem(1))
	attempts := s.does("builder use lib part1", "").does("builder all", "").ends("success").attempts()
	now := advice.Situation{Error: problem(2), Context: map[string]string{"os": "linux"}}
	answer := advice.Advise(now, advice.Tentative(now, attempts))
	require.NotNil(t, answer.Best)
	require.JSONEq(t, `{"cmd":"builder use lib part2"}`, string(answer.Best.Steps[0].Args))
}

// What another line of both errors offers, in any quotes, is a constant of the repair.
func TestATentativeCandidateKeepsWhatAnotherLineOffers(t *testing.T) {
	problem := func(n int) string {
		return fmt.Sprintf("a%d.c:1:1: error: loops are not allowed\nnote: use option ‘-std=c99’ or ‘-std=c11’", n)
	}
	s := newStory("ana", 1).in("linux", "/w", nil).does("builder all", problem(1))
	attempts := s.does("builder option -std=c11", "").does("builder all", "").ends("success").attempts()
	now := advice.Situation{Error: problem(2), Context: map[string]string{"os": "linux"}}
	answer := advice.Advise(now, advice.Tentative(now, attempts))
	require.NotNil(t, answer.Best)
	require.JSONEq(t, `{"cmd":"builder option -std=c11"}`, string(answer.Best.Steps[0].Args))
	require.Empty(t, answer.Best.Missing)
}

// A value of another line that contains one of the line of the problem varies with it.
func TestATentativeCandidateTakesValuesFromTheLineOfTheProblem(t *testing.T) {
	problem := func(name, other string) string {
		return fmt.Sprintf("a.cc:1:1: error: ‘%[1]s’ is not a type\n%[2]s\nnote: see header ‘<%[1]s>’", name, other)
	}
	s := newStory("ana", 1).in("linux", "/w", nil).does("builder all", problem("deque", "using it"))
	attempts := s.does("builder include <deque>", "").does("builder all", "").ends("success").attempts()
	now := advice.Situation{Error: problem("vector", "using ‘a_b’"), Context: map[string]string{"os": "linux"}}
	answer := advice.Advise(now, advice.Tentative(now, attempts))
	require.NotNil(t, answer.Best)
	require.JSONEq(t, `{"cmd":"builder include <vector>"}`, string(answer.Best.Steps[0].Args))
}

// The old call could succeed now and do harm. A commit with the old message would leave nothing for the new one.
func TestTentativeCandidateDoesNotRunOldCall(t *testing.T) {
	call := func(n int) string { return fmt.Sprintf("builder commit -m 'Add part %d'", n) }
	problem := "builder: no author is set"
	s := newStory("ana", 1).in("linux", "/w", nil).does(call(1), problem)
	attempts := s.does("builder author ana", "").does(call(1), "").ends("success").attempts()
	now := advice.Situation{Error: problem, Context: map[string]string{"os": "linux"}}
	answer := advice.Advise(now, advice.Tentative(now, attempts))
	require.NotNil(t, answer.Best)
	require.Len(t, answer.Best.Steps, 1)
	require.JSONEq(t, `{"cmd":"builder author ana"}`, string(answer.Best.Steps[0].Args))
}

// A promoted procedure contains the check as a step, but is the same repair.
func TestPromotedProcedureReplacesTentativeCandidate(t *testing.T) {
	m := newMemory()
	var attempts []trace.Attempt
	for n := 1; n < 5; n++ {
		attempts = append(attempts, build("ana", n, "linux", clearCache(n)).attempts()...)
	}
	m.remember(attempts...)
	m.consolidate(t)
	require.Len(t, m.candidates(), 1)
	answer := advice.Advise(linuxAt(9), append(m.candidates(), advice.Tentative(linuxAt(9), attempts)...))
	require.NotNil(t, answer.Best)
	require.False(t, answer.Best.Tentative)
	require.Empty(t, answer.Others)
}

// A timeline keeps 160 characters of an error. The problem must be recognized wherever the text was cut.
func TestTentativeCandidateOfTruncatedError(t *testing.T) {
	problem := func(dir string) string {
		return "builder: bad encoding of character found in file " + dir +
			"/feed.dat on a line in the middle, but no " +
			"encoding is declared anywhere; see the manual for what to do about it"
	}
	for extra := range 60 {
		dir := "/work/" + strings.Repeat("x", 1+extra)
		s := newStory("ana", 1).in("linux", dir, nil).does("builder all", problem(dir))
		attempts := s.does("recode feed.dat", "").does("builder all", "").ends("success").fromEpisode(t)
		now := advice.Situation{Error: problem("/work/other"), WorkingDir: "/work/other",
			Context: map[string]string{"os": "linux"}}
		answer := advice.Advise(now, advice.Tentative(now, attempts))
		require.NotNil(t, answer.Best, extra)
		require.JSONEq(t, `{"cmd":"recode feed.dat"}`, string(answer.Best.Steps[0].Args))
	}
}

// A value that one step returns and a later step uses must not be taken from the old episode.
func TestTentativeCandidateUsesResultOfStep(t *testing.T) {
	problem := func(n int) string { return fmt.Sprintf("builder: cannot find -lzone%d", n) }
	story := func(result, option string) advice.Answer {
		s := newStory("ana", 1).in("linux", "/w", nil).does("builder all", problem(1))
		s.returns("find . -name libzone1.a", result).does("builder set "+option, "").does("builder all", "")
		now := advice.Situation{Error: problem(2), Context: map[string]string{"os": "linux"}}
		answer := advice.Advise(now, advice.Tentative(now, s.ends("success").fromEpisode(t)))
		require.NotNil(t, answer.Best)
		require.Len(t, answer.Best.Steps, 2)
		require.JSONEq(t, `{"cmd":"find . -name libzone2.a"}`, string(answer.Best.Steps[0].Args))
		return answer
	}
	answer := story("./lib/parts", "-L./lib/parts")
	require.JSONEq(t, `{"cmd":"builder set -L{step}"}`, string(answer.Best.Steps[1].Args))
	require.Equal(t, []string{"step"}, answer.Best.Steps[1].Missing)
	require.Empty(t, answer.Best.Missing, "the caller does not provide it")

	answer = story("tide-25 AAA/B+x", "key tide-25 AAA/B+x")
	require.JSONEq(t, `{"cmd":"builder set key {step}"}`, string(answer.Best.Steps[1].Args), "of several words")
	answer = story("./lib/parts", "-O2")
	require.JSONEq(t, `{"cmd":"builder set -O2"}`, string(answer.Best.Steps[1].Args), "another value")
	answer = story("builder", "builder")
	require.JSONEq(t, `{"cmd":"builder set builder"}`, string(answer.Best.Steps[1].Args), "known before")
	answer = story("done with all", "all")
	require.JSONEq(t, `{"cmd":"builder set all"}`, string(answer.Best.Steps[1].Args), "a sentence is not a value")
}

// The digests in other lines of an error are not cut from the record of an episode.
func TestTentativeCandidateUsesDigests(t *testing.T) {
	digest := func(n int) string { return fmt.Sprintf("%x", sha256.Sum256([]byte{byte(n)})) }
	problem := func(n int) string {
		return fmt.Sprintf("ERROR: the files do not match what the list says.\n"+
			"    part from file:///w/east/west/north/%d.zip (from -r lists/long%d.txt):\n"+
			"        Expected sha256 %s\n             Got        %s",
			n, n, digest(n), digest(n+10))
	}
	repair := func(n int) string { return fmt.Sprintf("sed -i 's/%s/%s/' main.list", digest(n), digest(n+10)) }
	s := newStory("ana", 1).in("linux", "/w", nil).does("builder all", problem(1)).does(repair(1), "")
	s.does("builder all", "")
	now := advice.Situation{Error: problem(2), Context: map[string]string{"os": "linux"}}
	answer := advice.Advise(now, advice.Tentative(now, s.ends("success").fromEpisode(t)))
	require.NotNil(t, answer.Best)
	var got map[string]string
	require.NoError(t, json.Unmarshal(answer.Best.Steps[0].Args, &got))
	require.Equal(t, repair(2), got["cmd"])
}

// A condition may be wrong. If it rules a procedure out, the evidence of single episodes still counts.
func TestEpisodesCountIfConditionRulesProcedureOut(t *testing.T) {
	attempts := build("ana", 1, "linux", clearCache(1)).attempts()
	tentative := advice.Tentative(linuxAt(99), attempts)
	promoted := tentative[0]
	payload := *promoted.Competence
	payload.Triggers = slices.Clone(payload.Triggers)
	promoted.ID, promoted.Tentative, promoted.Competence = "promoted", false, &payload
	alone := advice.Advise(linuxAt(99), append([]advice.Candidate{promoted}, tentative...))
	require.Equal(t, "promoted", alone.Best.ID)
	require.Empty(t, alone.Others, "the same steps are advised once")

	payload.Triggers[0].Conditions = []byte(`{"os": "macos"}`)
	answer := advice.Advise(linuxAt(99), append([]advice.Candidate{promoted}, tentative...))
	require.Nil(t, answer.Best, "not certain enough")
	require.Len(t, answer.Others, 1)
	require.Equal(t, tentative[0].ID, answer.Others[0].ID)
	require.Less(t, answer.Others[0].Confidence, advice.Advise(linuxAt(99), tentative).Best.Confidence)
}

// The caller repeats its own call as the check. A promoted procedure is advised without its check if the check needs a
// value that only the call has.
func TestCheckWithUnknownValueIsLeftToCaller(t *testing.T) {
	var group promote.Group
	for n := range 4 {
		commit := fmt.Sprintf("git commit -m 'Add the %d chapter'", 30+n)
		s := newStory("ana", n).in("linux", "/work", nil)
		s.does(commit, "fatal: no identity is known").does("git config user.name builder", "").does(commit, "")
		for _, a := range s.ends("success").attempts() {
			group.Add(a)
		}
	}
	deltas, refused := competence.Learn(&group, nil, evidence.Default())
	require.Empty(t, refused)
	require.Len(t, deltas, 1)
	answer := advice.Advise(advice.Situation{Task: "Commit the chapter.", Error: "fatal: no identity is known"},
		[]advice.Candidate{{ID: "p", Competence: &deltas[0].Payload, Stats: deltas[0].Stats}})
	require.NotNil(t, answer.Best)
	require.Len(t, answer.Best.Steps, 1)
	require.JSONEq(t, `{"cmd":"git config user.name builder"}`, string(answer.Best.Steps[0].Args))
	require.Equal(t, competence.CallPasses, answer.Best.Steps[0].Validation)
	require.Empty(t, answer.Best.Missing)
}
