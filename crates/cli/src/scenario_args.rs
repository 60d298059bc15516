//! The command line of scenarios.

use crate::flags::TlsFlags;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct Scenario {
    #[command(subcommand)]
    pub(crate) command: ScenarioCommand,
}

#[derive(Subcommand)]
pub(crate) enum ScenarioCommand {
    /// Walk one user through a scenario and show each step; nothing is recorded
    Try(Try),
    /// Make a scenario of what a browser recorded (HAR)
    FromHar(FromHar),
    /// Make a scenario of access logs: sessions, think times, pages by frequency
    FromLog(FromLog),
    /// Print a JSON Schema of scenarios, by which editors complete and check them
    #[command(after_help = "\
Example:
  plimsoll scenario schema > scenario.schema.json

An editor that knows TOML takes it by a line at the top of a scenario:
#:schema scenario.schema.json")]
    Schema,
}

#[derive(Args)]
#[command(after_help = "\
Shows what was sent, what came back and what was taken. Bodies are cut at 2 kB; secrets and cookies
are shown as …. Think times are not waited for, and loops without an end go round once.

Examples:
  plimsoll scenario try checkout.toml https://shop.example/
  plimsoll scenario try checkout.toml http://127.0.0.1:8080/ --user 7 --json
  plimsoll scenario try checkout.toml https://shop.example/ --http auto

Exit codes: 0 all steps held, 2 a wrong scenario, 4 a step failed.")]
pub(crate) struct Try {
    /// The scenario
    #[arg(value_parser = crate::files::input)]
    pub(crate) scenario: PathBuf,
    /// The server of its paths
    pub(crate) url: String,
    /// The user's number: it says which rows of data files he has, and what he draws
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) user: String,
    /// Where all that is drawn comes from
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: String,
    /// The version of HTTP: 1.1, 2 or auto (as agreed by TLS)
    #[arg(long, value_name = "VERSION", default_value = "1.1")]
    pub(crate) http: String,
    /// How long an answer may take
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub(crate) timeout: String,
    #[command(flatten)]
    pub(crate) tls: TlsFlags,
    /// Print what was done as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
The scenario is of the site that was asked first, and of its API; requests of other hosts are left
out and counted. Cookies are left to the user's jar, secrets become {{env.NAME}}, tokens of hidden
fields are taken from the page before.

Examples:
  plimsoll scenario from-har shop.har -o checkout.toml
  plimsoll scenario from-har shop.har --host shop.example --host api.example -o checkout.toml
  plimsoll scenario from-har - < shop.har

Exit codes: 0 written, 2 no recording.")]
pub(crate) struct FromHar {
    /// The recording: HAR, as browsers save it, plain or gzip; - for standard input
    #[arg(value_parser = crate::files::input)]
    pub(crate) recording: PathBuf,
    /// A host whose requests become steps, such as shop.example or shop.example:8443; repeatable,
    /// the first is the target's; default: the site asked first, and its API
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
    /// The scenario; default: print it
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print what was found as JSON
    #[arg(long, requires = "output")]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
A session is the requests of one client until he asks for nothing for --gap. Several logs are merged
by time. Memory does not grow with their length.

Examples:
  plimsoll scenario from-log access.log.gz -o browse.toml
  plimsoll scenario from-log access.log --by cookie:sid --gap 15m --pages 20
  plimsoll scenario from-log access.log access.log.1 other-server.log.gz -o browse.toml
  zstdcat access.log.zst | plimsoll scenario from-log - -o browse.toml

Exit codes: 0 written, 2 no log, or no page of a client in them.")]
pub(crate) struct FromLog {
    /// The logs, in any order: plain or gzip; - for standard input
    #[arg(value_parser = crate::files::input, required = true, value_name = "LOG")]
    pub(crate) logs: Vec<PathBuf>,
    /// The scenario; default: print it
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// How clients are told apart: address, or cookie:NAME
    #[arg(long, value_name = "HOW", default_value = "address")]
    pub(crate) by: String,
    /// A session is over after this time without a request
    #[arg(long, value_name = "DURATION", default_value = "30m")]
    pub(crate) gap: String,
    /// How many pages the scenario has: those asked for most
    #[arg(long, value_name = "N", default_value = "100")]
    pub(crate) pages: String,
    /// The log's format, where it is not told from its first lines
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Print what was found as JSON
    #[arg(long, requires = "output")]
    pub(crate) json: bool,
}
