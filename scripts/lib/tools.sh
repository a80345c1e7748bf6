# shellcheck shell=bash
# Tools built from Go modules of their own, so that their requirements stay out
# of ours. scripts/tools/*/go.mod pins the versions.
# shellcheck disable=SC2154 # variables of scripts/stack and of the other files here

# module_version DIR MODULE: the version its go.mod pins.
module_version() { sed -n "s,^[[:space:]]*$2 \(v[^ ]*\).*,\1,p" "$checkout/scripts/tools/$1/go.mod"; }

# describe_tool NAME: into $tool_dir, $tool_package, $tool_version, $tool_flags, $tool_hint.
describe_tool() {
	local module
	tool_flags=() tool_hint=
	case $1 in
	temporal)
		tool_dir=temporal module=github.com/temporalio/cli tool_package=$module/cmd/temporal
		tool_hint='building the Temporal server from Go modules (first time only, 2 to 6 minutes)…'
		;;
	temporal-server)
		tool_dir=temporal-server module=go.temporal.io/server tool_package=$module/cmd/server
		tool_flags=(-tags disable_grpc_modules -ldflags '-s -w')
		tool_hint='building the stock Temporal server from Go modules (first time only, 8 minutes or more)…'
		;;
	temporal-sql-tool)
		tool_dir=temporal-server module=go.temporal.io/server tool_package=$module/cmd/tools/sql
		;;
	staticcheck)
		tool_dir=lint module=honnef.co/go/tools tool_package=$module/cmd/staticcheck
		;;
	promtool)
		tool_dir=promtool module=github.com/prometheus/prometheus tool_package=$module/cmd/promtool
		tool_flags=(-tags 'remove_all_sd,enable_dns_sd') # half the work: without the libraries of clouds that it could scrape
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
		# A checker must be built by the Go whose code it is to check.
		tool_version+=-$(go env GOVERSION)
	fi
}

# build_tool NAME: into $tool, the path of the binary.
build_tool() {
	local name=$1 target scratch
	describe_tool "$name"
	target=$cache/$name-$tool_version-$(uname -s)-$(uname -m)
	tool=$target/$name
	[[ ! -x $tool ]] || return 0
	have go || die "Go is needed to build $name, and it is not on the PATH"
	lock_build "$name"
	if [[ ! -x $tool ]]; then
		note "${tool_hint:-building $name $tool_version…}"
		scratch=$(make_scratch "$name")
		long_step "$cache/$name.log" env -C "$checkout/scripts/tools/$tool_dir" GOWORK=off GOFLAGS= \
			go build -trimpath -buildvcs=false "${tool_flags[@]}" -o "$scratch/$name" "$tool_package"
		mv -T "$scratch" "$target"
	fi
	unlock_build
}

# make_scratch NAME: a directory to build in. What is built goes to its place by
# a rename, so that an interruption leaves nothing that looks finished; what it
# does leave is removed here, by the next one to hold the lock.
make_scratch() {
	local directory
	find "$cache" -maxdepth 1 -name ".$1.*" -exec rm -rf --one-file-system {} +
	directory=$(mktemp -d "$cache/.$1.XXXXXX")
	chmod 755 "$directory"
	printf '%s' "$directory"
}
