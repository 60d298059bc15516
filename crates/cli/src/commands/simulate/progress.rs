//! How far a simulation is: a bar on terminals, lines elsewhere.

use crate::interrupt::Interrupts;
use crate::terminal::say;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plimsoll_units::show_count;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};

/// Lines between the beginning and the end.
const LINES: u64 = 10;

/// Shows how far it is; threads share it.
pub(crate) struct Progress<'a> {
    bar: Option<ProgressBar>,
    lines: bool,
    what: &'static str,
    all: AtomicU64,
    done: AtomicU64,
    said: AtomicU64,
    interrupts: &'a Interrupts,
}

impl<'a> Progress<'a> {
    /// Of so many steps.
    pub(crate) fn new(
        all: u64,
        what: &'static str,
        quiet: bool,
        interrupts: &'a Interrupts,
    ) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = (terminal && !quiet).then(|| {
            let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr());
            let template =
                format!("{{wide_bar}} {{human_pos}} of {{human_len}} {what}, {{eta}} left");
            if let Ok(style) = ProgressStyle::with_template(&template) {
                bar.set_style(style.progress_chars("━━─"));
            }
            bar
        });
        Self {
            bar,
            lines: !terminal && !quiet,
            what,
            all: AtomicU64::new(all),
            done: AtomicU64::new(0),
            said: AtomicU64::new(0),
            interrupts,
        }
    }

    /// Begins anew, of so many steps.
    pub(crate) fn restart(&self, all: u64) {
        self.all.store(all, Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
        self.said.store(0, Ordering::Relaxed);
        if let Some(bar) = &self.bar {
            bar.set_length(all);
            bar.set_position(0);
        }
    }

    /// One more step is done; says whether to go on.
    pub(crate) fn step(&self) -> bool {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let all = self.all.load(Ordering::Relaxed);
        if let Some(bar) = &self.bar {
            bar.set_position(done);
        }
        let tenths = done * LINES / all.max(1);
        if self.lines && done < all && self.said.fetch_max(tenths, Ordering::Relaxed) < tenths {
            say(&format!("{} of {} {}", show_count(done), show_count(all), self.what));
        }
        self.interrupts.count() == 0
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
