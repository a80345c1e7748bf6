package policy

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
)

// Limits of a condition. The cost is CEL's measure: about one for a look-up or a comparison, and a tenth for each
// character read, times a quarter of its length for a regular expression. Over the longest content, one of 300
// characters is within the limit and one of 400 is not; the limit keeps a rule below a few hundred milliseconds for any
// input.
const (
	maxConditionLength = 8 << 10 // characters
	maxConditionCost   = 2_000_000
	maxRegexSize       = 1000 // instructions of a compiled regular expression
)

// celCondition is a condition in the Common Expression Language.
type celCondition struct{ program cel.Program }

// conditionEnv declares the variables of conditions. Fields are checked when a rule is compiled.
var conditionEnv = sync.OnceValues(func() (*cel.Env, error) {
	object := func(t reflect.Type) *cel.Type { return cel.ObjectType(t.String()) }
	candidate, principal, fact := reflect.TypeFor[policyCandidate](), reflect.TypeFor[policyPrincipal](),
		reflect.TypeFor[policyFact]()
	return cel.NewEnv(
		ext.NativeTypes(candidate, principal, fact, ext.ParseStructTags(true)),
		cel.Variable("candidate", object(candidate)),
		cel.Variable("principal", object(principal)),
		cel.Variable("fact", object(fact)),
		cel.Variable("kind", cel.StringType),
		cel.Variable("detected", cel.ListType(cel.StringType)),
		cel.Variable("type", cel.StringType),
		cel.Variable("category", cel.StringType),
		cel.Variable("sensitivity", cel.StringType),
		cel.Variable("confidence", cel.DoubleType),
		cel.Variable("importance", cel.DoubleType),
		cel.Variable("pinned", cel.BoolType),
		cel.Variable("tags", cel.ListType(cel.StringType)),
		cel.Variable("scope", cel.StringType),
		cel.Variable("visibility", cel.StringType),
		cel.ParserExpressionSizeLimit(maxConditionLength),
		cel.RegexProgramSizeLimit(maxRegexSize),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateDurationLiterals(),
			cel.ValidateComprehensionNestingLimit(2)),
	)
})

// compileCondition compiles and type-checks an expression. It returns the problems with line and column within the
// expression.
func compileCondition(expression string) (policyCondition, []string) {
	env, err := conditionEnv()
	if err != nil {
		return nil, []string{"conditions cannot be compiled: " + err.Error()}
	}
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		var problems []string
		for _, e := range issues.Errors() {
			at := ""
			if e.Location != nil && e.Location.Line() > 0 {
				at = fmt.Sprintf("%d:%d: ", e.Location.Line(), e.Location.Column()+1)
			}
			problems = append(problems, at+strings.TrimSuffix(e.Message, " (in container '')"))
		}
		return nil, problems
	}
	if ast.OutputType() != cel.BoolType {
		return nil, []string{"must be true or false, and is of type " + ast.OutputType().String()}
	}
	program, err := env.Program(ast, cel.CostLimit(maxConditionCost), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, []string{err.Error()}
	}
	return celCondition{program}, nil
}

// tellable has the beginnings of evaluation errors that are reported. The rest of such an error is omitted, because it
// may quote content.
var tellable = []string{
	"no such key",
	"no such attribute",
	"index out of bounds",
	"divide by zero",
	"division by zero",
	"modulus by zero",
	"integer overflow",
	"no such overload",
	"unsupported index",
}

// errTooCostly means that a condition was not evaluated to its end, so that it may hold.
var errTooCostly = errors.New("takes longer than a condition may: it only raises the sensitivity")

func (c celCondition) holds(vars map[string]any) (bool, error) {
	out, _, err := c.program.Eval(vars)
	if err != nil {
		if strings.Contains(err.Error(), "cost limit exceeded") {
			return false, errTooCostly
		}
		for _, known := range tellable {
			if strings.HasPrefix(err.Error(), known) {
				return false, errors.New("cannot be evaluated: " + known)
			}
		}
		return false, errors.New("cannot be evaluated here")
	}
	matches, ok := out.Value().(bool)
	if !ok {
		return false, errors.New("is neither true nor false here")
	}
	return matches, nil
}
