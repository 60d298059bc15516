//! A cell whose server ended before its load began: that is why it failed.

use plimsoll_load::SessionError;
use plimsoll_load::run::RunError;
use plimsoll_testbed::TestbedError;
use plimsoll_testbed::gone::Gone;

use crate::error::ExperimentError;
use crate::kept::Kept;

/// What came of a cell, and whether it has left a run. Where nothing was sent as a server had
/// ended, the server's end is the reason, and there is no run.
pub(crate) fn explained(
    result: Result<(), ExperimentError>,
    kept: &Kept,
) -> (Result<(), ExperimentError>, bool) {
    match (result, kept.first_gone()) {
        (
            Err(ExperimentError::Load(RunError::Session(SessionError::Unreachable { .. }))),
            Some(gone),
        ) => {
            let Gone { instance, how, output } = gone;
            (Err(TestbedError::Gone { instance, how, output }.into()), false)
        }
        (result, _) => (result, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{Control, News, Wish};
    use plimsoll_load::Endpoint;
    use plimsoll_runs::ErrorKind;
    use plimsoll_units::failure::told;
    use std::sync::Mutex;

    /// Keeps what it is told.
    #[derive(Default)]
    struct KeptWarnings(Mutex<Vec<String>>);

    impl Control for KeptWarnings {
        fn tell(&self, news: News<'_>) {
            if let News::Warns(text) = news {
                self.0.lock().unwrap().push(text.to_owned());
            }
        }

        fn wish(&self) -> Wish {
            Wish::Continue
        }
    }

    fn refused() -> Result<(), ExperimentError> {
        let endpoint = Endpoint::Unix("/no/server".into());
        let source = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let kind = ErrorKind::Connect;
        Err(RunError::Session(SessionError::Unreachable { endpoint, kind, source }).into())
    }

    #[test]
    fn a_server_that_ended_is_why_nothing_could_be_sent() {
        let (kept, control) = (Kept::default(), KeptWarnings::default());
        let (same, has_run) = explained(refused(), &kept);
        assert!(has_run && matches!(same, Err(ExperimentError::Load(_))), "no server ended");
        let text = |text: &str| text.to_owned();
        let gone = Gone { instance: text("web-1"), how: text("signal 11"), output: text("a\nb\n") };
        kept.hearing(&control, &|_| (), |hears| (hears.gone)(&gone));
        assert_eq!(control.0.lock().unwrap()[..], ["web-1 ended by itself, with signal 11: b"]);
        let (why, has_run) = explained(refused(), &kept);
        let why = told(&why.unwrap_err());
        assert_eq!(
            (why.as_str(), has_run),
            ("load web-1: it ended by itself, with signal 11: b", false)
        );
        // What was measured stays, and the run is told of it once.
        assert!(explained(Ok(()), &kept).0.is_ok());
        let events: Vec<String> = kept.gone_since(5).into_iter().map(|event| event.text).collect();
        assert_eq!(events, ["web-1 ended by itself, with signal 11: b"]);
        assert!(kept.gone_since(6).is_empty());
    }
}
