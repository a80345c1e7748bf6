package changes

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScenariosBecomeTenants(t *testing.T) {
	tenants, err := FromScenarios(1, `# a comment
I live in Lyon. || I live in Oslo now. || Where do I live?

Dana skis. || Does Dana ski? || Tom swims. || Does Tom swim?
What is my shoe size?
I drive a Saab. || I drive a Volvo now. || What do I drive?
`)
	require.NoError(t, err)
	pairs, coexisting, unknown := 0, 0, 0
	for _, tenant := range tenants {
		require.Equal(t, Scenarios, tenant.Half)
		require.False(t, tenant.HeldOut)
		require.Greater(t, len(tenant.Statements), distractsOfTenant/2)
		for _, p := range tenant.Pairs {
			pairs++
			require.Less(t, p.Old, p.New)
			require.True(t, tenant.Statements[p.Old].At.Before(tenant.Statements[p.New].At))
			require.Contains(t, []string{"Where do I live?", "What do I drive?"}, p.Question)
		}
		for _, c := range tenant.Coexisting {
			coexisting++
			require.Equal(t, "Dana skis.", tenant.Statements[c.A].Text)
			require.Equal(t, "Tom swims.", tenant.Statements[c.B].Text)
		}
		for _, u := range tenant.Unknown {
			unknown++
			require.Equal(t, "What is my shoe size?", u.Question)
			require.Negative(t, u.Answer)
		}
	}
	require.Equal(t, 1, unknown)
	require.Equal(t, 2, pairs)
	require.Equal(t, 1, coexisting)
}

func TestAScenarioOfTwoPartsBeginsWithAnEmptyOne(t *testing.T) {
	_, err := FromScenarios(1, "I live in Lyon. || Where do I live?")
	require.ErrorContains(t, err, "1, 3 or 4 parts, or 2 and the first is empty")
}

func TestAScenarioMayHaveAKindAndAQuestionAboutThePast(t *testing.T) {
	tenants, err := FromScenarios(1, `[implicit] I live in Lyon. || I live in Oslo now. || Where do I live? || past: Where did I live?
|| The kettle is red.
Dana skis. || Does Dana ski? || Tom swims. || -
`)
	require.NoError(t, err)
	p := tenants[0].Pairs[0]
	require.Equal(t, "implicit", p.Wording)
	require.Equal(t, "I live in Lyon.", tenants[0].Statements[p.Old].Text)
	require.Equal(t, "Where did I live?", p.Past)
	require.Empty(t, tenants[0].Coexisting[0].AskB)
	require.True(t, slices.ContainsFunc(tenants[0].Statements, func(s Statement) bool {
		return s.Text == "The kettle is red."
	}))
}
