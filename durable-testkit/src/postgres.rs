//! A throw-away PostgreSQL server for tests: one per test process, gone when the process is.
//!
//! The server is the child of a small shell that waits on its standard input. The write end of that pipe belongs
//! to the test process, so the shell sees its end however the process ends (a panic, an abort, a kill), stops the
//! server and removes its files. `DURABLE_TEST_POSTGRES_URL` names a server to be used instead.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// The variable that names a running server, e.g. `postgres://postgres@localhost/test`.
pub const URL_VARIABLE: &str = "DURABLE_TEST_POSTGRES_URL";

/// What a test that looks for deadlocks needs: the detector speaks before anything else ends a wait, and no
/// disk is waited for.
const FAST: &[&str] = &["fsync=off", "deadlock_timeout=50ms"];

/// Starts a cluster in a folder of its own, says where it is and what the server is, and waits.
const SCRIPT: &str = r#"
set -eu
bin=$1; shift
dir=$(mktemp -d "${TMPDIR:-/tmp}/durable-postgres-XXXXXX")
trap 'rm -rf "$dir"' EXIT
"$bin/initdb" --pgdata="$dir/data" --username=postgres --auth=trust --encoding=UTF8 --no-locale --no-sync \
    >"$dir/initdb.log" 2>&1 || { cat "$dir/initdb.log" >&2; exit 1; }
"$bin/postgres" -D "$dir/data" -k "$dir" "$@" </dev/null >"$dir/server.log" 2>&1 &
server=$!
tries=0
until "$bin/pg_isready" --quiet --host="$dir"; do
    tries=$((tries + 1))
    if [ "$tries" -gt 600 ] || ! kill -0 "$server" 2>/dev/null; then cat "$dir/server.log" >&2; exit 1; fi
    sleep 0.05
done
chmod 755 "$dir"; chmod 644 "$dir/server.log"
echo "$dir"
cat >/dev/null || true
kill -INT "$server" 2>/dev/null || true
wait "$server" 2>/dev/null || true
"#;

/// A running server.
#[derive(Debug)]
pub struct PostgresServer {
    url: String,
    /// The shell that owns the server, and where the server writes its log; `None` for a server that was given.
    own: Option<(Child, PathBuf)>,
}

impl PostgresServer {
    /// The server of this process: the one that [`URL_VARIABLE`] names, else one that is started at the first
    /// call and shared by all tests of the process. Durability is off in it, deadlocks are found within 50 ms.
    ///
    /// # Panics
    ///
    /// When no server can be started; the message says what is missing.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<PostgresServer> = OnceLock::new();
        SHARED.get_or_init(|| match std::env::var(URL_VARIABLE) {
            Ok(url) => Self { url, own: None },
            Err(_) => Self::start(FAST),
        })
    }

    /// Starts a server of its own with these settings (`name=value`); it ends with the value.
    ///
    /// # Panics
    ///
    /// As [`PostgresServer::shared`].
    pub fn start(settings: &[&str]) -> Self {
        let binaries = binaries();
        let mut command = as_postgres();
        command.args(["sh", "-c", SCRIPT, "durable-postgres"]).arg(&binaries);
        // A Unix socket only: no port to collide on.
        let fixed = ["listen_addresses=", "max_connections=200", "timezone=UTC", "log_line_prefix=%p "];
        command.args(fixed.iter().chain(settings).flat_map(|setting| ["-c", setting]));
        let mut shell = command
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("no shell for the PostgreSQL server: {error}"));
        let mut line = String::new();
        let output = shell.stdout.take().map(BufReader::new);
        let read = output.map(|mut output| output.read_line(&mut line));
        let directory = line.trim_end();
        assert!(
            matches!(read, Some(Ok(1..))) && !directory.is_empty(),
            "the PostgreSQL server in {} did not start; its log is above",
            binaries.display()
        );
        let url = format!("postgres://postgres@localhost/postgres?host={directory}");
        Self { url, own: Some((shell, Path::new(directory).join("server.log"))) }
    }

    /// The address of its database.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Whether it goes away with the process; what tests leave behind in another one is theirs to remove.
    pub fn is_throw_away(&self) -> bool {
        self.own.is_some()
    }

    /// What the server has logged so far; `None` for a server that was given.
    ///
    /// # Panics
    ///
    /// If the log of an own server cannot be read: a test that looks for something in it would pass for nothing.
    #[expect(clippy::expect_used, reason = "a test tool fails its test by panicking")]
    pub fn log(&self) -> Option<String> {
        let (_, log) = self.own.as_ref()?;
        Some(std::fs::read_to_string(log).expect("the log of the test server can be read"))
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        if let Some((shell, _)) = &mut self.own {
            drop(shell.stdin.take());
            // If it fails, the shell has ended already.
            let _ = shell.wait();
        }
    }
}

/// The server refuses to run as root; then everything runs as user `postgres`.
fn as_postgres() -> Command {
    if !is_root() {
        return Command::new("env");
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]);
    command
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// The folder of `initdb` and `postgres`; Debian's package is installed if there is none.
fn binaries() -> PathBuf {
    find_binaries().or_else(|| install().and_then(|()| find_binaries())).unwrap_or_else(|| {
        panic!(
            "no PostgreSQL server here; install the package `postgresql`, or set {URL_VARIABLE} to the address of a \
             running one"
        )
    })
}

fn find_binaries() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut debian: Vec<(u32, PathBuf)> = versions
        .filter_map(|version| Some((version.file_name().to_str()?.parse().ok()?, version.path().join("bin"))))
        .collect();
    debian.sort_by_key(|&(version, _)| std::cmp::Reverse(version));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = debian.into_iter().map(|(_, folder)| folder).chain(std::env::split_paths(&path));
    folders.find(|folder| ["initdb", "postgres", "pg_isready"].iter().all(|name| folder.join(name).is_file()))
}

fn install() -> Option<()> {
    let run = |arguments: &[&str]| {
        let mut command = Command::new(if is_root() { "env" } else { "sudo" });
        command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]).args(arguments).stdout(Stdio::null());
        command.status().ok().filter(std::process::ExitStatus::success).map(drop)
    };
    run(&["update"])?;
    run(&["install", "-y", "--no-install-recommends", "postgresql"])
}
