//! What the clients of a benchmark do, as a scenario.

use std::path::Path;

use plimsoll_plan::{Environment, WrittenScenario, read_scenario};
use plimsoll_workload::request::Url;
use plimsoll_workload::scenario::Scenario;

use super::Settings;
use crate::error::ExperimentError;
use crate::prepare::Place;

/// The name of the step that sends a message and awaits its answer.
pub(super) const SAMPLE: &str = "sample";
/// Those who speak wait so long when they are there, so that all of them are.
pub(super) const SETTLE_NS: u64 = 250_000_000;

/// Reads the scenario of a benchmark.
///
/// # Errors
/// A header that a scenario does not take.
pub(super) fn read(
    settings: &Settings,
    url: &Url,
    place: &Place<'_>,
) -> Result<Scenario, ExperimentError> {
    // By this those messages are told apart that are none of ours.
    let run = format!("{:x}", (place.now_ns)());
    let text = text(settings, &url.target, &run);
    let rows = rows(settings);
    let open = |_: &Path| Ok(rows.clone().into_bytes());
    let environment = Environment::Of(place.environment);
    let (text, origin, places, open) = (text.as_str(), "the benchmark", None, &open);
    Ok(read_scenario(&WrittenScenario { text, origin, environment, places, open })?)
}

/// Who of a step speaks: those who come last, when all others are there.
fn rows(settings: &Settings) -> String {
    let listens = settings.step - settings.concurrent;
    let row = |at| if at < listens { "no\n" } else { "yes\n" };
    std::iter::once("speaks\n").chain((0..settings.step).map(row)).collect()
}

/// The scenario: the file beside this one, filled in.
fn text(settings: &Settings, target: &str, run: &str) -> String {
    let header = |(name, value): &(String, String)| format!("{} = {}", quoted(name), quoted(value));
    let headers: Vec<String> = settings.headers.iter().map(header).collect();
    let headers = match headers.as_slice() {
        [] => String::new(),
        some => format!("headers = {{ {} }}", some.join(", ")),
    };
    // What a person has written comes last: nothing is filled in there.
    let parts = [
        ("@SETTLE@", format!("{}ms", SETTLE_NS / 1_000_000)),
        ("@ROUNDS@", (settings.samples / settings.concurrent).to_string()),
        ("@SAMPLE@", SAMPLE.to_owned()),
        ("@KIND@", settings.kind.name().to_owned()),
        ("@ANSWER@", settings.kind.answer().to_owned()),
        // What comes twice is seen by its number.
        ("@HEARD@", settings.kind.name().to_owned()),
        ("@RUN@", run.to_owned()),
        ("@PADDING@", "x".repeat(usize::try_from(settings.padding).unwrap_or(0))),
        ("@TARGET@", quoted(target)),
        ("@HEADERS@", headers),
    ];
    let text = include_str!("clients.toml").to_owned();
    parts.iter().fold(text, |text, (name, value)| text.replace(name, value))
}

/// A text of TOML: its escapes are those of JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wsbench::Kind;
    use crate::wsbench::tests::settings;

    #[test]
    fn a_scenario_is_made_that_is_read() {
        for kind in [Kind::Echo, Kind::Broadcast] {
            let headers = vec![("Origin".to_owned(), "a \"quoted\" one".to_owned())];
            let settings = Settings { headers, ..settings(kind) };
            let text = text(&settings, "/ws?a=1", "7f");
            let rows = rows(&settings);
            assert_eq!(rows.lines().filter(|line| *line == "yes").count(), 4);
            assert!(rows.ends_with("yes\n") && rows.lines().count() == 11, "{rows}");
            let open = |_: &Path| Ok(rows.clone().into_bytes());
            let written = WrittenScenario {
                text: &text,
                origin: "test",
                environment: Environment::Unread,
                places: None,
                open: &open,
            };
            let scenario = read_scenario(&written);
            let scenario = scenario.unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert!(scenario.names().iter().any(|name| name.name == SAMPLE), "{text}");
            assert!(text.contains(r#""padding":"xxx"}}', expect"#), "{text}");
            assert!(!text.contains('@'), "all is filled in: {text}");
        }
    }
}
