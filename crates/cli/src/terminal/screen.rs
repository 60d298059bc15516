//! What is shown while something goes on, and the user's interrupts: a bar on terminals, a line now
//! and then elsewhere, nothing where it is to be quiet.

use super::live::Live;
use super::say;
use crate::interrupt::Interrupts;
use crate::metrics::Metrics;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plimsoll_experiment::control::{Control, News, Wish};
use plimsoll_units::{show_count, show_duration};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Lines between the beginning and the end of steps.
const LINES: u64 = 10;

/// Takes news that a command has to do something about, before they are shown.
pub(crate) type Hear<'a> = &'a (dyn Fn(&News<'_>) + Sync);

/// Shows how far something is, and says what the user wishes. Threads share it.
pub(crate) struct Screen<'a> {
    is_quiet: bool,
    interrupts: Interrupts,
    /// So many interrupts have been answered.
    answered: AtomicUsize,
    /// What is answered to the first interrupt, and to the second.
    answers: [&'static str; 2],
    hear: Option<Hear<'a>>,
    view: Mutex<View>,
}

/// What is shown at present.
#[derive(Default)]
struct View {
    is_quiet: bool,
    load: Option<Live>,
    bar: Option<ProgressBar>,
    /// What steps are called; none are shown without a name.
    steps: Option<&'static str>,
    /// Tenths of the steps of which a line was written, and of how many steps.
    said: (u64, u64),
}

impl<'a> Screen<'a> {
    /// A screen on which nothing is shown but what is said.
    pub(crate) fn new(is_quiet: bool, interrupts: &Interrupts) -> Self {
        Self {
            is_quiet,
            interrupts: interrupts.clone(),
            answered: AtomicUsize::new(0),
            answers: [""; 2],
            hear: None,
            view: Mutex::new(View { is_quiet, ..View::default() }),
        }
    }

    /// Shows steps, such as `replications`.
    pub(crate) fn of_steps(mut self, what: &'static str) -> Self {
        let view = self.view.get_mut().unwrap_or_else(PoisonError::into_inner);
        view.steps = Some(what);
        if !self.is_quiet && std::io::stderr().is_terminal() {
            // What is left is told by how long those took that are done: time counts from here.
            view.bar = Some(bar(what));
        }
        self
    }

    /// Shows the seconds of loads of so many nanoseconds, the warm-up within them.
    pub(crate) fn of_load(
        mut self,
        (total_ns, warmup_ns): (u64, u64),
        metrics: Option<Metrics>,
    ) -> Self {
        let live = Live::new((total_ns, warmup_ns), self.is_quiet, metrics);
        self.view.get_mut().unwrap_or_else(PoisonError::into_inner).load = Some(live);
        self.answers = [
            "stopping: what is in flight is finished; interrupt again to end at once",
            "ending at once",
        ];
        self
    }

    /// Answers the first interrupt with a text.
    pub(crate) fn answering(mut self, first: &'static str) -> Self {
        self.answers = [first, ""];
        self
    }

    /// Hands news to a command before they are shown.
    pub(crate) fn heard_by(mut self, hear: Hear<'a>) -> Self {
        self.hear = Some(hear);
        self
    }

    /// Takes what is shown off the terminal.
    pub(crate) fn clear(&self) {
        self.view().clear();
    }

    fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says a line above what is shown.
    fn say(&self, text: &str) {
        let view = self.view();
        let bar = view.load.as_ref().and_then(Live::bar).or(view.bar.as_ref());
        match bar {
            Some(bar) => bar.suspend(|| say(text)),
            None => say(text),
        }
    }
}

impl Control for Screen<'_> {
    fn executed(&self) {
        self.clear();
    }

    fn tell(&self, news: News<'_>) {
        if matches!(news, News::Done(_, Some(_))) {
            self.clear();
        }
        if let Some(hear) = self.hear {
            hear(&news);
        }
        match news {
            News::Length(total_ns, warmup_ns) => self.view().of_length((total_ns, warmup_ns)),
            News::Names(names) => {
                if let Some(live) = &mut self.view().load {
                    live.names(names);
                }
            }
            News::Begins(_) => self.view().begin(),
            News::Watched(round) => {
                if let Some(live) = &mut self.view().load {
                    live.watched(round);
                }
            }
            News::Pool(now) => {
                if let Some(live) = &mut self.view().load {
                    live.pool(now);
                }
            }
            News::Says(text) if !self.is_quiet => self.say(text),
            News::Warns(text) => self.say(text),
            News::Second(second, is_whole) => {
                if let Some(live) = &mut self.view().load {
                    live.second(second, is_whole);
                }
            }
            News::Steps(done, of) => self.view().step(done, of, self.is_quiet),
            _ => {}
        }
    }

    fn wish(&self) -> Wish {
        let count = self.interrupts.count();
        if count > 0 && self.answered.fetch_max(count, Ordering::Relaxed) < count {
            let text = self.answers[count.min(2) - 1];
            if !text.is_empty() {
                self.say(text);
            }
        }
        match count {
            0 => Wish::Continue,
            1 => Wish::Stop,
            _ => Wish::Abort,
        }
    }
}

impl View {
    /// Shows the load that begins next, where cells have loads of their own.
    fn of_length(&mut self, length: (u64, u64)) {
        match &mut self.load {
            Some(live) => live.set_length(length),
            None => self.load = Some(Live::new(length, self.is_quiet, None)),
        }
    }

    fn begin(&mut self) {
        if let Some(live) = &mut self.load {
            live.begin();
        }
    }

    fn clear(&mut self) {
        if let Some(live) = &mut self.load {
            live.clear();
        }
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn step(&mut self, done: u64, of: u64, is_quiet: bool) {
        let Some(what) = self.steps.filter(|_| !is_quiet) else { return };
        if std::io::stderr().is_terminal() {
            let bar = self.bar.get_or_insert_with(|| bar(what));
            if done < bar.position() || bar.length().is_some_and(|before| before != of) {
                // Other steps begin anew.
                bar.reset_elapsed();
            }
            bar.set_message(left(bar.elapsed(), done, of));
            bar.set_length(of);
            bar.set_position(done);
            if done == of {
                self.clear();
            }
            return;
        }
        let tenths = done * LINES / of.max(1);
        // Other steps begin anew.
        let before = if self.said.1 == of && done > 1 { self.said.0 } else { 0 };
        self.said = (before.max(tenths), of);
        if done < of && before < tenths {
            say(&format!("{} of {} {what}", show_count(done), show_count(of)));
        }
    }
}

fn bar(what: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let template = format!("{{wide_bar}} {{human_pos}} of {{human_len}} {what}{{msg}}");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style.progress_chars("━━─"));
    }
    bar
}

/// How long the steps that are left take, by how long those took that are done; empty where none is
/// done yet, as nothing is known then.
fn left(elapsed: Duration, done: u64, of: u64) -> String {
    let rest = of.saturating_sub(done);
    if done == 0 || rest == 0 {
        return String::new();
    }
    let left = elapsed.as_secs_f64() / done as f64 * rest as f64;
    // To the second: no step is known better.
    let seconds = Duration::try_from_secs_f64(left).unwrap_or_default().as_secs().max(1);
    format!(", about {} left", show_duration(seconds.saturating_mul(1_000_000_000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_by_what_is_done_and_not_before() {
        let after = |seconds, done| left(Duration::from_secs(seconds), done, 9);
        assert_eq!(after(5, 0), "");
        assert_eq!(after(5, 2), ", about 17 s left");
        assert_eq!(after(40, 8), ", about 5 s left");
        assert_eq!(after(0, 1), ", about 1 s left");
        assert_eq!(after(45, 9), "");
    }
}
