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
const RAMP: &str = "a rate that rises is --schedule 'RATE..RATE in D'; users of a --scenario begin \
                    by and by with --connect-rate RATE, such as --connect-rate 20/s";
const REDIRECTS: &str = "redirects are followed by --follow N, such as --follow 5";
const WRITTEN: &str = "the summary as JSON is --json, the page --report FILE, and runs are kept in \
                       --out FOLDER";

/// Words of wrk, wrk2, hey, oha, k6, ab, vegeta, h2load and Locust, and what they are here.
const WORDS: [(&str, &str); 55] = [
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
    ("-r", RAMP),
    ("--spawn-rate", RAMP),
    ("--ramp-up", RAMP),
    ("--rampup", RAMP),
    ("--ramp", RAMP),
    ("-o", WRITTEN),
    ("--output", WRITTEN),
    ("--output-format", WRITTEN),
    ("--format", WRITTEN),
    ("--csv", WRITTEN),
    ("--html", WRITTEN),
    ("-v", "progress is shown unless --quiet says no; each request is kept by --samples"),
    ("--verbose", "progress is shown unless --quiet says no; each request is kept by --samples"),
    ("-b", "a cookie is -H 'Cookie: NAME=VALUE'; a body is --body TEXT"),
    ("--cookie", "a cookie is -H 'Cookie: NAME=VALUE'"),
    ("-L", REDIRECTS),
    ("--location", REDIRECTS),
    ("--redirect", REDIRECTS),
    ("--redirects", REDIRECTS),
    ("--max-redirects", REDIRECTS),
];

/// Options of the original client of Shoal, and of its other programs.
const SHOAL_WORDS: [(&str, &str); 5] = [
    ("-s", "a registry is --server URL"),
    ("-d", "nothing is written without --apply; --old prints as -d does"),
    ("-f", "proxies of Frontier are --frontier"),
    ("-k", "no broadcast is listened to: a registry is --server URL"),
    ("-o", "no broadcast is listened to: a registry is --server URL"),
];

/// Puts advice that fits into the place of an option that only looks alike; `words` are those
/// behind the program's name.
pub(crate) fn advise(mut error: clap::Error, words: &[String]) -> clap::Error {
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
    let mut program = Arguments::command();
    program.build();
    let command = meant(&mut program, words);
    let advice = command.as_ref().and_then(|command| advice(command, &typed));
    if !near || advice.is_some() {
        error.remove(ContextKind::SuggestedArg);
        // The usage that comes with the error has the option in it that looks alike.
        if let Some(usage) = command.map(clap::Command::render_usage) {
            error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
        }
    }
    if let Some(advice) = advice {
        error.remove(ContextKind::Suggested);
        let advice = clap::builder::StyledStr::from(advice);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice]));
    }
    error
}

/// The command that words call: `load`, or one of several within another, as `shoal client`.
fn meant<'a>(program: &'a mut clap::Command, words: &[String]) -> Option<&'a mut clap::Command> {
    let (first, rest) = words.split_first()?;
    let command = program.find_subcommand_mut(first)?;
    let has_inner = rest.first().is_some_and(|inner| command.find_subcommand(inner).is_some());
    if has_inner { meant(command, rest) } else { Some(command) }
}

/// The advice for a word of another program, where the command has the options that it names.
fn advice(command: &clap::Command, typed: &str) -> Option<&'static str> {
    let words: &[(&str, &str)] = match command.get_bin_name().unwrap_or_default() {
        "plimsoll load" | "plimsoll capacity" => &WORDS,
        "plimsoll shoal client" => &SHOAL_WORDS,
        _ => return None,
    };
    let (_, advice) = words.iter().find(|(word, _)| *word == typed)?;
    let has = |long: &str| command.get_arguments().any(|of| of.get_long() == Some(long));
    options_of(advice).all(has).then_some(*advice)
}

/// The long options that a text names, without their dashes.
fn options_of(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split([' ', ',', ';', ':', '`']).filter_map(|word| word.strip_prefix("--"));
    words.filter(|word| *word != "help")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    fn advice(words: &[&str]) -> String {
        of("load", words)
    }

    fn of(command: &str, words: &[&str]) -> String {
        let url = (command != "shoal").then_some(&"http://127.0.0.1:1/");
        let begin = ["plimsoll", command];
        let words = begin.iter().chain(url).chain(words);
        let error = Arguments::try_parse_from(words.clone()).err().unwrap();
        let typed: Vec<String> = words.skip(1).map(|word| (*word).to_owned()).collect();
        advise(error, &typed).render().to_string()
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
    fn words_of_files_users_and_redirects_get_advice_too() {
        for (word, wanted) in [
            ("-r", "--connect-rate 20/s"),
            ("-o", "--report FILE"),
            ("-v", "--samples"),
            ("-b", "-H 'Cookie: NAME=VALUE'"),
            ("--format", "--json"),
            ("--ramp-up", "--schedule"),
            ("--redirects", "--follow 5"),
        ] {
            let text = advice(&[word, "30"]);
            assert!(text.contains(wanted) && !text.contains("as a value"), "{word}: {text}");
        }
        // A search has no users and no schedule: it is not told to take them.
        for word in ["--vus", "-r"] {
            let text = of("capacity", &["--slo", "p99<1s", word, "30"]);
            assert!(!text.contains("--users") && !text.contains("--schedule"), "{text}");
        }
    }

    #[test]
    fn words_of_the_original_client_get_advice_and_the_usage_of_the_client() {
        for (word, wanted) in [("-s", "--server URL"), ("-d", "--old"), ("-f", "--frontier")] {
            let text = of("shoal", &["client", "--server", "http://h/", word]);
            assert!(text.contains(wanted), "{text}");
            assert!(text.contains("Usage: plimsoll shoal client"), "{text}");
        }
        let text = of("shoal", &["agent", "--server", "http://h/", "--nonsense"]);
        assert!(text.contains("Usage: plimsoll shoal agent"), "{text}");
    }

    #[test]
    fn advice_names_options_that_there_are_and_is_given_for_none_of_our_own() {
        let program = Arguments::command();
        let load = program.find_subcommand("load").unwrap();
        let client = program.find_subcommand("shoal").unwrap().find_subcommand("client").unwrap();
        let all = WORDS.iter().map(|of| (load, of));
        for (command, (name, hint)) in all.chain(SHOAL_WORDS.iter().map(|of| (client, of))) {
            let longs: Vec<&str> =
                command.get_arguments().filter_map(clap::Arg::get_long).collect();
            let shorts: Vec<char> =
                command.get_arguments().filter_map(clap::Arg::get_short).collect();
            let is_ours = match name.strip_prefix("--") {
                Some(long) => longs.contains(&long),
                None => shorts.iter().any(|short| name[1..] == short.to_string()),
            };
            assert!(!is_ours, "{name} is an option of this program");
            for word in options_of(hint) {
                assert!(longs.contains(&word), "--{word} is no option of this program");
            }
        }
    }
}
