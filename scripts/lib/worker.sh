# shellcheck shell=bash
# bin/worker in the background. MNEME_HEALTH_ADDR sets the address of /readyz, and the stack's env file sets all other
# addresses.
# shellcheck disable=SC2154 # variables of scripts/stack and of the other files here

worker_port=19233

# Accepts any worker process whose pid is in worker.pid, however it was started.
worker_is() { [[ $(cat "/proc/$1/comm" 2>/dev/null) == worker ]]; }

worker_url() { printf 'http://127.0.0.1:%s' "$(recall MNEME_WORKER_PORT)"; }

worker_start() {
	local binary=${MNEME_WORKER:-$checkout/bin/worker}
	[[ -x $binary ]] || die "$binary is not there: make build"
	[[ -e $state/env ]] || die "the stack is not up: make up"
	lock_ports
	choose_port MNEME_WORKER_PORT $worker_port
	(
		while IFS='=' read -r name value; do
			export "$name=$value"
		done <"$state/env"
		export MNEME_HEALTH_ADDR=127.0.0.1:$port
		detach worker env -C "$checkout" "$binary"
	)
	await worker 60
	unlock_ports
}

worker_fetch() { :; }

worker_stop() { end worker TERM; }

# worker_current: whether the running worker is the current binary, and not one that a build has replaced.
worker_current() { [[ /proc/$(cat "$state/worker.pid" 2>/dev/null)/exe -ef ${MNEME_WORKER:-$checkout/bin/worker} ]]; }

worker_listens() { listens "$(recall MNEME_WORKER_PORT)"; }

# worker_answers: whether /readyz returns 200. Bash can send the HTTP request itself.
# shellcheck disable=SC2016 # expanded by the inner shell
worker_answers() {
	timeout 5 bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$0" &&
		printf "GET /readyz HTTP/1.0\r\n\r\n" >&3 &&
		read -r _ code _ <&3 && [[ $code == 200 ]]' "$(recall MNEME_WORKER_PORT)" 2>/dev/null
}

worker_erase() { rm -f "$state/worker.log"; }
