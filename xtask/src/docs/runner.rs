//! Runs the blocks of one page and says, by line, what did not do as the page says.

use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::Context as _;

use super::page::{Block, ShownCommand};
use crate::budget::{self, Budget, Claims};
use crate::process::{Place, Running};

/// The most that one command may take: what hangs ends, and no busy machine takes as long.
const LIMIT: Duration = Duration::from_secs(600);
/// What commands that measure claim, so that they take turns.
pub(super) const MEASURING: &str = "measuring";
/// How often a server in the background is asked, and how many times.
const ASK_EVERY: Duration = Duration::from_millis(20);
const ASK_TIMES: u32 = 500;
/// What `plimsoll` ends with where the generator was the limit: the word of a busy host, not of the
/// page. The page is begun anew once, whole; the second time the command is left unjudged.
const NOT_VALID: i32 = 5;
/// What a search ends with that found no estimate, as one of a server that a busy host kept
/// waiting. The page is begun anew once for it, too; the second time it is a fault.
const NO_ESTIMATE: i32 = 4;
/// What a load ends with that broke its SLO, as one does whose server a busy host kept waiting. As
/// with `NO_ESTIMATE`.
const BROKEN: i32 = 3;
/// How much of the end of a failed command's output is shown, beside its errors.
const SHOWN_LINES: usize = 20;

/// What became of a page.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Commands that were run.
    pub(crate) commands: usize,
    /// `page:line: what happened`, with the end of the output.
    pub(crate) faults: Vec<String>,
    /// Blocks that are not run here: their lines, and what each needs.
    pub(crate) skipped: Vec<(usize, String)>,
    /// Lines of commands that this host was too busy for.
    pub(crate) not_judged: Vec<usize>,
    /// The line of the command for which the page was begun anew.
    pub(crate) begun_anew: Option<usize>,
    /// Blocks that take long and were left to `make test-long`.
    pub(crate) left: usize,
}

/// What a page is run with.
pub(super) struct Means<'a> {
    /// The program under test.
    pub(super) binary: &'a Path,
    /// Where pages have their folders.
    pub(super) scratch: &'a Path,
    /// Who gives turns to commands that measure; `None` where the page has the only one.
    pub(super) budget: Option<&'a Budget>,
    /// Whether blocks that take long are run.
    pub(super) is_long: bool,
    /// The mounts that commands see, where they are not those of the host.
    pub(super) mounts: Option<&'a str>,
}

/// A page while it runs.
struct Page<'a> {
    name: &'a str,
    means: &'a Means<'a>,
    folder: PathBuf,
    outputs: PathBuf,
    /// Of a short path, as it holds sockets.
    runtime: PathBuf,
    search_path: String,
    servers: Vec<(&'a ShownCommand, Running, PathBuf)>,
    is_second_try: bool,
    outcome: Outcome,
}

/// Runs a page, for the first or the second time, each in a folder of its own. The first time ends
/// where the host was too busy for a command.
pub(super) fn run_page(
    name: &str,
    blocks: &[Block],
    means: &Means<'_>,
    is_second_try: bool,
) -> anyhow::Result<Outcome> {
    let again = if is_second_try { "-again" } else { "" };
    let own = format!("{}{again}", name.replace('/', "-"));
    let base = means.scratch.join(&own);
    let mut page = Page {
        name,
        means,
        folder: base.join("folder"),
        outputs: base.join("output"),
        runtime: std::env::temp_dir().join(format!("docs-{}-{own}", std::process::id())),
        search_path: search_path(means.binary),
        servers: Vec::new(),
        is_second_try,
        outcome: Outcome::default(),
    };
    for folder in [&page.folder, &page.outputs, &page.runtime] {
        std::fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    }
    std::fs::set_permissions(&page.runtime, std::fs::Permissions::from_mode(0o700))
        .with_context(|| format!("close {}", page.runtime.display()))?;
    for block in blocks.iter().filter(|block| block.runs) {
        if block.is_long && !means.is_long {
            page.outcome.left += 1;
            continue;
        }
        page.block(block)?;
        // What follows a failure would only fail with it.
        if page.has_ended() {
            break;
        }
    }
    page.end_servers()?;
    std::fs::remove_dir_all(&page.runtime)
        .with_context(|| format!("remove {}", page.runtime.display()))?;
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
            let missing = missing.join(", ");
            self.outcome.skipped.push((block.line, missing));
            return Ok(());
        }
        for command in &block.commands {
            self.outcome.commands += 1;
            self.command(command)?;
            if self.has_ended() {
                break;
            }
        }
        Ok(())
    }

    /// Whether nothing more of the page is run.
    fn has_ended(&self) -> bool {
        !self.outcome.faults.is_empty() || self.outcome.begun_anew.is_some()
    }

    fn command(&mut self, command: &'a ShownCommand) -> anyhow::Result<()> {
        let output = self.outputs.join(format!("line-{}.txt", command.line));
        // `wait` makes the shell end with its background command, whose status it then has.
        let script = if command.in_background {
            format!("{}\nwait $!", command.script)
        } else {
            command.script.clone()
        };
        let place = Place {
            folder: &self.folder,
            runtime: &self.runtime,
            path: &self.search_path,
            mounts: self.means.mounts,
        };
        let measuring = self.means.budget.filter(|_| command.measures());
        let turn = measuring.map(|budget| {
            let name = format!("{}:{}", self.name, command.line);
            budget.take(&name, budget::COMPUTES, Claims::from([MEASURING.to_owned()]))
        });
        let mut running = Running::bash(&script, &place, &output)?;
        if command.in_background {
            if let Some(address) = command.listens_on() {
                self.wait_until_it_answers(command, &mut running, address, &output)?;
            }
            self.servers.push((command, running, output));
            return Ok(());
        }
        let ended_with = running.wait(LIMIT)?;
        drop(turn);
        match ended_with {
            _ if is_unjudged(command, ended_with) && self.is_second_try => {
                self.outcome.not_judged.push(command.line);
            }
            _ if is_unjudged(command, ended_with) => self.outcome.begun_anew = Some(command.line),
            _ if may_be_busy(command, ended_with) && !self.is_second_try => {
                self.outcome.begun_anew = Some(command.line);
            }
            None => self.fault(command, &format!("ran longer than {} s", LIMIT.as_secs()), &output),
            Some(status) if command.may_end(status.code()) => {}
            Some(status) => {
                let codes: Vec<String> = command.exit_codes.iter().map(i32::to_string).collect();
                let what = format!("{}, not with {}", ended(status), codes.join(" or "));
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
                && !command.may_end(status.code())
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
    has_code(NOT_VALID, command, status)
}

fn may_be_busy(command: &ShownCommand, status: Option<ExitStatus>) -> bool {
    let has = |code| has_code(code, command, status);
    (command.measures() && has(NO_ESTIMATE))
        || (command.script.contains("plimsoll ") && has(BROKEN))
}

/// Whether a command ended with a code that its page does not state.
fn has_code(code: i32, command: &ShownCommand, status: Option<ExitStatus>) -> bool {
    !command.may_end(Some(code)) && status.and_then(|status| status.code()) == Some(code)
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with {code}"),
        (None, signal) => format!("was ended by signal {}", signal.unwrap_or(0)),
    }
}

/// Whether something listens there: `host:port`, a port of this host, or `unix:path` below the
/// page's folder.
#[expect(clippy::disallowed_methods, reason = "a development tool, which is never static")]
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
/// servers such as nginx, and the one that `.ci/notebook` fills.
#[expect(clippy::disallowed_methods, reason = "commands find their programs as the user does")]
fn search_path(binary: &Path) -> String {
    let folder = binary.parent().unwrap_or(Path::new(".")).display();
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let of_user = match variable("XDG_CACHE_HOME") {
        cache if cache.is_empty() => format!("{}/.cache", variable("HOME")),
        cache => cache,
    };
    let notebook = format!("{of_user}/plimsoll/peers/notebook/bin");
    format!("{folder}:{}:/usr/sbin:{notebook}", variable("PATH"))
}

fn is_on_path(program: &str, search_path: &str) -> bool {
    search_path.split(':').any(|folder| Path::new(folder).join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::super::page::blocks_of;
    use super::*;

    fn scratch() -> PathBuf {
        let own = std::env::current_exe().expect("a test has a path");
        own.with_file_name("docs-pages-of-tests")
    }

    fn run(name: &str, page: &str) -> Outcome {
        run_with(name, page, false)
    }

    fn run_with(name: &str, page: &str, is_long: bool) -> Outcome {
        let (scratch, own) = (scratch(), std::env::current_exe().expect("a test has a path"));
        for folder in [name.to_owned(), format!("{name}-again")] {
            let _ = std::fs::remove_dir_all(scratch.join(folder));
        }
        let budget = Budget::new(std::collections::BTreeMap::new());
        let means =
            Means { binary: &own, scratch: &scratch, budget: Some(&budget), is_long, mounts: None };
        let blocks = blocks_of(page);
        let run = |again| run_page(name, &blocks, &means, again).expect("bash can be started");
        let first = run(false);
        let Some(line) = first.begun_anew else { return first };
        Outcome { begun_anew: Some(line), ..run(true) }
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
        assert_eq!(outcome.skipped, [(1, "no-such-program".to_owned())]);
        assert_eq!((outcome.commands, outcome.faults.len()), (0, 0));
    }

    #[test]
    fn a_page_is_begun_anew_once_where_the_host_was_busy() {
        let counted = scratch().join("busy-tries");
        let _ = std::fs::remove_file(&counted);
        let counted = counted.display();
        // The first folder is not that of the second try.
        let page = format!(
            "```sh\ntest ! -e a\ntouch a; echo x >> {counted}\n\
             test $(wc -l < {counted}) = 2 || exit 5\n\
             exit 3  # exits 3\n```\n"
        );
        let outcome = run("busy.md", &page);
        assert_eq!((outcome.begun_anew, outcome.commands, outcome.faults.len()), (Some(4), 4, 0));
        assert!(outcome.not_judged.is_empty());
        let outcome = run("busy-twice.md", "```sh\nexit 5\nexit 3  # exits 5\n```\n");
        assert_eq!((outcome.begun_anew, &*outcome.not_judged), (Some(2), &[2][..]));
        let expected = "busy-twice.md:3: `exit 3  # exits 5` ended with 3, not with 5";
        assert_eq!((outcome.commands, &*outcome.faults), (2, &[expected.to_owned()][..]));
    }

    #[test]
    fn a_search_without_an_estimate_has_two_tries() {
        let page = "```sh\nexit 4 # plimsoll capacity URL\n```\n";
        let outcome = run("no-estimate.md", page);
        assert_eq!((outcome.begun_anew, outcome.faults.len()), (Some(2), 1));
        assert!(outcome.not_judged.is_empty());
        let outcome = run("no-search.md", "```sh\nexit 4 # plimsoll load URL\n```\n");
        assert_eq!((outcome.begun_anew, outcome.faults.len()), (None, 1));
    }

    #[test]
    fn an_slo_that_is_broken_has_two_tries() {
        let outcome = run("broken.md", "```sh\nexit 3 # plimsoll load URL --slo 'p50<1s'\n```\n");
        assert_eq!((outcome.begun_anew, outcome.faults.len()), (Some(2), 1));
        assert!(outcome.not_judged.is_empty());
    }

    #[test]
    fn what_takes_long_is_left_unless_wanted() {
        let page = "```sh long\nfalse\n```\n```sh\ntrue\n```\n";
        let outcome = run("long.md", page);
        assert_eq!((outcome.left, outcome.commands, outcome.faults.len()), (1, 1, 0));
        let outcome = run_with("long-too.md", page, true);
        assert_eq!((outcome.left, outcome.commands, outcome.faults.len()), (0, 1, 1));
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
        let (output, root) = (scratch().join("gone.txt"), Path::new("/"));
        let place = Place { folder: root, runtime: root, path: &search_path(&own), mounts: None };
        let mut check = Running::bash(&gone, &place, &output).expect("bash can be started");
        assert!(check.wait(LIMIT).expect("bash can be waited for").is_some(), "{pid} still runs");
    }
}
