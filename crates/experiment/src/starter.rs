//! The path from an access log to an answer: a plan to start from, made of a log and of what was
//! said beside it.
//!
//! The plan is a text for people: what was said stands in it, what was assumed stands in it with a
//! comment, and the log is named, not copied. It is written once. A text that is there already is
//! used again where it is the same; another one is never written over: the next free number is
//! taken.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use plimsoll_plan::{LoadShape, RateSource, Setting, Written};
use plimsoll_units::failure::FileError;
use plimsoll_workload::access_log::LogFormat;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::trace::{Trace, TraceOptions};

use crate::error::ExperimentError;
use crate::plans;

/// The first line of such a plan.
const HEAD: &str = "# A plan to start from, made by";
/// How many names are tried for a plan beside others.
const MOST_NAMES: u32 = 1000;
/// The fewest instances that the plan lets a pool have.
const LEAST_MAX: u32 = 4;
/// The most instances that it asks for without being told so.
const MOST_MAX: u32 = 1000;
/// How busy the instances are with which a log begins.
const BUSY_SHARE: f64 = 0.8;
/// Over how long the busiest time is looked for, nanoseconds.
const BUSY_NS: u64 = 60_000_000_000;

/// What a plan is started from.
#[derive(Debug)]
pub struct Starter<'a> {
    /// The access logs, as they were named; at least one, by the first of which the plan is called.
    pub logs: &'a [PathBuf],
    /// How they are written, where that was said.
    pub format: Option<LogFormat>,
    /// What was said beside it, in the order in which it was.
    pub settings: Vec<Setting>,
    /// The command that asks for it, as it is typed.
    pub command: String,
}

impl Starter<'_> {
    /// The text of the plan, and what was assumed of the pool's size: a sentence, where something
    /// was.
    ///
    /// # Errors
    /// A log that cannot be read.
    pub fn text(&self) -> Result<(String, Option<String>), ExperimentError> {
        let mut assumed = Vec::new();
        let mut out = String::new();
        let _ = writeln!(out, "{HEAD}\n#     {}", self.command);
        out.push_str("# Predict with it: plimsoll run PLAN --simulated\n");
        let _ = writeln!(out, "\nname = {}", quoted(&stem(self.first())));
        self.keys("", &mut out);
        out.push_str("\n[load]\n");
        if !self.has("load.arrivals") {
            let have = if self.logs.len() > 1 { "the logs have" } else { "the log has" };
            let _ = writeln!(out, "# As many in each second as {have}, anywhere in it.");
            out.push_str("arrivals = \"random\"\n");
        }
        self.keys("load", &mut out);
        let files: Vec<String> =
            self.logs.iter().map(|log| quoted(&log.display().to_string())).collect();
        let file = match &files[..] {
            [only] => only.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let _ = writeln!(out, "\n[load.trace]\nfile = {file}");
        if let Some(format) = &self.format {
            let _ = writeln!(out, "format = {}", quoted(&format.to_string()));
        }
        self.keys("load.trace", &mut out);
        out.push_str("\n[pool]\n");
        let work = match self.has("pool.max") && self.has("pool.start") {
            true => None,
            false => self.work()?,
        };
        if !self.has("pool.max") {
            let (most, why) = self.most(work.as_ref());
            let _ = writeln!(out, "# {why}\nmax = {most}");
            assumed.push(format!("has {most} instances at most (`pool.max`)"));
        }
        if let Some(work) = work.filter(|_| !self.has("pool.start")) {
            let start = self.start(&work);
            out.push_str(
                "# What the work of the first minute takes at 80%: who wrote the log had\n",
            );
            let _ = writeln!(out, "# servers before it began.\nstart = {start}");
            assumed.push(format!("starts with {start}, by the log's first minute (`pool.start`)"));
        }
        self.keys("pool", &mut out);
        for section in self.sections() {
            let parts: Vec<String> = section.split('.').map(name).collect();
            let _ = writeln!(out, "\n[{}]", parts.join("."));
            self.keys(&section, &mut out);
        }
        let note = (!assumed.is_empty()).then(|| format!("the pool {}", assumed.join(", and ")));
        Ok((out, note))
    }

    /// The first of the logs.
    fn first(&self) -> &Path {
        self.logs.first().map_or(Path::new(""), PathBuf::as_path)
    }

    fn has(&self, key: &str) -> bool {
        self.settings.iter().any(|setting| setting.key == key)
    }

    /// The sections that only settings name, in the order in which they come.
    fn sections(&self) -> Vec<String> {
        let mut sections: Vec<String> = Vec::new();
        for setting in &self.settings {
            let (section, _) = split(&setting.key);
            let is_written = ["", "load", "load.trace", "pool"].contains(&section);
            if !is_written && sections.iter().all(|known| known != section) {
                sections.push(section.to_owned());
            }
        }
        sections
    }

    /// The keys of a section; of two settings of one key the later one holds.
    fn keys(&self, section: &str, out: &mut String) {
        for (at, setting) in self.settings.iter().enumerate() {
            let (of, key) = split(&setting.key);
            let is_last = self.settings[at + 1..].iter().all(|later| later.key != setting.key);
            if of == section && is_last {
                let _ = writeln!(out, "{} = {}", name(key), value(&setting.value));
            }
        }
    }

    /// What was said of a key.
    fn said(&self, key: &str) -> Option<&str> {
        let setting = self.settings.iter().rev().find(|setting| setting.key == key);
        setting.map(|setting| setting.value.as_str())
    }

    /// The work that the log has; `None` where it is not said how long a request takes.
    fn work(&self) -> Result<Option<Work>, ExperimentError> {
        let service = self.said("instance.service").and_then(|text| Distribution::parse(text).ok());
        let Some(service_s) = service.map(|service| service.mean()) else { return Ok(None) };
        let cores = self.said("instance.cores").and_then(|text| text.parse().ok());
        let trace = Trace::from_logs(self.logs, self.format.as_ref())?;
        // What is simulated is the log as it is cut and scaled.
        let options = self.options();
        let length_ns = trace.schedule(&options)?.0.duration_ns();
        // Of a log that is shorter than two minutes, its seconds.
        let every_ns = Some(BUSY_NS).filter(|every_ns| length_ns >= 2 * every_ns);
        let minutes = trace.resampled(&options, every_ns)?;
        let busy = minutes.rates.iter().fold(0.0, |most: f64, rate| most.max(*rate));
        // Of a log that is shorter than a minute, all of it.
        let seconds = if every_ns.is_some() { 1 } else { 60 };
        let first = &minutes.rates[..minutes.rates.len().min(seconds)];
        let first = first.iter().sum::<f64>() / first.len().max(1) as f64;
        let of_one_s = service_s / cores.unwrap_or(1.0_f64);
        let is_scaled = options.scale.is_some();
        Ok(Some(Work { busy, first, of_one_s, by_minutes: every_ns.is_some(), is_scaled }))
    }

    /// What is made of the log; nothing, where that cannot be read: whoever reads the plan says it.
    fn options(&self) -> TraceOptions {
        let mut text = "[load.trace]\nfile = \"log\"\n".to_owned();
        self.keys("load.trace", &mut text);
        text.push_str("[instance]\nservice = \"const:1ms\"\n[policy.any]\nkind = \"fixed\"\n");
        let plan = plans::read_simulated(&Written::text(&text, "plan.toml", &[]));
        match plan.map(|plan| plan.load.shape) {
            Ok(LoadShape::Open { source: RateSource::Trace(of), .. }) => of.options,
            _ => TraceOptions::default(),
        }
    }

    /// The most instances, and why: twice what the work of the busiest minute takes.
    fn most(&self, work: Option<&Work>) -> (u32, String) {
        let Some(work) = work else {
            return (LEAST_MAX * 5, "Instances at most; an assumption.".to_owned());
        };
        let why = format!(
            "Twice the work of the busiest {}, {:.1} requests a second, as {} it.",
            if work.by_minutes { "minute" } else { "second" },
            work.busy,
            match (work.is_scaled, self.logs.len()) {
                (true, _) => "--scale has",
                (false, 1) => "the log has",
                (false, _) => "the logs have",
            }
        );
        (whole(2.0 * work.busy * work.of_one_s).clamp(LEAST_MAX, MOST_MAX), why)
    }

    /// How many instances there are at the beginning, within the bounds of the pool.
    fn start(&self, work: &Work) -> u32 {
        let bound = |key: &str| self.said(key).and_then(|text| text.parse::<u32>().ok());
        let most = bound("pool.max").unwrap_or_else(|| self.most(Some(work)).0);
        let least = bound("pool.min").unwrap_or(1);
        whole(work.first * work.of_one_s / BUSY_SHARE).max(least).min(most)
    }
}

/// The work of a log.
#[derive(Debug)]
struct Work {
    /// Requests a second in its busiest minute, and in its first.
    busy: f64,
    first: f64,
    /// What a request takes of an instance, seconds.
    of_one_s: f64,
    /// Whether it is long enough for minutes, or these are of seconds.
    by_minutes: bool,
    /// Whether its rates were mapped to others.
    is_scaled: bool,
}

/// At least that many.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn whole(instances: f64) -> u32 {
    instances.ceil().max(0.0) as u32
}

/// Whether a file is a plan that was made of a log: a name that begins as the log's may be meant by
/// the same pattern.
#[must_use]
pub fn is_made(path: &Path) -> bool {
    let is_called_so = path.to_string_lossy().ends_with(".plan.toml");
    let mut head = [0; HEAD.len()];
    let mut read = || File::open(path).and_then(|mut file| file.read_exact(&mut head));
    is_called_so && read().is_ok() && head == HEAD.as_bytes()
}

/// Keeps a plan in a folder: its path, and whether it was there already.
///
/// # Errors
/// A folder that cannot be written, or with too many plans of that name.
pub fn keep(folder: &Path, log: &Path, text: &str) -> Result<(PathBuf, bool), ExperimentError> {
    let stem = stem(log);
    for number in 1..=MOST_NAMES {
        let name = match number {
            1 => format!("{stem}.plan.toml"),
            number => format!("{stem}.{number}.plan.toml"),
        };
        let path = folder.join(name);
        let failed = FileError::of("write the plan", &path);
        match File::create_new(&path) {
            Ok(mut file) => {
                file.write_all(text.as_bytes()).map_err(failed)?;
                return Ok((path, false));
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let there = std::fs::metadata(&path).map_err(&failed)?;
                let may_be_same = there.is_file() && there.len() == text.len() as u64;
                if may_be_same && std::fs::read(&path).map_err(failed)? == text.as_bytes() {
                    return Ok((path, true));
                }
            }
            Err(error) => return Err(failed(error).into()),
        }
    }
    let text = format!("write the plan {stem}.plan.toml: {MOST_NAMES} others are there");
    Err(ExperimentError::Conflict(text))
}

/// What a log is called without what its name ends in: `access` of `access.log.gz`.
fn stem(log: &Path) -> String {
    let name = log.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let ends = [".log", ".txt", ".json", ".jsonl"];
    let name = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    if name.is_empty() { "log".to_owned() } else { name.to_owned() }
}

/// The section and the name of a key.
fn split(key: &str) -> (&str, &str) {
    key.rsplit_once('.').unwrap_or(("", key))
}

/// A name as TOML has it: bare where it may be.
fn name(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !key.is_empty() && key.chars().all(is_bare) { key.to_owned() } else { quoted(key) }
}

/// A value as TOML has it: numbers, switches and lists as they are, everything else in quotes.
fn value(text: &str) -> String {
    let is_number = text.parse::<f64>().is_ok_and(f64::is_finite)
        && text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
        && !text.ends_with('.')
        && (!text.starts_with('0') || text == "0" || text.starts_with("0."));
    if is_number || matches!(text, "true" | "false") {
        return text.to_owned();
    }
    quoted(text)
}

/// A text in double quotes, as TOML and JSON both have it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_names_are_as_toml_has_them() {
        for (text, expected) in [
            ("0.17", "0.17"),
            ("5", "5"),
            ("true", "true"),
            ("exp:70ms", "\"exp:70ms\""),
            ("1.", "\"1.\""),
            ("007", "\"007\""),
            ("inf", "\"inf\""),
            ("a \"b\"", r#""a \"b\"""#),
        ] {
            assert_eq!(value(text), expected);
            let whole = format!("{} = {}", name("a b"), value(text));
            assert!(whole.parse::<toml_edit::DocumentMut>().is_ok(), "{whole}");
        }
        for (log, expected) in [
            ("logs/access.log.gz", "access"),
            ("access.log.1", "access.log.1"),
            (".log", "log"),
            ("u_ex260303.txt", "u_ex260303"),
        ] {
            assert_eq!(stem(Path::new(log)), expected);
        }
    }

    #[test]
    fn a_plan_is_never_written_over_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = Path::new("access.log");
        let kept = |text: &str| {
            let (path, was_there) = keep(folder.path(), log, text).expect("a place");
            (path.file_name().expect("a name").to_string_lossy().into_owned(), was_there)
        };
        assert_eq!(kept("a"), ("access.plan.toml".to_owned(), false));
        assert_eq!(kept("a"), ("access.plan.toml".to_owned(), true));
        assert_eq!(kept("b"), ("access.2.plan.toml".to_owned(), false));
        assert_eq!(kept("c"), ("access.3.plan.toml".to_owned(), false));
        assert_eq!(kept("b"), ("access.2.plan.toml".to_owned(), true));
    }
}
