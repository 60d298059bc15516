//! `plimsoll report`: one HTML page of one run or several.

use crate::args::Report;
use crate::exit::Exit;
use crate::found;
use crate::terminal::error::{Context, Result, UsageError};
use crate::terminal::print;
use plimsoll_report::{Source, document};
use plimsoll_runs::Run;
use plimsoll_runs::experiment::{Experiment, is_experiment};
use std::path::Path;

/// The flag of this command, and that of others, which say where a page goes.
const FLAG: &str = "-o";
pub(crate) const REPORT: &str = "--report";

/// Runs the command.
pub(crate) fn run(args: &Report) -> Result<Exit> {
    let mut folders = Vec::new();
    // The journal of replications stands beside their folders.
    let beside = match &args.runs[..] {
        [] => {
            folders.push(found::one(None)?);
            None
        }
        [named] => found::journal(named),
        _ => None,
    };
    for named in args.runs.iter().filter(|_| beside.is_none()) {
        folders.extend(found::all(named)?);
    }
    if let (Some(one), 2..) = (folders.iter().find(|path| is_experiment(path)), folders.len()) {
        let one = one.display();
        let text = format!("write one page of the experiment {one} and others: name it alone");
        return Err(UsageError(text).into());
    }
    let experiment = beside.as_ref().or(folders.first().filter(|path| is_experiment(path)));
    let of = experiment.unwrap_or_else(|| &folders[0]);
    let path = args.output.clone().unwrap_or_else(|| match (experiment, of.is_dir()) {
        (None, _) => of.join("artifacts").join("report.html"),
        (Some(_), true) => of.join("report.html"),
        (Some(_), false) => of.with_extension("report.html"),
    });
    let title = args.title.clone();
    match experiment {
        Some(folder) => {
            write(Source::Experiment(&Experiment::open(folder)?), (&path, FLAG), title)?;
        }
        None => {
            let runs = folders.iter().map(|path| Run::open(path)).collect::<Result<Vec<_>, _>>()?;
            write(Source::Runs(&runs), (&path, FLAG), title)?;
        }
    }
    print(&format!("{}\n", path.display()))?;
    Ok(Exit::Held)
}

/// Writes the page of what a command has left: a run or an experiment.
pub(crate) fn write_page(folder: &Path, path: &Path) -> Result<()> {
    if is_experiment(folder) {
        write(Source::Experiment(&Experiment::open(folder)?), (path, REPORT), None)
    } else {
        write(Source::Runs(&[Run::open(folder)?]), (path, REPORT), None)
    }
}

/// Writes a page to where a flag says.
pub(crate) fn write(
    source: Source<'_>,
    (path, flag): (&Path, &str),
    title: Option<String>,
) -> Result<()> {
    let page = document(source, title)?.html();
    let unfinished = path.with_extension("html.tmp");
    std::fs::write(&unfinished, page)
        .and_then(|()| std::fs::rename(&unfinished, path))
        .with_context(|| {
            format!("write the report to {}; choose a place by {flag}", path.display())
        })
}
