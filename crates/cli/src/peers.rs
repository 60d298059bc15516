//! Advice for those who know another load generator: what their words are called here.

use crate::args::Arguments;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use plimsoll_units::nearest;

const REQUESTS: &str = "the number of requests follows from --rate and --for, or from a list with \
                        --order in-order";
const BODY_FILE: &str = "a file as the body is --body-file FILE";
const DURATION: &str = "how long is --for DURATION, such as --for 30s";
const USERS: &str = "a closed loop of N users is --users N; connections are -c N";
const RATE: &str = "the rate is --rate RATE, such as --rate 500/s";

/// Words of wrk, wrk2, hey, oha, k6, ab, vegeta and h2load, and what they are here.
const WORDS: [(&str, &str); 38] = [
    ("-d", "how long is --for DURATION; a body is --body TEXT"),
    ("--duration", DURATION),
    ("-z", DURATION),
    ("--time", DURATION),
    ("--duration-seconds", DURATION),
    ("-n", REQUESTS),
    ("--requests", REQUESTS),
    ("--num-requests", REQUESTS),
    ("-i", REQUESTS),
    ("--iterations", REQUESTS),
    ("--vus", USERS),
    ("-u", USERS),
    ("--concurrency", USERS),
    ("--clients", USERS),
    ("--virtual-users", USERS),
    ("-R", RATE),
    ("--rps", RATE),
    ("--qps", RATE),
    ("--stages", "a rate over time is --schedule 'RATE..RATE in D, RATE for D'"),
    ("-s", "--schedule gives a rate over time; scripts are not run; see `plimsoll load --help`"),
    ("--stage", "a rate over time is --schedule 'RATE..RATE in D, RATE for D'"),
    ("--script", "scripts are not run; a log is asked for again by --replay FILE"),
    ("-t", "threads are --threads N; how long a request may take is --timeout DURATION"),
    ("--latency", "latencies are always printed"),
    ("--latency-correction", "response times always count from when a request was due"),
    ("-m", "the method is -X METHOD"),
    ("-T", "a content type is -H 'Content-Type: …'"),
    ("--content-type", "a content type is -H 'Content-Type: …'"),
    ("-D", BODY_FILE),
    ("-p", BODY_FILE),
    ("--data", "a body is --body TEXT or --body-file FILE"),
    ("--data-binary", "a body is --body TEXT or --body-file FILE"),
    ("-a", "basic authentication is --basic USER:PASSWORD"),
    ("--user", "basic authentication is --basic USER:PASSWORD"),
    ("--disable-keepalive", "a connection for each request is --connection per-request"),
    ("--http2", "HTTP/2 is --http 2"),
    ("--targets", "a list of URLs is --urls FILE"),
    ("-w", "connections are -c N; threads are --threads N"),
];

/// Puts advice that fits into the place of an option that only looks alike.
pub(crate) fn advise(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let typed = typed.split('=').next().unwrap_or_default().to_owned();
    let near = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(option)) => nearest(&typed, [option.as_str()]).is_some(),
        _ => false,
    };
    let command = std::env::args().nth(1);
    let asks = matches!(command.as_deref(), Some("load" | "capacity"));
    let advice = WORDS.iter().find(|(word, _)| asks && *word == typed);
    if !near || advice.is_some() {
        error.remove(ContextKind::SuggestedArg);
        let mut program = Arguments::command();
        program.build();
        // The usage that comes with the error has the option in it that looks alike.
        let usage = command.and_then(|name| program.find_subcommand_mut(&name));
        if let Some(usage) = usage.map(clap::Command::render_usage) {
            error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
        }
    }
    if let Some((_, advice)) = advice {
        error.remove(ContextKind::Suggested);
        let advice = clap::builder::StyledStr::from(*advice);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice]));
    }
    error
}
