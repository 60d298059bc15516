//! What services for continuous integration read of a command: JUnit XML and Markdown.

use crate::exit::Exit;
use crate::files::check_place;
use crate::terminal::error::{Context, Error, Result, UsageError};
use clap::Args;
use plimsoll_analysis::compared::Compared;
use plimsoll_report::ci::Checks;
use plimsoll_units::secret::hidden;
use std::path::{Path, PathBuf};

/// Files for continuous integration.
#[derive(Args, Default, Clone)]
pub(crate) struct Ci {
    /// Write the verdicts to this file as JUnit XML: a test case for each clause of the SLO and for
    /// the run's validity
    #[arg(long, value_name = "FILE", help_heading = "For CI")]
    junit: Option<PathBuf>,
    /// Write the verdicts and figures to this file as Markdown
    #[arg(long, value_name = "FILE", help_heading = "For CI")]
    markdown: Option<PathBuf>,
}

impl Ci {
    /// Tries whether the files can be written, before the work that they are of.
    pub(crate) fn check(&self) -> Result<(), UsageError> {
        let files = [("the JUnit file", &self.junit), ("the Markdown file", &self.markdown)];
        let mut given = files.into_iter().filter_map(|(what, path)| Some((what, path.as_ref()?)));
        given.try_for_each(|(what, path)| check_place(what, path))
    }

    /// The files that are wanted.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.junit.iter().chain(&self.markdown)
    }

    /// Whether any file is wanted.
    pub(crate) fn is_wanted(&self) -> bool {
        self.junit.is_some() || self.markdown.is_some()
    }

    /// Writes what was checked, where that is wanted, by a command that ends so.
    pub(crate) fn write(&self, checks: impl FnOnce() -> Result<Checks>, exit: Exit) -> Result<()> {
        if !self.is_wanted() {
            return Ok(());
        }
        let mut checks = checks()?;
        checks.settle(exit as u8);
        let write = |what: &str, path: &Path, text: &str| {
            std::fs::write(path, hidden(text).as_bytes())
                .with_context(|| format!("write {what} to {}", path.display()))
        };
        if let Some(path) = &self.junit {
            write("the JUnit file", path, &checks.junit())?;
        }
        if let Some(path) = &self.markdown {
            write("the Markdown file", path, &checks.markdown())?;
        }
        Ok(())
    }

    /// Writes what was checked of a folder for runs, that of a run or of an experiment, and what
    /// came of a comparison, where there is one.
    pub(crate) fn write_of(
        &self,
        folder: &Path,
        compared: Option<&Compared>,
        exit: Exit,
    ) -> Result<()> {
        let checks = || {
            let mut checks = Checks::of(folder)?;
            compared.into_iter().for_each(|of| checks.add_compared(of));
            Ok(checks)
        };
        self.write(checks, exit)
    }

    /// Writes that a command came to no run; gives back why. A wrong use leaves no file: nothing
    /// was put to the test.
    pub(crate) fn no_run(&self, name: &str, error: Error) -> Error {
        if error.exit() == Exit::Usage {
            return error;
        }
        let failed = || {
            let mut checks = Checks::default();
            checks.add_failure(name, error.to_string());
            Ok(checks)
        };
        match self.write(failed, error.exit()) {
            Ok(()) => error,
            Err(other) => other,
        }
    }
}
