# shellcheck shell=bash
# The same parts as containers, from docker-compose.yml, if a container engine answers.
# shellcheck disable=SC2154 # variables of scripts/stack and of the other files here

# find_engine: sets $engine.
find_engine() {
	for engine in docker podman; do
		if have "$engine" && timeout 10 "$engine" info >/dev/null 2>&1 &&
			"$engine" compose version >/dev/null 2>&1; then
			return
		fi
	done
	engine=
	return 1
}

# Every state directory is a separate project, so that two of them do not conflict.
compose() {
	[[ -n ${engine:-} ]] || find_engine || die "no container engine with compose answers (docker info, podman info)"
	MNEME_PG_PASSWORD=$(postgres_password) \
		MNEME_PG_PORT=$(recall MNEME_PG_PORT) \
		MNEME_TEMPORAL_PORT=$(recall MNEME_TEMPORAL_PORT) \
		MNEME_TEMPORAL_UI_PORT=$(recall MNEME_TEMPORAL_UI_PORT) \
		MNEME_QDRANT_PORT=$(recall MNEME_QDRANT_PORT) \
		"$engine" compose --file "$checkout/docker-compose.yml" \
		--project-name "mneme-$(printf '%s' "$state" | cksum | cut -d' ' -f1)" "$@" 7>&- 8>&- 9>&-
}

# services PART: its services in docker-compose.yml, one per line. Qdrant is an index of the data in Postgres, and
# available only as a container.
services() {
	case $1 in
	postgres) printf '%s\n' postgres qdrant ;;
	temporal) printf '%s\n' temporal temporal-ui ;;
	esac
}

qdrant_port=16334

qdrant_url() { printf 'http://127.0.0.1:%s' "$(recall MNEME_QDRANT_PORT)"; }

container_runs() { [[ -n $(compose ps --quiet "$1" 2>/dev/null) ]]; }

# Temporal keeps its runs in that Postgres, so either part may start it, and all ports are chosen together.
container_start() {
	local names
	mapfile -t names < <(services "$1")
	lock_ports
	if ! container_runs postgres && ! container_runs temporal; then
		choose_port MNEME_PG_PORT "$postgres_port"
		choose_port MNEME_TEMPORAL_PORT "$temporal_port"
		choose_port MNEME_TEMPORAL_UI_PORT "$temporal_ui_port"
		choose_port MNEME_QDRANT_PORT "$qdrant_port"
	fi
	compose up --detach --wait "${names[@]}"
	unlock_ports
}

container_stop() {
	local names
	mapfile -t names < <(services "$1")
	compose stop "${names[@]}"
}

container_kill() { compose kill "$1"; }
