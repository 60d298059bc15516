//! What was asked, in words: read from the plan that the run keeps.

use plimsoll_plan::{
    Length, LoadShape, Plan, ProfileName, RateSource, RequestSource, Vocabulary, Written,
};
use plimsoll_units as units;
use std::sync::LazyLock;

/// A plan of a run was checked when it was executed: only its URL is looked up again.
static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let schemes = plimsoll_load::schemes().collect();
    Vocabulary { schemes, ..Vocabulary::EMPTY }
});

/// The plan of a run; `None` where the text is none that this version reads.
pub(crate) fn plan(text: &str) -> Option<Plan> {
    Plan::read(&Written::text(text, "plan.toml", &[]).stored(), &VOCABULARY).ok()
}

/// The load that a plan asks for, in a phrase. `None` where the text is no plan that this version
/// reads: then the figures and the text itself must do.
pub(crate) fn load(plan_text: &str) -> Option<String> {
    let plan = plan(plan_text)?;
    let load = &plan.load;
    let shape = if let LoadShape::Open { source, arrivals } = &load.shape {
        let rate = if let RateSource::Constant { rate_per_s, length } = source {
            format!("{} for {}", units::show_rate_exact(*rate_per_s), long(*length))
        } else if let RateSource::Schedule(schedule) = source {
            schedule.to_string()
        } else if let RateSource::Trace(trace) = source {
            format!("the trace {}{}", trace.shown(), faster(trace.options.speed))
        } else if let RateSource::Profile(profile) = source {
            let ProfileName::ClarknetDay = profile.name;
            format!("the profile clarknet-day{}", faster(profile.options.speed))
        } else {
            "the rates that the plan names".to_owned()
        };
        format!("open loop, {rate}, {arrivals} arrivals")
    } else if let LoadShape::Closed { users, length, .. } = &load.shape {
        let what = match plan.target.asked {
            RequestSource::Scenario(_) => "users have come",
            _ => "requests are due",
        };
        let until = load.requests.map(|n| format!("until {} {what}", units::show_count(n)));
        let length = match until {
            Some(until) if load.shape.is_as_long_as_its_answers() => until,
            Some(until) => format!("for {}, or {until}", long(*length)),
            None => format!("for {}", long(*length)),
        };
        format!(
            "closed loop, {} users {length}: who waits for an answer sends nothing, so a slow \
             target gets fewer requests",
            units::show_count(u64::from(*users)),
        )
    } else {
        "open loop, the times of a log".to_owned()
    };
    let connections = &load.connections;
    Some(format!("{shape}; {connections} connections"))
}

fn faster(speed: f64) -> String {
    if (speed - 1.0).abs() < 1e-9 { String::new() } else { format!(", {speed} times faster") }
}

fn long(length: Length) -> String {
    let exact = |of: std::time::Duration| {
        units::show_duration_exact(u64::try_from(of.as_nanos()).unwrap_or(u64::MAX))
    };
    match length {
        Length::Lasting(span) => exact(span),
        Length::Ever(most) => format!("ever, at most {}", exact(most)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_and_closed_loads_are_told_in_words() {
        let target = "[target]\nurl = \"http://127.0.0.1:8080/\"\n[load]\n";
        let open = format!("{target}rate = \"500/s\"\nfor = \"30s\"\n");
        assert_eq!(
            load(&open).as_deref(),
            Some("open loop, 500/s for 30s, even arrivals; 64 connections")
        );
        let day = format!("{target}profile = {{ name = \"clarknet-day\", speed = 720 }}\n");
        assert_eq!(
            load(&day).as_deref(),
            Some(
                "open loop, the profile clarknet-day, 720 times faster, even arrivals; \
                 64 connections"
            )
        );
        let closed = format!("{target}users = 8\nfor = \"1m\"\n");
        let words = load(&closed).expect("words");
        assert!(words.starts_with("closed loop, 8 users for 1m:"), "{words}");
        let few = load(&format!("{target}users = 8\nrequests = 60\n")).expect("words");
        assert!(few.starts_with("closed loop, 8 users until 60 requests are due:"), "{few}");
        assert_eq!(load("not a plan"), None);
    }
}
