package place

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Tools are the programs on this machine, and the environment in which they run.
type Tools struct {
	paths    map[string]string // by name
	versions map[string]string
	cache    string // of the Go compiler: a new one would compile the standard library for each task
}

var versionForm = regexp.MustCompile(`\d+(?:\.\d+)+`)

// Find looks for the programs that the families need.
func Find() Tools {
	t := Tools{paths: map[string]string{}, versions: map[string]string{}}
	for name, version := range map[string]string{"go": "version", "gcc": "-dumpfullversion", "make": "--version",
		"git": "--version", "python3": "--version", "npm": "--version", "node": "--version", "sh": "", "tar": "",
		"gzip": "", "sqlite3": "", "ssh-keygen": "", "perl": "", "bash": "", "cmake": "", "openssl": "", "jq": "",
		"patch": "", "diff": "", "ln": "", "sed": "", "sort": "", "javac": "", "base64": "", "g++": "", "iconv": "",
		"ninja": "", "mkdir": "", "ar": "", "msgfmt": "", "cp": "", "comm": "", "cmp": "",
		"find": "", "xargs": "", "rustc": "--version", "cargo": "--version", "ssh": "",
		"sha256sum": "", "java": "", "jar": "", "pkg-config": "", "dpkg-deb": "",
		"curl": "", "xz": "", "shellcheck": "", "systemd-analyze": ""} {
		at, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if version != "" {
			printed, err := exec.Command(name, version).Output()
			if err != nil {
				continue
			}
			t.versions[name] = versionForm.FindString(string(printed))
		}
		t.paths[name] = at
	}
	// A version manager's python3 is a script that needs the user's home directory: take the interpreter itself.
	if printed, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output(); err == nil {
		t.paths["python3"] = strings.TrimSpace(string(printed))
	}
	// The same holds for the compiler of Rust.
	if printed, err := exec.Command("rustc", "--print", "sysroot").Output(); err == nil {
		for _, name := range []string{"rustc", "cargo"} {
			at := filepath.Join(strings.TrimSpace(string(printed)), "bin", name)
			if _, err := os.Stat(at); err == nil && t.paths[name] != "" {
				t.paths[name] = at
			}
		}
	}
	if printed, err := exec.Command("go", "env", "GOCACHE").Output(); err == nil {
		t.cache = strings.TrimSpace(string(printed))
	}
	return t
}

// Has reports whether all programs are installed.
func (t Tools) Has(names []string) bool {
	for _, n := range names {
		if t.paths[n] == "" {
			return false
		}
	}
	return true
}

// Context returns the environment of a task, as an agent records it.
func (t Tools) Context(names []string) map[string]string {
	out := map[string]string{"os": runtime.GOOS}
	for _, n := range names {
		if v := t.versions[n]; v != "" {
			out[n+"_version"] = v
		}
	}
	return out
}

// env is the environment of commands. Nothing of the user's settings is in it, and no tool may use the network.
func (t Tools) env() []string {
	dirs := []string{}
	for _, name := range []string{"python3", "go", "rustc"} {
		if at := t.paths[name]; at != "" {
			dirs = append(dirs, filepath.Dir(at))
		}
	}
	return []string{
		"PATH=" + strings.Join(append(dirs, os.Getenv("PATH")), string(os.PathListSeparator)),
		"LC_ALL=C.UTF-8", "TMPDIR=" + os.TempDir(), "NO_COLOR=1", "TERM=dumb",
		"GOCACHE=" + t.cache, "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOWORK=off", "GOFLAGS=", "GOENV=off",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=gc.auto", "GIT_CONFIG_VALUE_0=0", // nothing in the background
		"GIT_CONFIG_KEY_1=maintenance.auto", "GIT_CONFIG_VALUE_1=false",
		"PYTHONDONTWRITEBYTECODE=1",
		"npm_config_offline=true", "npm_config_update_notifier=false", "npm_config_audit=false",
		"npm_config_fund=false",
	}
}

// String names the versions of the tools.
func (t Tools) String() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(t.versions)) {
		out = append(out, name+" "+t.versions[name])
	}
	return strings.Join(out, ", ")
}
