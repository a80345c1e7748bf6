# shellcheck shell=bash
# Shared by the scripts: messages, settings, locks, processes, ports.
# shellcheck disable=SC2154 # state, cache and ephemeral come from the script

note() { printf '%s\n' "$*" >&2; }

die() {
	note "${0##*/}: $*"
	exit 1
}

fail_with_log() {
	note "--- last lines of $2"
	tail -n 20 "$2" >&2 || true
	die "$1"
}

have() { command -v "$1" >/dev/null 2>&1; }
is_root() { [[ $(id -u) -eq 0 ]]; }

# ---- settings: earlier choices for this stack, one KEY=VALUE per line -------

recall() { sed -n "s/^$1=//p" "$state/settings" 2>/dev/null || true; }

remember() {
	[[ $(recall "$1") != "$2" ]] || return 0
	(
		umask 077
		{
			grep -v "^$1=" "$state/settings" 2>/dev/null || true
			printf '%s=%s\n' "$1" "$2"
		} >"$state/settings.new"
	)
	mv "$state/settings.new" "$state/settings"
}

# ---- the data directory of a part: $state/PART ------------------------------

# make_home PART. For a test stack it is a link to a directory in memory, if there is space: tests create and drop
# hundreds of databases of five hundred files each, and ext4 takes longer to find an inode for a new file the more files
# were deleted in the last seconds.
make_home() {
	local memory
	[[ ! -d $state/$1 ]] || return 0
	rm -f "$state/$1" # a link to memory from before a reboot
	if [[ -z $ephemeral ]] || ! memory_to_spare; then
		mkdir -p "$state/$1"
		return
	fi
	sweep_memory
	memory=$(mktemp --directory "$in_memory.XXXXXX")
	chmod 711 "$memory"
	mkdir "$memory/home"
	ln -sfn "$memory/home" "$state/$1"
	printf '%s\n' "$state/$1" >"$memory/of"
}

erase_home() {
	local home
	home=$(readlink "$state/$1" || true)
	[[ $home != "$in_memory".*/home ]] || rm -rf --one-file-system "${home%/home}"
	rm -rf --one-file-system "${state:?}/$1"
}

in_memory=/dev/shm/mneme-test

memory_to_spare() {
	local free available
	[[ -w /dev/shm && $(stat -f -c %T /dev/shm) == tmpfs ]] || return 1
	free=$(stat -f -c '%a * %S' /dev/shm)
	available=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)
	((free > 4 << 30 && ${available:-0} > 8 << 20))
}

# sweep_memory deletes the directories of stacks whose state directory was deleted without `down`, a day after they were
# created: a newer one may belong to a container that shares this memory but not the file system.
sweep_memory() {
	local memory
	for memory in "$in_memory".*; do
		[[ -O $memory && -s $memory/of && -n $(find "$memory/of" -mmin +1440) ]] || continue
		[[ $(readlink "$(cat "$memory/of")") == "$memory/home" ]] || rm -rf --one-file-system "$memory"
	done
}

# ---- locks: descriptor 7 ports, 8 this state directory, 9 building ---------

lock_state() {
	mkdir -p "$state"
	have flock || return 0
	exec 8>"$state/lock"
	flock 8
	# `clean` may have deleted the file while this process waited for it.
	[[ /dev/fd/8 -ef $state/lock ]] || lock_state
}

# Ports are chosen and bound under one lock, so that two stacks that start at the same time do not choose the same port.
lock_ports() {
	mkdir -p "$cache"
	have flock || return 0
	exec 7>"$cache/ports.lock"
	flock 7
}

unlock_ports() { exec 7>&-; }

lock_build() {
	mkdir -p "$cache"
	have flock || return 0
	exec 9>"$cache/$1.lock"
	flock --nonblock 9 && return
	note "waiting for another build of $1…"
	flock 9
}

unlock_build() { exec 9>&-; }

# ---- processes -------------------------------------------------------------

# detach NAME COMMAND...: runs it in a separate session without inherited descriptors, with its pid in NAME.pid and its
# output in NAME.log.
detach() {
	local name=$1 log=$state/$1.log
	shift
	rm -f "$state/$name.pid"
	[[ $(stat -c %s "$log" 2>/dev/null || echo 0) -lt 50000000 ]] || mv "$log" "$log.1"
	# shellcheck disable=SC2016 # expanded by the inner shell
	setsid --fork sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$state/$name.pid" "$@" \
		</dev/null >>"$log" 2>&1 7>&- 8>&- 9>&-
	until_true 5 test -s "$state/$name.pid" || die "cannot start $name"
}

pid_of() { cat "$state/$1.pid" 2>/dev/null; }

# runs PART: whether the process in its pid file is the part's. The file outlives a crash, and pids are reused, so the
# function of the part must recognize the process.
runs() {
	local pid
	pid=$(pid_of "$1") && [[ -n $pid ]] && "$1_is" "$pid"
}

# must_be_vacant PART: fails if a process of it is left, even if its pid file is lost.
must_be_vacant() {
	until_true 15 vacant "$1" || die "$1: process $occupant still runs on $state; stop it first"
}

vacant() {
	local process
	for process in /proc/[0-9]*; do
		occupant=${process#/proc/}
		! "$1_is" "$occupant" || return 1
	done
}

descendants() {
	local child children=()
	read -ra children 2>/dev/null <"/proc/$1/task/$1/children" || true
	for child in "${children[@]}"; do
		printf '%s\n' "$child"
		descendants "$child"
	done
}

# gone PID...: whether none of them is running (zombies have no exe).
gone() {
	local pid
	for pid; do
		[[ ! -e /proc/$pid/exe ]] || return 1
	done
}

# end PART SIGNAL: sends it and waits until the process and its children have ended. SIGKILL is sent to the children
# too, as when a machine fails.
end() {
	local name=$1 signal=$2 pid children=()
	if runs "$name"; then
		pid=$(pid_of "$name")
		mapfile -t children < <(descendants "$pid")
		kill -s "$signal" "$pid"
		[[ $signal != KILL ]] || kill -s KILL "${children[@]}" 2>/dev/null || true
		until_true 60 gone "$pid" "${children[@]}" || die "$name (pid $pid) does not end"
	fi
	rm -f "$state/$name.pid"
}

# until_true SECONDS COMMAND...
until_true() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@"; do
		((SECONDS < deadline)) || return 1
		sleep 0.1
	done
}

# await PART SECONDS: waits until it answers, or reports why it does not.
await() {
	local name=$1 seconds=$2 log=$state/$1.log deadline pid
	deadline=$((SECONDS + seconds))
	pid=$(pid_of "$name")
	until "${name}_answers"; do
		! gone "$pid" || fail_with_log "$name ended while starting" "$log"
		if ((SECONDS >= deadline)); then
			kill "$pid"
			fail_with_log "$name did not answer within $seconds s, and was stopped" "$log"
		fi
		sleep 0.1
	done
	runs "$name" || fail_with_log "$name ended, and something else answers on its port" "$log"
}

# long_step LOG COMMAND...: runs it, prints the elapsed time now and then, and shows its output only if it fails.
long_step() {
	local log=$1 start=$SECONDS ticker status=0
	shift
	while sleep 15 >/dev/null 2>&1; do note "  … $((SECONDS - start)) s"; done 7>&- 8>&- 9>&- &
	ticker=$!
	"$@" >"$log" 2>&1 || status=$?
	kill "$ticker"
	wait "$ticker" 2>/dev/null || true
	((status == 0)) || fail_with_log "that failed with exit code $status; all of its output is in $log" "$log"
	note "  done in $((SECONDS - start)) s"
}

# ---- ports -----------------------------------------------------------------

# listens PORT [HOST]
# shellcheck disable=SC2016 # expanded by the inner shell
listens() { timeout 5 bash -c 'exec 3<>"/dev/tcp/$1/$0"' "$1" "${2:-127.0.0.1}" 2>/dev/null; }

# choose_port NAME DEFAULT: sets $port. The environment takes precedence, then the earlier choice of this stack, then
# the default or the next free port. Test stacks have no default and start anywhere.
choose_port() {
	local name=$1 default=$2
	if [[ -z $ephemeral && -n ${!name:-} ]]; then
		port=${!name}
		! listens "$port" || die "$name=$port: another process listens there"
		remember "$name" "$port"
		return
	fi
	[[ -z $ephemeral ]] || default=$((20000 + RANDOM % 12000))
	port=$(recall "$name")
	port=${port:-$default}
	if listens "$port"; then
		[[ -n $ephemeral ]] || note "port $port is taken; looking for a free one"
		while listens "$port"; do port=$((port + 1)); done
	fi
	remember "$name" "$port"
}
