//! Runs the blocks of one page and says, by line, what did not do as the page says.

use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::Context as _;

use super::page::{Block, ShownCommand};
use crate::process::Running;

/// The most that one command may take.
const LIMIT: Duration = Duration::from_secs(120);
/// How often a server in the background is asked, and how many times.
const ASK_EVERY: Duration = Duration::from_millis(20);
const ASK_TIMES: u32 = 500;
/// What `plimsoll` ends with where the generator was the limit: the word of a busy host, not of the
/// page. Such a command is run once more, and then left unjudged.
const NOT_VALID: i32 = 5;
/// How much of the end of a failed command's output is shown, beside its errors.
const SHOWN_LINES: usize = 20;

/// What became of a page.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) commands: usize,
    /// `page:line: what happened`, with the end of the output.
    pub(super) faults: Vec<String>,
    /// `page:line: skipped: …` and `page:line: not judged: …`.
    pub(super) skipped: Vec<String>,
}

/// A page while it runs.
struct Page<'a> {
    name: &'a str,
    folder: PathBuf,
    outputs: PathBuf,
    search_path: String,
    servers: Vec<(&'a ShownCommand, Running, PathBuf)>,
    outcome: Outcome,
}

pub(super) fn run_page(
    name: &str,
    blocks: &[Block],
    binary: &Path,
    scratch: &Path,
) -> anyhow::Result<Outcome> {
    let base = scratch.join(name.replace('/', "-"));
    let mut page = Page {
        name,
        folder: base.join("folder"),
        outputs: base.join("output"),
        search_path: search_path(binary),
        servers: Vec::new(),
        outcome: Outcome::default(),
    };
    for folder in [&page.folder, &page.outputs] {
        std::fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    }
    for block in blocks.iter().filter(|block| block.runs) {
        page.block(block)?;
        // What follows a failure would only fail with it.
        if !page.outcome.faults.is_empty() {
            break;
        }
    }
    page.end_servers()?;
    Ok(page.outcome)
}

impl<'a> Page<'a> {
    fn block(&mut self, block: &'a Block) -> anyhow::Result<()> {
        let missing: Vec<&str> = block
            .needs
            .iter()
            .map(String::as_str)
            .filter(|program| !is_on_path(program, &self.search_path))
            .collect();
        if !missing.is_empty() {
            let line =
                format!("{}:{}: skipped: needs {}", self.name, block.line, missing.join(", "));
            self.outcome.skipped.push(line);
            return Ok(());
        }
        for command in &block.commands {
            self.outcome.commands += 1;
            self.command(command)?;
            if !self.outcome.faults.is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn command(&mut self, command: &'a ShownCommand) -> anyhow::Result<()> {
        let output = self.outputs.join(format!("line-{}.txt", command.line));
        // `wait` makes the shell end with its background command, whose status it then has.
        let script = if command.in_background {
            format!("{}\nwait $!", command.script)
        } else {
            command.script.clone()
        };
        let start = || Running::bash(&script, &self.folder, &self.search_path, &output);
        let mut running = start()?;
        if command.in_background {
            if let Some(address) = command.listens_on() {
                self.wait_until_it_answers(command, &mut running, address, &output)?;
            }
            self.servers.push((command, running, output));
            return Ok(());
        }
        let mut ended_with = running.wait(LIMIT)?;
        if is_unjudged(command, ended_with) {
            ended_with = start()?.wait(LIMIT)?;
        }
        match ended_with {
            _ if is_unjudged(command, ended_with) => {
                let why = "not judged: this host was too busy, twice";
                let line = format!("{}:{}: {why}", self.name, command.line);
                self.outcome.skipped.push(line);
            }
            None => self.fault(command, &format!("ran longer than {} s", LIMIT.as_secs()), &output),
            Some(status) if status.code() == Some(command.exit_code) => {}
            Some(status) => {
                let what = format!("{}, not with {}", ended(status), command.exit_code);
                self.fault(command, &what, &output);
            }
        }
        Ok(())
    }

    fn wait_until_it_answers(
        &mut self,
        command: &ShownCommand,
        running: &mut Running,
        address: &str,
        output: &Path,
    ) -> anyhow::Result<()> {
        for _ in 0..ASK_TIMES {
            if answers(address, &self.folder) {
                return Ok(());
            }
            // Waiting for the server's end is also the pause between two questions.
            if running.wait(ASK_EVERY)?.is_some() {
                break;
            }
        }
        self.fault(command, &format!("nothing answers on {address}"), output);
        Ok(())
    }

    /// A server that ended by itself with a fault is one, even if nothing else noticed.
    fn end_servers(&mut self) -> anyhow::Result<()> {
        for (command, mut running, output) in std::mem::take(&mut self.servers) {
            if let Some(status) = running.wait(Duration::ZERO)?
                && status.code() != Some(command.exit_code)
            {
                self.fault(command, &ended(status), &output);
            }
        }
        Ok(())
    }

    fn fault(&mut self, command: &ShownCommand, what: &str, output: &Path) {
        let first = command.script.lines().next().unwrap_or("");
        let mut text = format!("{}:{}: `{first}` {what}", self.name, command.line);
        let shown = std::fs::read_to_string(output).unwrap_or_default();
        let last = shown.lines().count().saturating_sub(SHOWN_LINES);
        for (place, line) in shown.lines().enumerate() {
            if place >= last || line.starts_with("error: ") {
                text.push_str("\n    | ");
                text.push_str(line);
            }
        }
        self.outcome.faults.push(text);
    }
}

fn is_unjudged(command: &ShownCommand, status: Option<ExitStatus>) -> bool {
    let code = status.and_then(|status| status.code());
    code == Some(NOT_VALID) && command.exit_code != NOT_VALID
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with {code}"),
        (None, signal) => format!("was ended by signal {}", signal.unwrap_or(0)),
    }
}

/// Whether something listens there: `host:port`, a port of this host, or `unix:path` below the
/// page's folder.
fn answers(address: &str, folder: &Path) -> bool {
    if let Some(path) = address.strip_prefix("unix:") {
        return UnixStream::connect(folder.join(path)).is_ok();
    }
    let address = match address.parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => address.to_owned(),
    };
    let mut found = address.to_socket_addrs().into_iter().flatten();
    found.any(|address| TcpStream::connect_timeout(&address, ASK_EVERY).is_ok())
}

/// The folder of the program under test, then those of this process, then the one where Debian has
/// servers such as nginx.
#[expect(clippy::disallowed_methods, reason = "commands find their programs as the user does")]
fn search_path(binary: &Path) -> String {
    let folder = binary.parent().unwrap_or(Path::new(".")).display();
    format!("{folder}:{}:/usr/sbin", std::env::var("PATH").unwrap_or_default())
}

fn is_on_path(program: &str, search_path: &str) -> bool {
    search_path.split(':').any(|folder| Path::new(folder).join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::super::page::blocks_of;
    use super::*;

    fn run(name: &str, page: &str) -> Outcome {
        let own = std::env::current_exe().expect("a test has a path");
        let scratch = own.with_file_name("docs-pages-of-tests");
        let _ = std::fs::remove_dir_all(scratch.join(name));
        run_page(name, &blocks_of(page), &own, &scratch).expect("bash can be started")
    }

    #[test]
    fn a_page_runs_in_order_in_one_folder() {
        let page = "```sh\necho one > a\n```\n```sh no-run\nfalse\n```\n\
                    ```sh\ncat a\nls b  # exits 2\n```\n";
        let outcome = run("order.md", page);
        assert_eq!((outcome.commands, outcome.faults.len()), (3, 0));
    }

    #[test]
    fn a_failure_is_named_by_page_and_line_and_ends_the_page() {
        let outcome =
            run("failure.md", "text\n```sh\necho why; false\ntrue\n```\n```sh\ntrue\n```\n");
        assert_eq!(outcome.commands, 1);
        let expected = "failure.md:3: `echo why; false` ended with 1, not with 0\n    | why";
        assert_eq!(outcome.faults, [expected]);
    }

    #[test]
    fn a_missing_program_skips_a_block_by_name() {
        let outcome = run("missing.md", "```sh # needs: bash, no-such-program\nfalse\n```\n");
        assert_eq!(outcome.skipped, ["missing.md:1: skipped: needs no-such-program"]);
        assert_eq!((outcome.commands, outcome.faults.len()), (0, 0));
    }

    #[test]
    fn a_busy_host_is_asked_twice_and_fails_no_page() {
        let page = "```sh\necho x >> a; exit 5\ntest \"$(wc -l < a)\" = 2\n\
                    echo x >> b; test -e c || { touch c; exit 5; }\nexit 3  # exits 5\n```\n";
        let outcome = run("busy.md", page);
        assert_eq!(outcome.skipped, ["busy.md:2: not judged: this host was too busy, twice"]);
        let expected = "busy.md:5: `exit 3  # exits 5` ended with 3, not with 5";
        assert_eq!((outcome.commands, &*outcome.faults), (4, &[expected.to_owned()][..]));
    }

    #[test]
    fn a_server_that_ends_by_itself_is_a_fault() {
        let outcome = run("server.md", "```sh\nfalse --listen 127.0.0.1:1 &\n```\n");
        assert_eq!(outcome.faults.len(), 2, "{outcome:?}");
        assert!(outcome.faults[0].contains("nothing answers on 127.0.0.1:1"), "{outcome:?}");
    }

    #[test]
    fn a_unix_socket_is_waited_for_in_the_pages_folder() {
        let outcome = run("socket.md", "```sh\nfalse --listen unix:a.sock &\n```\n");
        assert!(outcome.faults[0].contains("nothing answers on unix:a.sock"), "{outcome:?}");
        let folder = std::env::temp_dir().join(format!("plimsoll-docs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for a socket");
        let listener = std::os::unix::net::UnixListener::bind(folder.join("a.sock"));
        assert!(answers("unix:a.sock", &folder));
        drop(listener);
        // A child that another test has just forked holds the socket too, until it is a program.
        let times = 100_000;
        let gone = (0..times).find(|_| {
            std::thread::yield_now();
            !answers("unix:a.sock", &folder)
        });
        assert!(gone.is_some(), "asked {times} times, it answers without a listener");
        std::fs::remove_dir_all(&folder).expect("the folder was made above");
    }

    #[test]
    fn what_a_page_left_running_is_ended() {
        let page = "```sh\nsh -c 'echo $$ > pid; exec sleep 1000' & # until the page ends\n\
                    until [ -s pid ]; do :; done\necho \"found:$(cat pid)\"; false\n```\n";
        let outcome = run("left.md", page);
        let (_, pid) = outcome.faults[0].split_once("| found:").expect("the page shows the number");
        // Ended, or a zombie that nobody has waited for yet.
        let gone =
            format!("while grep -qs '^State:.[RSD]' /proc/{pid}/status; do sleep 0.01; done");
        let own = std::env::current_exe().expect("a test has a path");
        let output = own.with_file_name("docs-pages-of-tests").join("gone.txt");
        let mut check = Running::bash(&gone, Path::new("/"), &search_path(&own), &output)
            .expect("bash can be started");
        assert!(check.wait(LIMIT).expect("bash can be waited for").is_some(), "{pid} still runs");
    }
}
