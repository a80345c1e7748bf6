package signature_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/signature"
)

func value(kind signature.Kind, text string) signature.Value {
	return signature.Value{Kind: kind, Text: text}
}

// A module with its version is two values: a repair has the module alone. An address of mail is one.
func TestModuleWithItsVersion(t *testing.T) {
	require.Equal(t, []signature.Value{value(signature.Path, "pier.example/east/tide"), value(signature.Version, "v0.0.0"),
		value(signature.Path, "./libs/tide")},
		signature.OfError("pier.example/east/tide@v0.0.0: directory ./libs/tide is missing").Values)
	require.Equal(t, []signature.Value{value(signature.Path, "@east/tide"), value(signature.Version, "1.20.3")},
		signature.OfError("cannot load @east/tide@1.20.3").Values)
	requireSame(t, "a/b.x:3:8: pier.example/tide@v0.0.0: directory ./tide is missing",
		"c.x:3:8: pier.example/east/moon@v1.2.0: directory ./libs/moon is missing")
	require.Equal(t, []signature.Value{value(signature.Name, "ana@pier.example")},
		signature.OfError("cannot write to ana@pier.example").Values)
}

// A directory whose name begins with a dot keeps it.
func TestHiddenDirectory(t *testing.T) {
	for _, text := range []string{".tide/bin/run", "./tide/bin/run", "../tide/run", "east/.tide/run", ".tide/run.sh"} {
		require.Equal(t, []signature.Value{value(signature.Path, text)}, signature.OfError("cannot open "+text).Values, text)
	}
}

// A name with a capital is the same name where the line repeats it without a mark.
func TestNameThatIsRepeated(t *testing.T) {
	requireSame(t, "a.x:9:2: cannot use Olive{} (value of struct type Olive) as Pier value in return: "+
		"Olive does not follow Pier",
		"b.x:3:2: cannot use &OakElm{} (value of struct type OakElm) as Tide7 value in return: OakElm does not follow Tide7",
		"b.x:3:2: cannot use Created{} (value of struct type Created) as Pier value in return: Created does not follow Pier",
		"b.x:3:2: cannot use Tide (value of struct type Tide) as Pier value in return: Tide does not follow Pier")
	requireOther(t, "error: type 'olive' does not follow pier", "error: type 'olive' does not follow tide")
}

// Words around a name without quotes show that it is one.
func TestNameByTheWordsAroundIt(t *testing.T) {
	requireSame(t, "list.x: no column total in 'a;b'", "q/list.x: no column day_two in 'x y'")
	requireSame(t, "ValueError: a default for field created is not allowed",
		"ValueError: a default for field x7 is not allowed")
	requireSame(t, "Error: link failed while loading main class Tide", "Error: link failed while loading main class MoonLog")
	requireOther(t, "error: it cannot change the class now", "error: it cannot change the class twice")
	requireSame(t, "sh: 1: cd: can't cd to current", "sh: 1: cd: can't cd to east7", "sh: 1: cd: can't cd to a/b")
	requireSame(t, "pier error: generator : Tide", "pier error: generator : Moon Tables")
	requireOther(t, "error: no index entry in the list", "error: no index page in the list")
	requireOther(t, "git : The term is not known", "git : The list is not known")
}

// A line that says that the beginning failed does not say why.
func TestBeginningFailed(t *testing.T) {
	require.Equal(t, "Tide.pm was not true at tools/x.pl line 2.",
		signature.OfError("Tide.pm was not true at tools/x.pl line 2.\n"+
			"BEGIN failed--compilation aborted at tools/x.pl line 2.").Line)
}
