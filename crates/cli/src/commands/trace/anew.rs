//! `plimsoll trace scale` and `plimsoll trace resample`: traces that are written anew.

use super::write;
use crate::exit::Exit;
use crate::files::check_place;
use crate::terminal::error::{Result, UsageError, read};
use crate::terminal::{print, say};
use crate::trace_args::{Resample, Scale, Source};
use plimsoll_experiment::prepare::of_run;
use plimsoll_units::{ParseError, duration, rate, show_count, show_duration};
use plimsoll_workload::access_log::LogFormat;
use plimsoll_workload::trace::{Moment, Resampled, Trace, TraceOptions, check_columns};
use std::path::Path;
use std::time::Duration;

/// Reads a trace.
pub(super) fn open(of: &Source) -> Result<Trace> {
    let format = of.log_format.as_ref();
    let format = format.map(|text| read("--log-format", text, LogFormat::parse)).transpose()?;
    let interval = of.counts_per.as_ref();
    let interval = interval.map(|text| read("--counts-per", text, duration)).transpose()?;
    let columns = of.columns.as_ref();
    let columns = columns.map(|text| read("--columns", text, check_columns)).transpose()?;
    if format.is_some() && (interval.is_some() || columns.is_some()) {
        let text = "read the trace: --log-format is of an access log, --columns and --counts-per \
                    are of a table";
        return Err(UsageError(text.to_owned()).into());
    }
    if of.trace.is_dir() {
        let is_said = format.is_some() || interval.is_some() || columns.is_some();
        if is_said {
            let text =
                "read a run as a trace: --log-format, --columns and --counts-per are of files";
            return Err(UsageError(text.to_owned()).into());
        }
        return Ok(of_run(&of.trace)?.0);
    }
    Ok(match format {
        Some(format) => Trace::from_log(&of.trace, Some(&format))?,
        None => Trace::read_as(&of.trace, interval, columns.as_deref())?,
    })
}

/// Runs `plimsoll trace scale`.
pub(super) fn scale(args: &Scale) -> Result<Exit> {
    let by = args.by.as_ref().map(|text| read("--by", text, factor)).transpose()?;
    let moment = |flag: &'static str, text: &Option<String>| {
        text.as_ref().map(|text| read(flag, text, Moment::parse)).transpose()
    };
    let speed = args.speed.as_ref().map(|text| read("--speed", text, factor)).transpose()?;
    let options = TraceOptions {
        scale: args.to.as_ref().map(|text| read("--to", text, rates)).transpose()?,
        from: moment("--from", &args.from)?,
        to: moment("--until", &args.until)?,
        speed: speed.unwrap_or(1.0),
        ..TraceOptions::default()
    };
    if by.is_none() && options == TraceOptions::default() {
        let text = "scale a trace by nothing: give --by, --to, --from, --until or --speed";
        return Err(UsageError(text.to_owned()).into());
    }
    if let Some(path) = &args.output {
        check_place("the trace", path)?;
    }
    let trace = open(&args.of)?;
    let made = trace.resampled(&options, None)?.times(by.unwrap_or(1.0));
    give(&trace, &made, args.output.as_deref())
}

/// Runs `plimsoll trace resample`.
pub(super) fn resample(args: &Resample) -> Result<Exit> {
    let every = read("--every", &args.every, |text| match duration(text)? {
        Duration::ZERO => Err(ParseError::new("a duration above zero", text, 0, text.len())),
        every => Ok(u64::try_from(every.as_nanos()).unwrap_or(u64::MAX)),
    })?;
    if let Some(path) = &args.output {
        check_place("the trace", path)?;
    }
    let trace = open(&args.of)?;
    let made = trace.resampled(&TraceOptions::default(), Some(every))?;
    give(&trace, &made, args.output.as_deref())
}

/// Writes a trace to a file, or prints it.
fn give(of: &Trace, made: &Resampled, path: Option<&Path>) -> Result<Exit> {
    match path {
        Some(path) => write(path, |out| made.write_csv(out))?,
        None => {
            let mut text = Vec::new();
            made.write_csv(&mut text)?;
            print(&String::from_utf8_lossy(&text))?;
        }
    }
    for remark in of.remarks() {
        say(&format!("note: {remark}"));
    }
    let rows = show_count(made.rates.len() as u64);
    say(&format!("{rows} rows of {}", show_duration(made.every_ns)));
    Ok(Exit::Held)
}

/// A number above zero.
fn factor(text: &str) -> Result<f64, ParseError> {
    let number = text.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor > 0.0);
    number.ok_or_else(|| ParseError::new("a number above zero", text, 0, text.len()))
}

/// `35/s..600/s`.
fn rates(text: &str) -> Result<(f64, f64), ParseError> {
    let Some((low, high)) = text.split_once("..") else {
        return Err(ParseError::new("two rates such as 35/s..600/s", text, 0, text.len()));
    };
    let at = low.len() + 2;
    let (low, high) = (rate(low)?, rate(high).map_err(|error| error.shifted(at))?);
    if high < low || high <= 0.0 {
        let wanted = "the least rate first, the greatest above zero";
        return Err(ParseError::new(wanted, text, 0, text.len()));
    }
    Ok((low, high))
}
