//! `plimsoll report`: one HTML page of one run or several.

use crate::args::Report;
use crate::commands::simulate;
use crate::exit::Exit;
use crate::found;
use crate::terminal::print;
use anyhow::{Context, Result};
use plimsoll_elastic::course::FILE;
use plimsoll_report::{Options, html};
use plimsoll_runs::Run;
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
    let runs = folders.iter().map(|path| Run::open(path)).collect::<Result<Vec<_>, _>>()?;
    let beside = || folders[0].join("artifacts").join("report.html");
    let path = args.output.clone().unwrap_or_else(beside);
    write(&runs, &path, args.title.clone())?;
    print(&format!("{}\n", path.display()))?;
    Ok(Exit::Held)
}

/// Writes the page of some runs.
pub(crate) fn write(runs: &[Run], path: &Path, title: Option<String>) -> Result<()> {
    let page = html(runs, &Options { title })?;
    let unfinished = path.with_extension("html.tmp");
    std::fs::write(&unfinished, page)
        .and_then(|()| std::fs::rename(&unfinished, path))
        .with_context(|| format!("write the report to {}; choose a place by -o", path.display()))
}
