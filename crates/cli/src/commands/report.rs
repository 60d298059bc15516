//! `plimsoll report`: one HTML page of one run or several.

use crate::args::Report;
use crate::commands::simulate;
use crate::exit::Exit;
use crate::found;
use crate::terminal::error::{Context, Result, UsageError};
use crate::terminal::print;
use plimsoll_elastic::course::FILE;
use plimsoll_report::{Source, document};
use plimsoll_runs::experiment::{Experiment, is_experiment};
use plimsoll_runs::{Kind, Run};
use std::path::Path;

/// Runs the command.
pub(crate) fn run(args: &Report) -> Result<Exit> {
    let mut folders = Vec::new();
    for named in &args.runs {
        folders.extend(found::all(named)?);
    }
    if args.runs.is_empty() {
        folders.push(found::one(None)?);
    }
    if let [folder] = &folders[..]
        && folder.join(FILE).is_file()
    {
        let path = args.output.clone().unwrap_or_else(|| folder.join("report.html"));
        simulate::write_report(&simulate::open(folder)?, &path)?;
        print(&format!("{}\n", path.display()))?;
        return Ok(Exit::Held);
    }
    let runs = folders.iter().map(|path| opened(path)).collect::<Result<Vec<_>>>()?;
    let beside = || folders[0].join("artifacts").join("report.html");
    let path = args.output.clone().unwrap_or_else(beside);
    write(&runs, &path, args.title.clone())?;
    print(&format!("{}\n", path.display()))?;
    Ok(Exit::Held)
}

/// A run: an experiment has no page as a whole, but its cells have.
fn opened(path: &Path) -> Result<Run> {
    if is_experiment(path) {
        let instead = match Experiment::open(path)?.meta().kind {
            Kind::Caches => "write it while they are compared, by `cache simulate … --report FILE`",
            Kind::Pool => "it is written when the simulation ends; `simulate` it again",
            Kind::Load | Kind::Search | Kind::Tune => "`runs show` prints its figures",
        };
        let shown = path.display();
        let text = format!("write the page of the experiment {shown}: it has none; {instead}");
        return Err(UsageError(text).into());
    }
    Ok(Run::open(path)?)
}

/// Writes the page of some runs.
pub(crate) fn write(runs: &[Run], path: &Path, title: Option<String>) -> Result<()> {
    let page = document(Source::Runs(runs), title)?.html();
    let unfinished = path.with_extension("html.tmp");
    std::fs::write(&unfinished, page)
        .and_then(|()| std::fs::rename(&unfinished, path))
        .with_context(|| format!("write the report to {}; choose a place by -o", path.display()))
}
