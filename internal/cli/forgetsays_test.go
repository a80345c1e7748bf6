package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/memories"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// preferences ingests a statement of Maya, and returns the ids of the extracted fact and of its source.
func (c *cli) preferences(text, fact string) (factID, source string) {
	c.t.Helper()
	said := c.remember(text, "--speaker", "Maya", "--source-kind", "user_input").MemoryIDs[0]
	for _, m := range c.list().Items {
		if m.Content == fact {
			return m.ID, said
		}
	}
	require.FailNow(c.t, "no such fact", fact)
	return "", ""
}

// Memories with the same content as an erased fact are shown, and --everywhere erases them too.
func TestEraseCommandShowsRepetitions(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	fact, source := c.preferences("I prefer Python. I live in Oslo.", "Maya prefers Python.")

	o := c.run("erase", fact, "--reason", "asked for").is(app.ExitOK)
	require.Contains(t, o.out, "1 memory selected (erase); 1 other memory says the same and stays (--everywhere)")
	require.Contains(t, o.out, "1 other memory says the same; --everywhere selects it too:")
	require.Regexp(t, source+` +episodic +source +says 1 other thing +I prefer Python\. I live in Oslo\.`, o.out)
	var f memories.Forgotten
	c.run("erase", fact, "--reason", "asked for", "--json").is(app.ExitOK).json(&f)
	require.Equal(t, []memories.Sampled{{ID: source, Type: schema.TypeEpisodic,
		Content: "I prefer Python. I live in Oslo.", Tie: "source", AlsoSays: 1}}, f.SaysSame)
	require.Equal(t, fact, f.Memories[0].ID)
	require.False(t, f.Preview.Everywhere)

	o = c.run("erase", fact, "--everywhere", "--reason", "asked for").is(app.ExitOK)
	require.Contains(t, o.out, "2 memories selected (erase); 1 of them because they say the same")
	require.Contains(t, o.out, "1 other memory says the same and is forgotten, too:")
	require.Contains(t, o.out, "Other facts extracted from it stay.")

	// Without --everywhere the result warns; erasing an erased memory still finds the rest.
	o = c.run("erase", fact, "--reason", "asked for", "--yes").is(app.ExitOK)
	require.Contains(t, o.err, "1 other memory says the same and stays")
	require.Contains(t, o.out, "1 other memory says the same: "+source+" (source); --everywhere selects it too")
	require.NotEmpty(t, c.get(source).Content)
	c.run("erase", fact, "--everywhere", "--reason", "asked for", "--yes", "--json").is(app.ExitPartial).json(&f)
	require.Equal(t, []string{source}, f.Receipt.IDs)
	require.Empty(t, c.get(source).Content)
	require.NotContains(t, c.run("recall", "What does Maya prefer?").is(app.ExitOK).out, "Python")
	require.Contains(t, c.run("recall", "Where does Maya live?").is(app.ExitOK).out, "Oslo")
}

// A soft forget offers the same, and forgets none of them unless asked.
func TestForgetCommandShowsRepetitions(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	fact, source := c.preferences("I prefer Python.", "Maya prefers Python.")
	o := c.run("forget", fact, "--execute", "--reason", "asked for").is(app.ExitOK)
	require.Contains(t, o.out, "1 other memory says the same: "+source+" (source); --everywhere selects it too")
	require.Nil(t, c.get(source).DeletedAt)
	c.run("recover", fact, "--reason", "after all").is(app.ExitOK)

	c.run("modify", source, "--pin", "--reason", "to keep").is(app.ExitOK)
	o = c.run("forget", fact, "--everywhere", "--yes", "--reason", "asked for").is(app.ExitPartial)
	require.Contains(t, o.out, "1 other memory says the same and was not forgotten: "+source+" (source)")
	c.run("modify", source, "--unpin", "--reason", "not to keep").is(app.ExitOK)
	c.run("recover", fact, "--reason", "after all").is(app.ExitOK)

	f := c.forget(app.ExitOK, fact, "--everywhere", "--execute")
	require.Nil(t, f.Receipt, "memories that were found but not named need a confirmation")
	require.Equal(t, 2, f.Preview.Total)
	f = c.forget(app.ExitOK, fact, "--everywhere", "--yes")
	require.Equal(t, []string{fact, source}, f.Receipt.IDs)
	require.Zero(t, f.Receipt.StillSaid)
	o = c.run("forget", "status", f.Receipt.RunID, "--items").is(app.ExitOK)
	require.Regexp(t, source+` +\d +forgotten +source`, o.out)
	require.NotContains(t, c.run("recall", "What does Maya prefer?").is(app.ExitOK).out, "Python")
}
