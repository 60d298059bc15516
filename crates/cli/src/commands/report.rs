//! `plimsoll report`: one HTML page of one run or several.

use crate::args::Report;
use crate::exit::Exit;
use crate::named_record;
use crate::terminal::error::{Context, Result, UsageError};
use crate::terminal::print;
use plimsoll_analysis::analyse;
use plimsoll_report::{Document, Source, document};
use plimsoll_runs::experiment::{self, Experiment, Layout, is_experiment};
use plimsoll_runs::{Run, replace};
use std::path::{Path, PathBuf};

/// The flag of this command, and that of others, which say where a page goes.
const FLAG: &str = "-o";
pub(crate) const REPORT: &str = "--report";
pub(crate) const WEB: &str = "--out";

/// Runs the command.
pub(crate) fn run(args: &Report) -> Result<Exit> {
    let mut folders = Vec::new();
    // The journal of replications stands beside their folders.
    let beside = match &args.runs[..] {
        [] => {
            folders.push(named_record::one(None)?);
            None
        }
        [named] => named_record::journal(named),
        _ => None,
    };
    for named in args.runs.iter().filter(|_| beside.is_none()) {
        folders.extend(named_record::all(named)?);
    }
    if folders.iter().any(|path| is_experiment(path)) && folders.len() > 1 {
        return worlds(args, &folders);
    }
    let named = beside.as_ref().or(folders.first().filter(|path| is_experiment(path)));
    let of = named.unwrap_or_else(|| &folders[0]);
    let path = args.output.clone().unwrap_or_else(|| place(of));
    let title = args.title.clone();
    match named {
        Some(folder) => {
            let experiment = Experiment::open(folder)?;
            let analysis = analyse(&experiment)?;
            write(Source::Experiment(&experiment, &analysis), (&path, FLAG), title)?;
        }
        None => {
            let runs = folders.iter().map(|path| Run::open(path)).collect::<Result<Vec<_>, _>>()?;
            write(Source::Runs(&runs), (&path, FLAG), title)?;
        }
    }
    print(&format!("{}\n", path.display()))?;
    Ok(Exit::Held)
}

/// One page of a live experiment and the same one simulated.
fn worlds(args: &Report, folders: &[PathBuf]) -> Result<Exit> {
    let refused = || {
        let text = "write one page of several experiments: name one, or a live and a simulated one \
                    of the same plan";
        UsageError(text.to_owned())
    };
    let ([one, other], true) = (folders, folders.iter().all(|path| is_experiment(path))) else {
        return Err(refused().into());
    };
    let opened = [Experiment::open(one)?, Experiment::open(other)?];
    let analysed = [analyse(&opened[0])?, analyse(&opened[1])?];
    let world = |at: usize| analysed[at].cells.first().map(|cell| cell.world);
    let (live, simulated) = match (world(0), world(1)) {
        (Some("live"), Some("simulated")) => (0, 1),
        (Some("simulated"), Some("live")) => (1, 0),
        _ => return Err(refused().into()),
    };
    let path = args.output.clone().unwrap_or_else(|| folders[live].join("worlds.html"));
    let side = |at: usize| (&opened[at], &analysed[at]);
    let source = Source::Worlds { live: side(live), simulated: side(simulated) };
    write(source, (&path, FLAG), args.title.clone())?;
    print(&format!("{}\n", path.display()))?;
    Ok(Exit::Held)
}

/// Where the page of a run or an experiment goes unless somebody says where.
pub(crate) fn place(of: &Path) -> PathBuf {
    match experiment::place(of) {
        None => of.join("artifacts").join("report.html"),
        Some((_, Layout::Within)) => of.join("report.html"),
        Some((_, Layout::Beside)) => of.with_extension("report.html"),
    }
}

/// The page of what a command has left: a run or an experiment.
pub(crate) fn page(of: &Path) -> Result<Document> {
    if experiment::place(of).is_some() {
        let experiment = Experiment::open(of)?;
        let analysis = analyse(&experiment)?;
        Ok(document(Source::Experiment(&experiment, &analysis), None)?)
    } else {
        Ok(document(Source::Runs(&[Run::open(of)?]), None)?)
    }
}

/// Writes the page of what a command has left.
pub(crate) fn write_page(of: &Path, path: &Path) -> Result<()> {
    keep(&page(of)?, (path, REPORT))
}

/// Writes a page to where a flag says.
pub(crate) fn write(
    source: Source<'_>,
    (path, flag): (&Path, &str),
    title: Option<String>,
) -> Result<()> {
    keep(&document(source, title)?, (path, flag))
}

/// Keeps a page where a flag says.
pub(crate) fn keep(page: &Document, (path, flag): (&Path, &str)) -> Result<()> {
    replace(path, page.html().as_bytes()).with_context(|| {
        format!("write the report to {}; choose a place by {flag}", path.display())
    })
}
