//! Whether requests have the names and labels that an SLO, or a figure, is about.

use plimsoll_load::Users;
use plimsoll_runs::{NameKind, Names};
use plimsoll_stats::figure::Figure;
use plimsoll_stats::slo::{Clause, Metric, Slo};
use plimsoll_stats::subject::Subject;
use plimsoll_workload::scenario::Scenario;

use crate::error::ExperimentError;

/// Refuses an SLO about names that no request has, about labels where users have none, and about
/// what does not exist of messages.
pub(super) fn of_slo(slo: &Slo, called: &Callers<'_>) -> Result<(), ExperimentError> {
    unfed(slo, called.names)?;
    for clause in slo.clauses() {
        if let Metric::Counted(figure) = clause.metric {
            called.counts(figure, &clause.expr)?;
        }
    }
    slo.subjects().try_for_each(|of| called.know(of))
}

/// By what the requests of a load are called.
pub(crate) struct Callers<'a> {
    /// Their names.
    pub(crate) names: &'a Names,
    /// The users who make them; `None` where nobody does.
    pub(crate) scenario: Option<&'a Scenario>,
}

impl<'a> Callers<'a> {
    /// Those of a load.
    pub(crate) fn of(names: &'a Names, users: Option<&'a Users>) -> Self {
        Self { names, scenario: users.map(|of| &*of.scenario) }
    }

    /// Refuses a figure of users where there are none, and one of WebSockets where none is opened.
    pub(crate) fn counts(&self, figure: &Figure, text: &str) -> Result<(), ExperimentError> {
        let what = match self.scenario {
            None => "this load has no users, as it has no scenario",
            Some(of) if of.channels() == 0 && figure.name.starts_with("websocket.") => {
                "no user of this load opens a WebSocket"
            }
            Some(_) => return Ok(()),
        };
        Err(ExperimentError::Conflict(format!("judge `{text}`: {what}; leave it out")))
    }

    /// Refuses a subject that no request can have. Which labels users have is only known when they
    /// come.
    pub(crate) fn know(&self, of: &Subject) -> Result<(), ExperimentError> {
        let has_labels = self.scenario.is_some_and(Scenario::has_labels);
        if let (Some(label), false) = (&of.label, has_labels) {
            return Err(ExperimentError::NoLabels { label: label.clone() });
        }
        let Some(name) = &of.name else { return Ok(()) };
        let known = self.names.list().iter().map(|of| of.name.as_str());
        if self.names.number(name).is_none() {
            let nearest = plimsoll_units::nearest(name, known).map(str::to_owned);
            let (name, is_any) = (name.clone(), !self.names.is_empty());
            return Err(ExperimentError::UnknownName { name, nearest, is_any });
        }
        let all = self.names.list().iter().filter(|of| of.name == *name);
        match all.map(|of| of.kind).collect::<Vec<NameKind>>()[..] {
            [one, other, ..] => Err(ExperimentError::SeveralOfOneName {
                name: name.clone(),
                kinds: (one.name(), other.name()),
            }),
            _ => Ok(()),
        }
    }
}

/// Refuses clauses that nothing feeds: of messages that come unasked times are told, and how many
/// there were, but none of them is offered that could be lost or fail.
fn unfed(slo: &Slo, names: &Names) -> Result<(), ExperimentError> {
    let is_message = |of: &Subject| {
        let kinds = [NameKind::Message, NameKind::Broadcast];
        let mut all = names.list().iter();
        all.any(|known| Some(&known.name) == of.name.as_ref() && kinds.contains(&known.kind))
    };
    let is_unfed = |clause: &&Clause| {
        matches!(clause.metric, Metric::Lost | Metric::Errors)
            && clause.of.as_ref().is_some_and(is_message)
    };
    match slo.clauses().iter().find(is_unfed) {
        None => Ok(()),
        Some(clause) => Err(ExperimentError::Unfed {
            clause: clause.expr.clone(),
            name: clause.of.as_ref().map(ToString::to_string).unwrap_or_default(),
        }),
    }
}
