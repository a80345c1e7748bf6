# shellcheck shell=bash
# Tools built from separate Go modules, so that their requirements do not affect the main module. scripts/tools/*/go.mod
# pins the versions.
# shellcheck disable=SC2154 # variables of scripts/stack and of the other files here

# module_version DIR MODULE: prints the version that its go.mod pins.
module_version() { sed -n "s,^[[:space:]]*$2 \(v[^ ]*\).*,\1,p" "$checkout/scripts/tools/$1/go.mod"; }

# describe_tool NAME: sets $tool_dir, $tool_package, $tool_version, $tool_tags, $tool_flags and $tool_hint.
describe_tool() {
	local module
	tool_tags=() tool_flags=() tool_hint=
	case $1 in
	temporal)
		tool_dir=temporal module=github.com/temporalio/cli tool_package=$module/cmd/temporal
		tool_tags=(-tags disable_grpc_modules) # without the gRPC client of Google's storage, for archives that are not used
		tool_hint='building the Temporal server from Go modules (first time only, 2 to 6 minutes)…'
		;;
	temporal-server)
		tool_dir=temporal-server module=go.temporal.io/server tool_package=$module/cmd/server
		tool_tags=(-tags disable_grpc_modules)
		tool_flags=(-ldflags '-s -w')
		tool_hint='building the stock Temporal server from Go modules (first time only, 8 minutes or more)…'
		;;
	temporal-sql-tool)
		tool_dir=temporal-server module=go.temporal.io/server tool_package=$module/cmd/tools/sql
		;;
	staticcheck)
		tool_dir=lint module=honnef.co/go/tools tool_package=$module/cmd/staticcheck
		;;
	depguard)
		tool_dir=depguard module=github.com/OpenPeeDeeP/depguard/v2 tool_package=$module/cmd/depguard
		;;
	promtool)
		tool_dir=promtool module=github.com/prometheus/prometheus tool_package=$module/cmd/promtool
		tool_tags=(-tags 'remove_all_sd,enable_dns_sd') # half the work: without the libraries of clouds that it could scrape
		tool_hint='building promtool from Go modules (first time only, 2 to 4 minutes)…'
		;;
	gotestsum)
		tool_dir=gotestsum module=gotest.tools/gotestsum tool_package=$module
		;;
	workflowcheck)
		tool_dir=lint module=go.temporal.io/sdk/contrib/tools/workflowcheck tool_package=$module
		;;
	*) die "no such tool: $1" ;;
	esac
	tool_version=$(module_version "$tool_dir" "$module")
	[[ -n $tool_version ]] || die "scripts/tools/$tool_dir/go.mod does not pin $module"
	if [[ $1 == temporal ]]; then
		tool_flags=(-ldflags "-s -w -X $module/temporalcli.Version=${tool_version#v}")
	else
		# A checker must be built with the same Go version as the code that it checks.
		tool_version+=-$(go env GOVERSION)
	fi
}

# The oldest Temporal server with fairness between tenants.
temporal_oldest=1.29.0

# temporal_installed: sets $tool to a `temporal` on the PATH that is recent enough. MNEME_TEMPORAL_CLI names another
# one, or is "build".
temporal_installed() {
	local server
	case ${MNEME_TEMPORAL_CLI:-} in
	build) return 1 ;;
	'') tool=$(command -v temporal) || return 1 ;;
	*) tool=$MNEME_TEMPORAL_CLI ;;
	esac
	# temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)
	server=$("$tool" --version 2>/dev/null | sed -n 's/.*(Server \([0-9.]*\).*/\1/p')
	if [[ -n $server ]] && printf '%s\n' $temporal_oldest "$server" | sort --version-sort --check=quiet; then
		return
	fi
	[[ -z ${MNEME_TEMPORAL_CLI:-} ]] || die "MNEME_TEMPORAL_CLI=$tool: not a Temporal CLI with server $temporal_oldest or later"
	note "$tool has server ${server:-of an unknown version}; $temporal_oldest or later is needed"
	return 1
}

# build_tool NAME: sets $tool to the path of the binary.
build_tool() {
	local name=$1 scratch
	! find_tool "$name" || return 0
	have go || die "Go is needed to build $name, and it is not on the PATH"
	lock_build "$name"
	if [[ ! -x $tool ]]; then
		note "${tool_hint:-building $name $tool_version…}"
		scratch=$(make_scratch "$name")
		long_step "$cache/$name.log" env -C "$checkout/scripts/tools/$tool_dir" GOWORK=off GOFLAGS= \
			go build -trimpath -buildvcs=false "${tool_tags[@]}" "${tool_flags[@]}" -o "$scratch/$name" "$tool_package"
		mv -T "$scratch" "${tool%/*}"
	fi
	unlock_build
}

# find_tool NAME: sets $tool to the path of the binary; fails if it must still be built.
find_tool() {
	[[ $1 != temporal ]] || ! temporal_installed || return 0
	describe_tool "$1"
	tool=$cache/$1-$tool_version-$(uname -s)-$(uname -m)/$1
	[[ -x $tool ]]
}

# download_tool NAME: downloads the modules that building it needs.
download_tool() {
	! find_tool "$1" && have go || return 0
	note "downloading the modules of $1…"
	env -C "$checkout/scripts/tools/$tool_dir" GOWORK=off GOFLAGS= \
		go list -deps "${tool_tags[@]}" "$tool_package" >/dev/null || note "  it failed; building $1 tries again"
}

# make_scratch NAME: creates a directory to build in. The result is moved to its place by a rename, so that an
# interruption leaves nothing that looks complete; leftovers are removed here by the next process that holds the lock.
make_scratch() {
	local directory
	find "$cache" -maxdepth 1 -name ".$1.*" -exec rm -rf --one-file-system {} +
	directory=$(mktemp -d "$cache/.$1.XXXXXX")
	chmod 755 "$directory"
	printf '%s' "$directory"
}
