package changes

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGenerateIsDeterministic(t *testing.T) {
	require.Equal(t, Generate(7, 1), Generate(7, 1))
	require.NotEqual(t, Generate(7, 1), Generate(8, 1))
}

func TestTenantsAreSound(t *testing.T) {
	for _, tenant := range Generate(1, 1) {
		texts := map[string]bool{}
		for i, s := range tenant.Statements {
			require.NotContains(t, s.Text, "{", tenant.Name)
			require.False(t, texts[s.Text+s.Speaker], "said twice in %s: %s", tenant.Name, s.Text)
			texts[s.Text+s.Speaker] = true
			if i > 0 {
				require.True(t, s.At.After(tenant.Statements[i-1].At))
			}
		}
		for _, p := range tenant.Pairs {
			old, now := tenant.Statements[p.Old], tenant.Statements[p.New]
			require.Greater(t, now.Session, old.Session)
			require.NotContains(t, p.Question+p.Past, "{")
			if p.NewValue != "" && p.Wording != "any_more" {
				require.Contains(t, strings.ToLower(old.Text), strings.ToLower(p.OldValue))
				require.Contains(t, strings.ToLower(now.Text), strings.ToLower(p.NewValue))
				require.NotContains(t, strings.ToLower(old.Text), strings.ToLower(p.NewValue))
			}
		}
		for _, q := range append(tenant.Known, tenant.Unknown...) {
			require.NotContains(t, q.Question, "{")
		}
		require.Equal(t, len(tenant.Known), len(tenant.Unknown))
	}
}

func TestPrint(t *testing.T) {
	for _, tenant := range Generate(1, 1) {
		if tenant.HeldOut != (os.Getenv("HELD") != "") {
			continue
		}
		for _, p := range tenant.Pairs {
			t.Log(p.Attribute, p.Wording, "\n   ", tenant.Statements[p.Old].Speaker, "|", tenant.Statements[p.Old].Text, "\n   ",
				tenant.Statements[p.New].Speaker, "|", tenant.Statements[p.New].Text, "\n   ", p.Question, "|", p.Past)
		}
	}
}
