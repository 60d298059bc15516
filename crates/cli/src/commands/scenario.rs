//! `plimsoll scenario`: scenarios of what was recorded.

use crate::exit::Exit;
use crate::files::check_place;
use crate::scenario_args::{FromHar, FromLog, ScenarioCommand};
use crate::terminal::error::{Context, Result, read};
use crate::terminal::{print, say};
use plimsoll_plan::scenario_schema;
use plimsoll_units::failure::FileError;
use plimsoll_units::{ParseError, count, duration, nearest, show_count, show_duration};
use plimsoll_workload::access_log::LogFormat;
use plimsoll_workload::scenario::from_log::{self, By, LogOptions, LogScenario};
use plimsoll_workload::scenario::har::{self, HarScenario};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Runs the command.
pub(crate) fn run(command: &ScenarioCommand) -> Result<Exit> {
    match command {
        ScenarioCommand::Try(args) => super::scenario_try::run(args),
        ScenarioCommand::FromHar(args) => from_har(args),
        ScenarioCommand::FromLog(args) => from_log(args),
        ScenarioCommand::Schema => {
            print(&format!("{:#}\n", scenario_schema()))?;
            Ok(Exit::Held)
        }
    }
}

fn from_har(args: &FromHar) -> Result<Exit> {
    args.output.iter().try_for_each(|path| check_place("the scenario", path))?;
    let file = open("read the recording", &args.recording)?;
    let scenario = har::convert_hosts(file, &name_of(&args.recording), &args.hosts)?;
    write(args.output.as_deref(), &scenario.text)?;
    if args.json {
        print(&format!("{:#}\n", har_json(&scenario)))?;
        return Ok(Exit::Held);
    }
    let HarScenario { server, requests, steps, static_files, redirects, .. } = &scenario;
    say(&format!(
        "{} requests, of {server}: {} steps, {} static files, {} redirects that are followed; \
         users think {} times, {} in all",
        show_count(*requests as u64),
        show_count(*steps as u64),
        show_count(*static_files as u64),
        show_count(*redirects as u64),
        show_count(scenario.thinks as u64),
        show_duration(scenario.think_ms.saturating_mul(1_000_000)),
    ));
    scenario.remarks().iter().for_each(|remark| say(&format!("note: {remark}")));
    Ok(Exit::Held)
}

fn from_log(args: &FromLog) -> Result<Exit> {
    let pages = |text: &str| {
        let wrong = || ParseError::new("1 page or more, up to 1000", text, 0, text.len());
        let pages = usize::try_from(count(text)?).map_err(|_| wrong())?;
        if (1..=1000).contains(&pages) { Ok(pages) } else { Err(wrong()) }
    };
    let options = LogOptions {
        by: read("--by", &args.by, by)?,
        gap_s: read("--gap", &args.gap, gap_s)?,
        pages: read("--pages", &args.pages, pages)?,
        format: args
            .format
            .as_ref()
            .map(|text| read("--format", text, str::parse::<LogFormat>))
            .transpose()?,
    };
    args.output.iter().try_for_each(|path| check_place("the scenario", path))?;
    let opened = |path: &PathBuf| Ok((open("read the access log", path)?, name_of(path)));
    let logs = args.logs.iter().map(opened).collect::<Result<Vec<_>>>()?;
    let scenario = from_log::convert(logs, &options)?;
    write(args.output.as_deref(), &scenario.text)?;
    if args.json {
        print(&format!("{:#}\n", log_json(&scenario)))?;
        return Ok(Exit::Held);
    }
    say(&format!(
        "{}: {} lines, {} requests in {}; {} sessions, {} pages, {} static files",
        scenario.format,
        show_count(scenario.lines),
        show_count(scenario.requests),
        show_duration(scenario.span_s.unsigned_abs().saturating_mul(1_000_000_000)),
        show_count(scenario.sessions),
        show_count(scenario.pages),
        show_count(scenario.static_files),
    ));
    scenario.remarks().iter().for_each(|remark| say(&format!("note: {remark}")));
    Ok(Exit::Held)
}

fn by(text: &str) -> Result<By, ParseError> {
    let wanted = "`address`, or a cookie by its name, such as cookie:sid";
    if text == "address" {
        return Ok(By::Address);
    }
    let Some((word, name)) = text.split_once(':') else {
        let error = ParseError::new(wanted, text, 0, text.len());
        return Err(match nearest(text, ["address", "cookie"]) {
            Some("cookie") => error.hint("name the cookie: cookie:NAME"),
            Some(known) => error.hint(format!("did you mean `{known}`?")),
            None => error,
        });
    };
    let is_letter = |c: char| c.is_ascii_graphic() && !matches!(c, '=' | ';' | ',' | '"' | '\\');
    if word != "cookie" {
        return Err(ParseError::new(wanted, word, 0, word.len()));
    }
    if name.is_empty() || !name.chars().all(is_letter) {
        return Err(ParseError::new("the name of a cookie", name, word.len() + 1, name.len()));
    }
    Ok(By::Cookie(name.to_owned()))
}

/// A gap in whole seconds.
fn gap_s(text: &str) -> Result<u32, ParseError> {
    let wrong = || ParseError::new("a time from 1s to 30d", text, 0, text.len());
    let seconds = u32::try_from(duration(text)?.as_secs()).map_err(|_| wrong())?;
    if (1..=30 * 86_400).contains(&seconds) { Ok(seconds) } else { Err(wrong()) }
}

fn open(deed: &'static str, path: &Path) -> Result<File> {
    let failed = FileError::of(deed, path);
    let file = File::open(path).map_err(&failed)?;
    if file.metadata().map_err(&failed)?.is_dir() {
        return Err(failed(std::io::ErrorKind::IsADirectory.into()).into());
    }
    Ok(file)
}

/// What the file is called in texts.
fn name_of(path: &Path) -> String {
    path.display().to_string()
}

/// Writes a scenario to its file, or prints it.
fn write(output: Option<&Path>, text: &str) -> Result<()> {
    match output {
        None => Ok(print(text)?),
        Some(path) => {
            std::fs::write(path, text).with_context(|| format!("write {}", path.display()))
        }
    }
}

fn har_json(scenario: &HarScenario) -> serde_json::Value {
    let left_out = &scenario.left_out;
    serde_json::json!({
        "schema": 1,
        "warnings": scenario.remarks(),
        "server": scenario.server,
        "hosts": scenario.hosts,
        "requests": scenario.requests,
        "steps": scenario.steps,
        "static_files": scenario.static_files,
        "redirects": scenario.redirects,
        "thinks": scenario.thinks,
        "think_s": scenario.think_ms as f64 / 1e3,
        "secrets": scenario.secrets,
        "tokens": scenario.tokens,
        "unjudged": scenario.unjudged,
        "still_there": scenario.still_there,
        "left_out": {
            "hosts": left_out.hosts,
            "methods": left_out.methods,
            "without_answer": left_out.without_answer,
            "websockets": left_out.websockets,
            "event_streams": left_out.event_streams,
            "long_polls": left_out.long_polls,
            "not_http": left_out.not_http,
            "bodies": left_out.bodies,
            "incomplete": left_out.incomplete,
            "cached": left_out.cached,
            "headers": left_out.headers,
            "files": left_out.files,
        },
    })
}

fn log_json(scenario: &LogScenario) -> serde_json::Value {
    let left_out = &scenario.left_out;
    serde_json::json!({
        "schema": 1,
        "warnings": scenario.remarks(),
        "format": scenario.format,
        "lines": scenario.lines,
        "unreadable": scenario.unreadable,
        "requests": scenario.requests,
        "sessions": scenario.sessions,
        "pages": scenario.pages,
        "distinct_pages": scenario.distinct,
        "static_files": scenario.static_files,
        "think": scenario.think.map(|think| think.to_string()),
        "think_s": scenario.think_s,
        "duration_s": scenario.span_s,
        "left_out": {
            "methods": left_out.methods,
            "failed": left_out.failed,
            "without_url": left_out.without_url,
            "without_client": left_out.without_client,
            "beyond": left_out.beyond,
            "seldom": left_out.seldom,
            "hosts": left_out.hosts,
        },
    })
}
