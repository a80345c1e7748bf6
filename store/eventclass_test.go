package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/events"
)

// An event is at least as sensitive as its payload, as a memory is, and no caller can lower its class. An event may
// set a higher class. A user's words are visible to every agent, but a secret in them only to agents that ask for
// more than medium.
func TestAppendedEventsAreClassified(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	event := func(id, kind, payload string, stated schema.Sensitivity) ledger.Event {
		e := said(id, "run/x", "ann", kind)
		e.Payload, e.Sensitivity = json.RawMessage(payload), stated
		return e
	}
	list := []ledger.Event{
		event("plain", ledger.KindUserInjected, `{"text":"Bake bread."}`, ""),
		event("public", ledger.KindUserInjected, `{"text":"Bake bread."}`, schema.SensitivityPublic),
		event("mail", ledger.KindUserInjected, `{"text":"Write to ann@example.com."}`, schema.SensitivityPublic),
		event("card", ledger.KindUserInjected, `{"text":"My card is 4111 1111 1111 1111."}`, ""),
		event("key", ledger.KindUserInjected, `{"text":"The key is ghp_1234567890abcdefghijklmnopqrstuvwxyzAB."}`, ""),
		event("call", ledger.KindToolCalled,
			`{"call_id":"c","tool":"psql","args":{"url":["postgres://ann:hunter2@db/x"]}}`, schema.SensitivityLow),
		event("stated", ledger.KindUserInjected, `{"text":"Bake bread."}`, schema.SensitivityHyper),
		event("belief", ledger.KindAgentReflected, `{"belief":"There is a card.","based_on":["card","plain"]}`, ""),
	}
	w.append(time.Now(), list...)
	w.append(time.Now(), list...) // the same events again: an id is compared with the id as given in the request
	page, err := w.Store.Page(ctx, "t", "run/x", 0, 10)
	require.NoError(t, err)
	classes := map[string]schema.Sensitivity{}
	for _, e := range page {
		classes[e.ID] = e.Sensitivity
	}
	require.Equal(t, map[string]schema.Sensitivity{"plain": schema.SensitivityLow,
		"public": schema.SensitivityPublic, "mail": schema.SensitivityMedium, "card": schema.SensitivityHigh,
		"key": schema.SensitivityHyper, "call": schema.SensitivityHyper, "stated": schema.SensitivityHyper,
		"belief": schema.SensitivityHigh}, classes, "a belief is as sensitive as its evidence")

	seen := func(agent string, most schema.Sensitivity) []string {
		found, err := w.Store.Latest(ctx, events.LatestInput{Principal: schema.Principal{Tenant: "t", Agent: agent},
			Stream: "run/x", MaxSensitivity: most, Limit: 20})
		require.NoError(t, err)
		return idsOf(found)
	}
	for _, agent := range []string{"ann", "bob"} {
		require.Equal(t, []string{"plain", "public", "mail"}, seen(agent, ""), agent)
	}
	require.Len(t, seen("bob", schema.SensitivityHyper), 7, "all but ann's call")
}
