//! Advice for those who know another load generator: what their words are called here.

use crate::args::Arguments;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use plimsoll_units::nearest;

const REQUESTS: &str = "the number of requests is --requests N";
const BODY_FILE: &str = "a file as the body is --body-file FILE";
const DURATION: &str = "how long is --for DURATION, such as --for 30s";
const USERS: &str = "a closed loop of N users is --users N; connections are -c N";
const RATE: &str = "the rate is --rate RATE, such as --rate 500/s";

/// Words of wrk, wrk2, hey, oha, k6, ab, vegeta and h2load, and what they are here.
const WORDS: [(&str, &str); 35] = [
    ("-d", "how long is --for DURATION; a body is --body TEXT"),
    ("--duration", DURATION),
    ("-z", DURATION),
    ("--time", DURATION),
    ("--duration-seconds", DURATION),
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

/// Puts advice that fits into the place of an option that only looks alike; `command` is the
/// program's first word.
pub(crate) fn advise(mut error: clap::Error, command: Option<&str>) -> clap::Error {
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
    let asks = matches!(command, Some("load" | "capacity"));
    let advice = WORDS.iter().find(|(word, _)| asks && *word == typed);
    if !near || advice.is_some() {
        error.remove(ContextKind::SuggestedArg);
        let mut program = Arguments::command();
        program.build();
        // The usage that comes with the error has the option in it that looks alike.
        let usage = command.and_then(|name| program.find_subcommand_mut(name));
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    fn advice(words: &[&str]) -> String {
        let words = ["plimsoll", "load", "http://127.0.0.1:1/"].iter().chain(words);
        let error = Arguments::try_parse_from(words).err().unwrap();
        advise(error, Some("load")).render().to_string()
    }

    #[test]
    fn words_of_other_programs_get_the_advice_that_fits() {
        for (word, wanted) in [
            ("-d", "--for DURATION"),
            ("--iterations", "--requests N"),
            ("--duration", "--for 30s"),
            ("--duration=30s", "--for 30s"),
            ("--vus", "--users N"),
            ("-z", "--for 30s"),
            ("--rps", "--rate 500/s"),
        ] {
            let text = advice(&[word, "30"]);
            assert!(text.contains(wanted) && !text.contains("value-size"), "{text}");
        }
        // One that is nobody's keeps what looks like it.
        assert!(advice(&["--timeot", "1s"]).contains("--timeout"));
    }

    #[test]
    fn advice_names_options_that_there_are_and_is_given_for_none_of_our_own() {
        let program = Arguments::command();
        let load = program.find_subcommand("load").unwrap();
        let longs: Vec<&str> = load.get_arguments().filter_map(clap::Arg::get_long).collect();
        let shorts: Vec<char> = load.get_arguments().filter_map(clap::Arg::get_short).collect();
        for (name, hint) in WORDS {
            let is_ours = match name.strip_prefix("--") {
                Some(long) => longs.contains(&long),
                None => shorts.iter().any(|short| name[1..] == short.to_string()),
            };
            assert!(!is_ours, "{name} is an option of this program");
            let words = hint.split([' ', ',', ';', '`']).filter(|word| word.starts_with("--"));
            for word in words.filter(|word| *word != "--help") {
                assert!(longs.contains(&&word[2..]), "{word} is no option of this program");
            }
        }
    }
}
