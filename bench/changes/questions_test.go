package changes

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuestionsBecomeATenant(t *testing.T) {
	t.Parallel()
	tenant, err := FromQuestions(1, `# a comment
The repo uses pnpm. || Which package manager does the repo use? || package manager
Dana skis. || Does Dana ski?
? Who owns the repo?
`)
	require.NoError(t, err)
	require.Len(t, tenant.Statements, 2)
	require.Len(t, tenant.Known, 3)
	for _, k := range tenant.Known {
		want := "The repo uses pnpm."
		if k.Question == "Does Dana ski?" {
			want = "Dana skis."
		}
		require.Equal(t, want, tenant.Statements[k.Answer].Text)
	}
	require.Equal(t, []Probe{{Kind: Questions, Question: "Who owns the repo?", Answer: -1}}, tenant.Unknown)
}

func TestALineOfQuestionsHasAStatementOrAMark(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"Who owns the repo?", "|| Who owns the repo?", "? Who owns the repo? || Who?"} {
		_, err := FromQuestions(1, line)
		require.ErrorContains(t, err, "a line is a statement with questions", line)
	}
}

func TestTheFilesOfQuestionsAreRead(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("questions/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		tenant, err := FromQuestions(1, string(text))
		require.NoError(t, err, file)
		require.NotEmpty(t, tenant.Known, file)
	}
}
