//! `plimsoll export`: a run, or the cells of an experiment, for other tools; its charts for papers.

use crate::args::Export;
use crate::exit::Exit;
use crate::named_record::{self, NamedRecord};
use crate::terminal::error::{Context, FlagError, Result, UsageError, read};
use crate::terminal::{print, say};
use plimsoll_runs::experiment::{Experiment, cell_folder};
use plimsoll_runs::export::{Format, export, export_cell_periods, export_cells, export_periods};
use plimsoll_runs::{Run, RunError};
use plimsoll_units::{ParseError, duration};
use std::io::{BufWriter, IsTerminal, Write};
use std::path::Path;

/// Runs the command.
pub(crate) fn run(args: &Export) -> Result<Exit> {
    let format: Format =
        args.format.parse().map_err(|error| FlagError::new("--format", &args.format, error))?;
    let found = if args.run.as_os_str().is_empty() {
        NamedRecord::Run(args.run.clone())
    } else {
        named_record::what(Some(&args.run))?
    };
    if let Some(folder) = &args.figures {
        return figures(folder, found);
    }
    if let Some(text) = &args.every {
        return periods(args, format, text, found);
    }
    match found {
        NamedRecord::Experiment(_) if !matches!(format, Format::Csv | Format::Json) => {
            let what = match format {
                Format::Hgrm => "response times",
                Format::NamesCsv => "figures by name",
                Format::LabelsCsv => "figures by label",
                _ => "samples",
            };
            let text = format!(
                "write the {what} of an experiment: its cells have their own; export one of them, \
                 E/cells/1, or the table of all as csv or json"
            );
            Err(UsageError(text).into())
        }
        NamedRecord::Experiment(path) => {
            let experiment = Experiment::open(&path)?;
            write(args.output.as_deref(), |out| export_cells(&experiment, format, out))
        }
        NamedRecord::Cell(path, number) => of_run(args, &cell_folder(&path, number), format),
        NamedRecord::Run(path) => of_run(args, &path, format),
    }
}

/// Exports a run. Samples, of which there may be any number, are streamed.
fn of_run(args: &Export, path: &Path, format: Format) -> Result<Exit> {
    let run = Run::open(path)?;
    if let Some(feature) = format.left_out() {
        return Err(RunError::LeftOut { format: format.name(), feature }.into());
    }
    if !format.is_of_samples() || args.output.is_some() {
        return write(args.output.as_deref(), |out| export(&run, format, out));
    }
    if format == Format::SamplesParquet && std::io::stdout().is_terminal() {
        let text = "write a table of Parquet to a terminal: name a file by -o";
        return Err(UsageError(text.to_owned()).into());
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    match export(&run, format, &mut out) {
        // A reader that has gone away (`| head`) is no fault.
        Err(RunError::Export(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        result => result?,
    }
    Ok(Exit::Held)
}

/// Exports series in periods.
fn periods(args: &Export, format: Format, every: &str, found: NamedRecord) -> Result<Exit> {
    let every = read("--every", every, |text| match duration(text)? {
        every if every.is_zero() => {
            Err(ParseError::new("a duration above zero", text, 0, text.len()))
        }
        every => Ok(every),
    })?;
    if format != Format::Csv {
        let text = format!("export periods as {}: --every goes with csv", format.name());
        return Err(UsageError(text).into());
    }
    let output = args.output.as_deref();
    match found {
        NamedRecord::Experiment(path) => {
            let experiment = Experiment::open(&path)?;
            write(output, |out| export_cell_periods(&experiment, every, out))
        }
        NamedRecord::Cell(path, number) => {
            let run = Run::open(&cell_folder(&path, number))?;
            write(output, |out| export_periods(&run, every, out))
        }
        NamedRecord::Run(path) => {
            let run = Run::open(&path)?;
            write(output, |out| export_periods(&run, every, out))
        }
    }
}

/// Writes each chart of the page of a run or an experiment into a folder.
fn figures(folder: &Path, found: NamedRecord) -> Result<Exit> {
    let shown = folder.display();
    if folder.exists() && !folder.is_dir() {
        let text = format!("write figures into {shown}: it is a file; choose another place");
        return Err(UsageError(text).into());
    }
    let of = match found {
        NamedRecord::Experiment(path) | NamedRecord::Run(path) => path,
        NamedRecord::Cell(path, number) => cell_folder(&path, number),
    };
    let pictures = super::report::page(&of)?.pictures();
    if pictures.is_empty() {
        say(&format!("no figures: the page of {} has no chart", of.display()));
        return Ok(Exit::Held);
    }
    std::fs::create_dir_all(folder).with_context(|| format!("make the folder {shown}"))?;
    for picture in &pictures {
        let path = folder.join(format!("{}.svg", picture.name));
        std::fs::write(&path, &picture.svg)
            .with_context(|| format!("write a figure to {}", path.display()))?;
        print(&format!("{}\n", path.display()))?;
    }
    let doubtful = pictures.iter().filter(|picture| picture.is_doubtful);
    let doubtful: Vec<&str> = doubtful.map(|picture| picture.name.as_str()).collect();
    match doubtful.len() {
        0 => {}
        all if all == pictures.len() => say("note: none of them is to be relied upon"),
        _ => say(&format!("note: not to be relied upon: {}", doubtful.join(", "))),
    }
    let count = pictures.len();
    say(&format!("{count} {} in {shown}", if count == 1 { "figure" } else { "figures" }));
    Ok(Exit::Held)
}

/// Writes to a file, or to standard output.
fn write(
    output: Option<&Path>,
    export: impl FnOnce(&mut dyn Write) -> Result<(), RunError>,
) -> Result<Exit> {
    match output {
        Some(path) => {
            let failed = || format!("write the export to {}", path.display());
            let file = std::fs::File::create(path).with_context(failed)?;
            let mut out = BufWriter::new(file);
            export(&mut out)?;
            out.flush().with_context(failed)?;
        }
        None => {
            let mut text = Vec::new();
            export(&mut text)?;
            print(&String::from_utf8_lossy(&text))?;
        }
    }
    Ok(Exit::Held)
}
