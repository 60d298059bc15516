//! Options of other load generators, and what says the same here: wrk and wrk2, hey, oha, k6, ab.
//!
//! Someone who knows one of these types its words first. An option of this program that merely
//! looks like them (`--vus`, `--value-size`) would be the wrong advice.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// An option of another program, and what to write in its place.
const OPTIONS: [(&[&str], &str); 14] = [
    (
        &["-d"],
        "--for 30s says how long, as -d of wrk; --body TEXT what is sent, as -d of hey and oha",
    ),
    (&["-z", "--duration", "--time"], "--for 30s says how long"),
    (
        &["-n", "--requests", "--iterations"],
        "a load is as long as --for says, at --rate or by --users",
    ),
    (
        &["-u", "--vus", "--concurrency"],
        "--users 64 is how many ask at once, each for the next when answered",
    ),
    (&["-R", "-q", "--rps", "--query-per-second"], "--rate 500/s is how many requests are offered"),
    (
        &["-s", "--stages", "--stage"],
        "--schedule '100/s for 1m, 100/s..600/s in 10m' is a rate that changes",
    ),
    (&["-m", "--request"], "-X METHOD is the method"),
    (
        &["-D", "-p", "--data", "--data-raw", "--body-file-path"],
        "--body TEXT or --body-file FILE is what is sent",
    ),
    (&["-T", "-A", "-C"], "-H 'Name: value' adds a header, whichever it is"),
    (&["-a", "--user"], "--basic USER:PASSWORD authenticates"),
    (&["--latency", "-L", "--summary-trend-stats"], "percentiles are always shown"),
    (&["--disable-keepalive"], "--connection per-request opens a connection for each request"),
    (&["--threads-count", "-w", "--workers"], "--threads N is how many threads there are"),
    (
        &["--output", "-o", "--summary-export"],
        "--json prints the summary, --report FILE writes a page, --out FOLDER keeps the run",
    ),
];

/// Gives an error about an unknown option of a load the advice that fits, in the place of a guess.
pub(crate) fn advise(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument || !is_of_a_load(&error) {
        return error;
    }
    let Some(ContextValue::String(asked)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    if let Some(hint) = hint(asked) {
        error.remove(ContextKind::SuggestedArg);
        // That of the guess.
        error.remove(ContextKind::Usage);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
    error
}

/// Whether the command offers a load.
fn is_of_a_load(error: &clap::Error) -> bool {
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    ["plimsoll load", "plimsoll capacity"].iter().any(|command| usage.contains(command))
}

/// What is to be written in the place of an option, if it is one of another program.
fn hint(asked: &str) -> Option<&'static str> {
    let name = asked.split('=').next().unwrap_or_default();
    OPTIONS.iter().find(|(names, _)| names.contains(&name)).map(|(_, hint)| *hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Arguments;
    use clap::{CommandFactory as _, Parser as _};

    fn advice(words: &[&str]) -> String {
        let words = ["plimsoll", "load", "http://127.0.0.1:1/"].iter().chain(words);
        advise(Arguments::try_parse_from(words).err().unwrap()).render().to_string()
    }

    #[test]
    fn words_of_other_programs_get_the_advice_that_fits() {
        for (word, wanted) in [
            ("-d", "--for 30s"),
            ("-n", "--for says"),
            ("--duration", "--for 30s"),
            ("--duration=30s", "--for 30s"),
            ("--vus", "--users 64"),
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
        for (names, hint) in OPTIONS {
            for name in names {
                let is_ours = match name.strip_prefix("--") {
                    Some(long) => longs.contains(&long),
                    None => shorts.iter().any(|short| name[1..] == short.to_string()),
                };
                assert!(!is_ours, "{name} is an option of this program");
            }
            for word in hint.split([' ', ',', ';']).filter(|word| word.starts_with("--")) {
                assert!(longs.contains(&&word[2..]), "{word} is no option of this program");
            }
        }
    }
}
