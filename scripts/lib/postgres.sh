# shellcheck shell=bash
# A private Postgres with pgvector: the distribution's binaries if they are installed, otherwise those of a small Debian
# tree in the cache, entered with chroot.
# shellcheck disable=SC2154 # variables of scripts/stack and of the other files here

# Default ports are below the kernel's range for outgoing connections, so that no such connection can occupy one of
# them.
postgres_port=15432

pg_release=trixie # the Debian release of the private root, which determines its Postgres
pg_major=17
pg_root_key=postgres-$pg_major-$pg_release-1 # the last number is the version of this recipe
pg_root_uid=55432                            # owns the data under a private root
pgvector_oldest=0.8.0                        # the first version with iterative index scans

postgres_is() { [[ /proc/$1/cwd -ef $state/postgres/data ]]; }

postgres_password() {
	local file=$state/postgres.password
	[[ -s $file ]] || (
		umask 077
		od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$file"
	)
	cat "$file"
}

postgres_url() {
	printf 'postgres://postgres:%s@127.0.0.1:%s/mneme?sslmode=disable' "$(postgres_password)" "$(recall MNEME_PG_PORT)"
}

postgres_start() {
	pg_prepare
	pg_create
	pg_unlock
	lock_ports
	choose_port MNEME_PG_PORT $postgres_port
	pg_settings "$port" >"$state/postgres/mneme.conf"
	detach postgres "${pg_enter[@]}" "$pg_bin/postgres" -D "$pg_home/data"
	await postgres 60
	unlock_ports
	pg_create_database
	[[ -z $ephemeral ]] || pg_cheap_password
}

postgres_fetch() { pg_find; }

postgres_stop() { end postgres INT; }

postgres_answers() { [[ $(pg_query 'select 1') == 1 ]]; }

postgres_listens() { listens "$(recall MNEME_PG_PORT)"; }

postgres_erase() {
	must_be_vacant postgres
	erase_home postgres
	rm -rf --one-file-system "$state/root"
}

# ---- the source of the binaries: sets $pg_root ("/" if installed) -----------

pg_find() {
	pg_root=/
	! pg_find_installed || return 0
	if [[ ! -d $cache/$pg_root_key ]]; then
		is_root || die "no Postgres with pgvector is installed, and installing one needs root. $(pg_hint)"
		apt_update
		if pg_install && pg_find_installed; then return; fi
		pg_build_root
	fi
	is_root || die "the private Postgres in $cache runs under chroot, which needs root. $(pg_hint)"
	pg_root=$cache/$pg_root_key
	pg_fits "$pg_major" || die "$state/postgres was written by Postgres $(pg_data_version)," \
		"here is $pg_major: install that one, or start over with scripts/stack clean"
}

pg_hint() {
	printf '%s' 'Do one of these: sudo apt-get install postgresql-N-pgvector (0.8.0 or later: Debian 13); ' \
		'start a container engine that has compose; set DATABASE_URL; run this as root.'
}

pg_data_version() { cat "$state/postgres/data/PG_VERSION" 2>/dev/null; }

pg_fits() { [[ $(pg_data_version || echo "$1") == "$1" ]]; }

recent_pgvector() { printf '%s\n' $pgvector_oldest "$1" | sort --version-sort --check=quiet; }

# An installed Postgres with a recent pgvector, the newest first: sets $pg_major.
pg_find_installed() {
	local control major vector
	while IFS= read -r control; do
		major=${control#/usr/share/postgresql/}
		major=${major%%/*}
		vector=$(sed -n "s/^default_version *= *'\(.*\)'/\1/p" "$control" 2>/dev/null)
		if [[ -x /usr/lib/postgresql/$major/bin/initdb ]] && pg_fits "$major" && recent_pgvector "$vector"; then
			pg_major=$major
			return
		fi
	done < <(printf '%s\n' /usr/share/postgresql/*/extension/vector.control | sort --version-sort --reverse)
	return 1
}

# The distribution's own package, if it is recent enough.
pg_install() {
	local package version
	package=$(apt-cache search --names-only '^postgresql-[0-9]+-pgvector$' |
		cut -d' ' -f1 | sort --version-sort | tail -n 1)
	version=$(apt-cache show --no-all-versions "${package:-none}" 2>/dev/null | sed -n 's/^Version: //p')
	[[ -n $version ]] && recent_pgvector "$version" || return 1
	if [[ ! -e /etc/postgresql-common/createcluster.conf ]]; then
		mkdir -p /etc/postgresql-common/createcluster.d
		pg_no_cluster >/etc/postgresql-common/createcluster.d/mneme.conf
	fi
	apt_install "$package"
}

# Debian's packages would create and start a server on this machine.
pg_no_cluster() { echo 'create_main_cluster = false'; }

apt_update() {
	have apt-get || die "no apt-get here to install Postgres with. $(pg_hint)"
	note "apt-get update…"
	apt-get update -qq >/dev/null 2>&1 || note "  it failed; continuing with the existing package lists"
}

apt_install() {
	note "apt-get install $*…"
	mkdir -p "$cache"
	long_step "$cache/apt.log" env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends "$@"
}

pg_build_root() {
	local scratch
	lock_build "$pg_root_key"
	if [[ ! -d $cache/$pg_root_key ]]; then
		have mmdebstrap || apt_install mmdebstrap
		note "building a private root with Postgres $pg_major and pgvector (first time only, about 30 s)…"
		scratch=$(make_scratch "$pg_root_key")
		long_step "$cache/$pg_root_key.log" pg_mmdebstrap "$scratch"
		mv -T "$scratch" "$cache/$pg_root_key"
	fi
	unlock_build
}

# shellcheck disable=SC2016 # $1 is expanded by mmdebstrap's shell
pg_mmdebstrap() {
	local options=(--variant=minbase
		--include="postgresql-$pg_major,postgresql-$pg_major-pgvector"
		--dpkgopt='path-exclude=/usr/share/doc/*'
		--dpkgopt='path-exclude=/usr/share/locale/*'
		--dpkgopt='path-exclude=/usr/share/man/*'
		--essential-hook='mkdir -p "$1/etc/postgresql-common/createcluster.d"'
		--essential-hook="echo '$(pg_no_cluster)' >\"\$1/etc/postgresql-common/createcluster.d/mneme.conf\""
		--customize-hook="echo mneme:x:$pg_root_uid:$pg_root_uid::/:/bin/false >>\"\$1/etc/passwd\"")
	may_mount || options+=(--skip='check/canmount,chroot/mount')
	mmdebstrap "${options[@]}" "$pg_release" "$1"
}

# ---- running them: sets $pg_enter, the command prefix for a Postgres program, and $pg_home, the path of
# $state/postgres for that program
#
# Postgres refuses to run as root, and its user may not have access to the checkout; inside a private root the checkout
# does not exist. So each server gets a separate mount namespace in which its directory is mounted at /mnt.

pg_prepare() {
	local owner
	pg_find
	pg_bin=/usr/lib/postgresql/$pg_major/bin
	pg_home=$state/postgres
	pg_enter=()
	if ! is_root; then
		make_home postgres
		return
	fi
	owner=$pg_root_uid:$pg_root_uid
	[[ $pg_root != / ]] || owner=$(id -u postgres):$(id -g postgres)
	if may_mount; then
		make_home postgres
		[[ $(readlink "$state/postgres") != root/mnt ]] || die "$state/postgres was made where mounts are forbidden: scripts/stack clean"
		pg_enter=(unshare --mount sh -c "$pg_enter_script" sh "$pg_home" "$pg_root" "$owner")
		pg_home=/mnt
	elif [[ $pg_root != / ]]; then
		pg_copy_root
		pg_enter=(chroot --userspec="$owner" "$state/root")
		pg_home=/mnt
	else
		make_home postgres
		pg_enter=(chroot --userspec="$owner" /)
	fi
	chown "$owner" "$state/postgres/."
	chmod 700 "$state/postgres/."
	"${pg_enter[@]}" test -x "$pg_home" ||
		die "user postgres may not enter $pg_home: open the directories above it, or use another --state"
}

may_mount() { unshare --mount mount --bind /mnt /mnt 2>/dev/null; }

# shellcheck disable=SC2016 # expanded by the inner shell
pg_enter_script='set -e
home=$1 root=$2 owner=$3
shift 3
mount --bind "$home" "$root/mnt"
[ "$root" = / ] || mount --rbind /dev "$root/dev"
exec chroot --userspec="$owner" "$root" "$@"'

# Where mounts are forbidden, the root is copied into the data directory with hard links, which takes neither time nor
# space.
pg_copy_root() {
	[[ -e $state/postgres ]] || rm -f "$state/postgres" # a dangling link
	if [[ ! -d $state/root ]]; then
		[[ ! -e $state/postgres ]] || die "$state/postgres was made where mounts are permitted: scripts/stack clean"
		rm -rf "$state/root.new"
		cp -al "$pg_root" "$state/root.new" 2>/dev/null || {
			rm -rf "$state/root.new"
			cp -a "$pg_root" "$state/root.new"
		}
		mv "$state/root.new" "$state/root"
	fi
	[[ -L $state/postgres ]] || ln -s root/mnt "$state/postgres"
}

# ---- the server ------------------------------------------------------------

pg_create() {
	local home=$state/postgres
	[[ ! -d $home/data ]] || return 0
	rm -rf "$home/new"
	postgres_password >"$home/password"
	"${pg_enter[@]}" "$pg_bin/initdb" --pgdata="$pg_home/new" --username=postgres \
		--pwfile="$pg_home/password" --auth=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8 \
		${ephemeral:+--no-sync} >"$state/postgres.log" 2>&1 ||
		fail_with_log "initdb failed" "$state/postgres.log"
	rm "$home/password"
	echo "include = '../mneme.conf'" >>"$home/new/postgresql.conf"
	mv "$home/new" "$home/data"
}

# pg_unlock: removes the lock file after a crash. Postgres does this itself, but not if the dead server is a zombie,
# which it takes for a running one.
pg_unlock() {
	[[ -e $state/postgres/data/postmaster.pid ]] || return 0
	must_be_vacant postgres
	rm -f "$state/postgres/data/postmaster.pid"
}

pg_create_database() {
	local exists
	exists=$(pg_query "select 1 from pg_database where datname = 'mneme'")
	[[ -n $exists ]] || pg_query 'create database mneme' ||
		fail_with_log "cannot create the database" "$state/postgres.log"
}

# pg_cheap_password: every test opens connections, and with Postgres' 4096 rounds each costs more than its first query.
# Versions before Postgres 16 keep the default.
pg_cheap_password() {
	pg_query "set scram_iterations = 1; alter role postgres password '$(postgres_password)'" || true
}

pg_query() {
	PGPASSWORD=$(postgres_password) PGCONNECT_TIMEOUT=5 "${pg_enter[@]}" "$pg_bin/psql" \
		--host=127.0.0.1 --port="$(recall MNEME_PG_PORT)" --username=postgres --dbname=postgres \
		--no-psqlrc --quiet --tuples-only --no-align --command="$1" 2>/dev/null
}

# Sized for a machine with some free gigabytes; memory is allocated when used.
pg_settings() {
	cat <<CONF
# Written by scripts/stack at every start.
cluster_name = 'mneme-$1'
port = $1
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
shared_buffers = 512MB
effective_cache_size = 4GB
work_mem = 32MB
maintenance_work_mem = 512MB
max_wal_size = 4GB
wal_compression = on
random_page_cost = 1.1
effective_io_concurrency = 200
jit = off
shared_preload_libraries = 'pg_stat_statements'
track_io_timing = on
log_lock_waits = on
log_min_duration_statement = 500ms
log_line_prefix = '%m [%p] %d '
timezone = 'UTC'
log_timezone = 'UTC'
CONF
	[[ -z $ephemeral ]] || cat <<CONF
fsync = off
synchronous_commit = off
max_connections = 600
full_page_writes = off
shared_buffers = 256MB
wal_level = minimal
max_wal_size = 512MB
max_wal_senders = 0
wal_compression = off
shared_preload_libraries = ''
track_io_timing = off
CONF
}
