package english_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/english"
)

func TestNamesOfTheCalendar(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]time.Weekday{"monday": time.Monday, "saturday": time.Saturday,
		"sunday": time.Sunday} {
		got, ok := english.Weekday(word)
		require.True(t, ok, word)
		require.Equal(t, want, got, word)
	}
	_, ok := english.Weekday("mondays")
	require.False(t, ok)

	for word, want := range map[string]time.Month{"january": 1, "jan": 1, "may": 5, "september": 9, "sep": 9,
		"sept": 9, "oct": 10, "december": 12, "dec": 12, "monday": 0, "": 0} {
		require.Equal(t, want, english.Month(word), word)
	}
	for word, want := range map[string]int{"one": 1, "ten": 10, "thirteen": 13, "twenty": 20, "thirty": 30,
		"seventy": 70, "eighty": 80, "ninety": 90, "hundred": 0, "zero": 0} {
		require.Equal(t, want, english.Numbers[word], word)
	}
}

func TestDayOfMonth(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]int{"7": 7, "07": 7, "7th": 7, "1st": 1, "2nd": 2, "23rd": 23, "31": 31,
		"32": 0, "0": 0, "007": 0, "th": 0, "": 0, "+7": 0, "7h": 0, "7ths": 0, "100": 0} {
		require.Equal(t, want, english.DayOfMonth(word), word)
	}
}
