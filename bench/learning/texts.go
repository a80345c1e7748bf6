package main

// set has the texts from which families are made.
type set struct {
	problems []string // with a path and a name
	verbs    []string // commands of repairs, with what they are about
}

// sets are the families to develop with and those to report.
var sets = map[string]set{
	"dev": {
		problems: []string{
			"builder: cache mismatch in %[1]s for '%[2]s'", "cannot lock %[1]s held for '%[2]s'",
			"stale handle %[1]s while reading '%[2]s'", "no space left in %[1]s to write '%[2]s'",
			"checksum of %[1]s differs from that of '%[2]s'", "index %[1]s is corrupt near '%[2]s'",
			"cannot map %[1]s into process '%[2]s'", "too many links to %[1]s from '%[2]s'",
			"bad magic in %[1]s written by '%[2]s'", "unexpected end of %[1]s in section '%[2]s'",
			"permission denied on %[1]s for user '%[2]s'", "undefined symbol '%[2]s' needed by %[1]s",
			"schema of %[1]s is older than '%[2]s' expects", "socket %[1]s refused '%[2]s'",
			"license in %[1]s does not cover '%[2]s'", "duplicate entry '%[2]s' found in %[1]s",
			"interpreter of %[1]s missing, wanted '%[2]s'", "certificate %[1]s not trusted by '%[2]s'",
			"quota exceeded under %[1]s by job '%[2]s'", "template %[1]s lacks variable '%[2]s'",
		},
		verbs: []string{
			"cachectl purge %[1]s", "rm -rf %[1]s", "chown builder %[1]s", "chmod u+rw %[1]s", "mv %[1]s %[1]s.old",
			"reindex --file %[1]s", "fsck-tree %[3]s", "sync-mirror --name %[2]s", "pkg install %[2]s",
			"pkg remove %[2]s",
			"regen %[1]s --from %[2]s", "touch %[1]s", "truncate --size 0 %[1]s", "service restart %[2]s",
			"ln -sf /usr/lib/%[2]s %[1]s", "ulimit-set files 4096", "env-reset --keep %[2]s",
			"patch-config %[1]s --set fast=off",
			"toolchain use %[4]s", "fetch-deps --only %[2]s", "compact --dir %[3]s", "verify --deep %[1]s",
			"unlock --force %[1]s", "rotate-keys --owner %[2]s",
		},
	},
	"reported": {
		problems: []string{
			"render failed: texture %[1]s exceeds limit of '%[2]s'", "journal %[1]s was not replayed by '%[2]s'",
			"loader: relocation against %[1]s overflows in '%[2]s'", "migration %[1]s already applied by '%[2]s'",
			"cannot decode %[1]s as '%[2]s'", "watcher for %[1]s ran out of handles in '%[2]s'",
			"plugin '%[2]s' rejected manifest %[1]s", "clock skew detected in %[1]s by '%[2]s'",
			"merge driver left markers in %[1]s under '%[2]s'", "broken pipe while streaming %[1]s to '%[2]s'",
			"fixture %[1]s out of date for suite '%[2]s'", "cycle through %[1]s found in package '%[2]s'",
			"encoding of %[1]s not supported by '%[2]s'", "port of %[1]s taken by process '%[2]s'",
			"snapshot %[1]s does not match renderer '%[2]s'", "header %[1]s missing for target '%[2]s'",
			"database file %[1]s locked by session '%[2]s'", "token in %[1]s expired for account '%[2]s'",
			"submodule %[1]s detached from '%[2]s'", "shard %[1]s lags replica '%[2]s'",
		},
		verbs: []string{
			"texpack shrink %[1]s", "journalctl2 replay %[1]s", "linkmode large --unit %[2]s", "dbtool baseline %[1]s",
			"recode --to utf8 %[1]s", "inotify raise --by 8192", "manifest rewrite %[1]s", "timesync step --peer %[2]s",
			"resolve --ours %[1]s", "spool flush %[3]s", "fixtures update --suite %[2]s", "depgraph cut --at %[2]s",
			"iconv-all %[3]s", "portctl free --owner %[2]s", "snap accept %[1]s", "headers install --target %[2]s",
			"sessions drop %[2]s", "auth renew --account %[2]s", "submod attach %[1]s", "shardctl rebuild %[1]s",
			"runtime pin %[4]s", "workers scale --to 1", "tempdir clear %[3]s", "feature disable %[2]s",
		},
	},
}
