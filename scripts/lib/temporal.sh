# shellcheck shell=bash
# Temporal's development server with its UI: the `temporal` on the PATH, or one built from Go modules. It keeps its runs
# in an SQLite file, so they survive a restart.
# shellcheck disable=SC2154 # variables of scripts/stack and of the other files here

temporal_port=17233
temporal_ui_port=18233

temporal_is() { [[ /proc/$1/cwd -ef $state/temporal ]]; }

temporal_address() { printf '127.0.0.1:%s' "$(recall MNEME_TEMPORAL_PORT)"; }

temporal_start() {
	local frontend ui='' fresh='' words=()
	build_tool temporal
	make_home temporal
	must_be_vacant temporal
	[[ -e $state/temporal/temporal.db ]] || fresh=yes
	lock_ports
	choose_port MNEME_TEMPORAL_PORT $temporal_port
	frontend=$port
	if [[ -z $ephemeral ]]; then
		choose_port MNEME_TEMPORAL_UI_PORT $temporal_ui_port
		ui=$port
	fi
	mapfile -t words < <(temporal_words "$frontend" "$ui")
	detach temporal env -C "$state/temporal" "$tool" "${words[@]}"
	await temporal 60
	unlock_ports
	# The server's default is one day, which is shorter than a weekend.
	[[ -z $fresh ]] || temporal_cli operator namespace update --namespace default --retention 168h ||
		note "could not set how long runs are kept"
}

temporal_fetch() { download_tool temporal; }

temporal_stop() { end temporal TERM; }

temporal_answers() {
	temporal_listens && temporal_cli operator cluster health &&
		temporal_cli operator namespace describe --namespace default
}

temporal_listens() { listens "$(recall MNEME_TEMPORAL_PORT)"; }

temporal_erase() {
	must_be_vacant temporal
	erase_home temporal
}

temporal_cli() { timeout 20 "$tool" "$@" --address "$(temporal_address)" >/dev/null 2>&1; }

# temporal_words FRONTEND-PORT UI-PORT: prints the arguments, one per line. Update with start is on by default since
# server 1.28; priorities and fairness between tenants are not. Ids are limited to 255 characters, as in Postgres,
# because SQLite would accept longer ones. A run that has just closed is deleted after the queues of its shard have
# saved their positions, by default every 30 s; here every second, so that an erasure completes soon.
temporal_words() {
	printf '%s\n' server start-dev --ip 127.0.0.1 --port "$1" \
		--db-filename "$state/temporal/temporal.db" --log-level warn \
		--dynamic-config-value limit.maxIDLength=255 \
		--dynamic-config-value matching.useNewMatcher=true \
		--dynamic-config-value matching.enableFairness=true \
		--dynamic-config-value matching.numTaskqueueReadPartitions=1 \
		--dynamic-config-value matching.numTaskqueueWritePartitions=1 \
		--dynamic-config-value frontend.namespaceRPS.visibility=1000 \
		--dynamic-config-value history.transferProcessorMaxPollRPS=1000 \
		--dynamic-config-value history.timerProcessorMaxPollRPS=1000 \
		--dynamic-config-value 'history.transferProcessorUpdateAckInterval="1s"' \
		--dynamic-config-value 'history.visibilityProcessorUpdateAckInterval="1s"'
	local setting
	for setting in ${MNEME_TEMPORAL_CONFIG:-}; do
		printf '%s\n' --dynamic-config-value "$setting"
	done
	# With a write-ahead log a commit need not wait for the disk: a killed server loses nothing, and only a power
	# failure may lose the last moments. It also uses less processor time than a rollback journal.
	printf '%s\n' --sqlite-pragma journal_mode=WAL
	# Every test has its own task queue. With metrics for each of them, the server reports an ever longer list once a
	# second, which after some hundred tests takes a tenth of a processor.
	if [[ -n $ephemeral ]]; then
		printf '%s\n' --dynamic-config-value metrics.breakdownByTaskQueue=false \
			--dynamic-config-value metrics.breakdownByPartition=false
		printf '%s\n' --headless --sqlite-pragma synchronous=OFF
	else
		printf '%s\n' --ui-port "$2" --sqlite-pragma synchronous=NORMAL
	fi
}
