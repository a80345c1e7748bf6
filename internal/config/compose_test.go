package config_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// A setting that the compose file does not pass on has no effect in its worker, and no one is told: payloads would be
// stored in clear although MNEME_PAYLOAD_KEY is set.
func TestTheComposeFilePassesEverySettingOn(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("*.go")
	require.NoError(t, err)
	named := regexp.MustCompile(`"((?:MNEME|QDRANT)_[A-Z0-9_]+)"`)
	var settings []string
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		text, err := os.ReadFile(source)
		require.NoError(t, err)
		for _, found := range named.FindAllSubmatch(text, -1) {
			settings = append(settings, string(found[1]))
		}
	}
	require.Greater(t, len(settings), 50)
	text, err := os.ReadFile("../../docker-compose.yml")
	require.NoError(t, err)
	var compose struct {
		Services map[string]struct {
			Environment map[string]*string `yaml:"environment"`
		} `yaml:"services"`
	}
	require.NoError(t, yaml.Unmarshal(text, &compose))
	environment := compose.Services["worker"].Environment
	elsewhere := []string{
		"MNEME_HEALTH_ADDR", // the image's
		// of the command line
		"MNEME_TENANT", "MNEME_AGENT", "MNEME_USER", "MNEME_PROJECT", "MNEME_SCOPE", "MNEME_POLICY_GROUP",
	}
	for _, name := range settings {
		if slices.Contains(elsewhere, name) {
			continue
		}
		_, there := environment[name]
		require.True(t, there, "docker-compose.yml: the worker does not get %s", name)
	}
	for name := range environment {
		if strings.HasPrefix(name, "MNEME_") {
			require.Contains(t, settings, name, "docker-compose.yml: there is no such setting")
		}
	}
}
