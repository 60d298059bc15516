//! What holds of every policy, whatever it sees.

use super::scene::{Scene, facts, made};
use plimsoll_elastic::observation::Metric;
use plimsoll_elastic::policy::{Decider, Facts, Future};
use proptest::prelude::*;

/// Each kind, some of them in several ways.
const POLICIES: [(&str, &[(&str, &str)]); 21] = [
    ("fixed", &[]),
    ("threshold", &[("datapoints", "3")]),
    ("threshold", &[("datapoints", "2"), ("of", "1"), ("sticky", "false"), ("add", "7")]),
    ("threshold", &[("datapoints", "1"), ("set_below", "0"), ("set_above", "500")]),
    ("threshold", &[("datapoints", "1"), ("remove", "9"), ("flap_check", "true")]),
    ("step", &[("up", "50:3,70:=90"), ("down", "40:5"), ("warm_up", "90s")]),
    ("target", &[("up_window", "2m")]),
    ("target", &[("metric", "rate"), ("target", "0.001"), ("down_window", "0s")]),
    ("target", &[("up", "1/1m,10%/5m"), ("down", "2/90s"), ("down_select", "min")]),
    ("hpa", &[("down_window", "1m"), ("up_tolerance", "0")]),
    ("step", &[("up", "50:10%,70:100%"), ("down", "40:50%")]),
    ("panic", &[]),
    ("panic", &[("metric", "rate"), ("target", "20"), ("up", "1.5"), ("down", "1.1")]),
    ("revenue", &[("trend", "true"), ("rate", "weighted:5m")]),
    ("revenue", &[("blocking", "erlang-b"), ("hour", "sliding"), ("spare", "9"), ("early", "0s")]),
    ("schedule", &[("times", "00:03=0,00:10=99")]),
    ("predictive", &[]),
    ("predictive", &[("forecast", "trend"), ("down_window", "0s")]),
    ("predictive", &[("forecast", "holt-winters"), ("step", "1m")]),
    ("slo", &[]),
    ("oracle", &[]),
];

fn policy(index: usize) -> Box<dyn Decider> {
    let rates = (0..60).map(|minute| 9.0 * f64::from(minute)).collect();
    let future = Some(Future { step_s: 60.0, rates }.into());
    let (kind, given) = POLICIES[index];
    made(kind, given, &Facts { future, ..facts() })
}

fn value(usual: std::ops::Range<f64>) -> impl Strategy<Value = f64> {
    let strange = prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(0.0), Just(3000.0)];
    prop_oneof![9 => usual, 1 => strange]
}

/// A tick's metrics, in the order of the manual.
fn tick() -> impl Strategy<Value = [f64; 6]> {
    let quantity = (value(0.0..100.0), value(0.0..700.0), value(0.0..20.0));
    (quantity, (value(0.0..1.0), value(0.0..200.0), value(0.0..50.0))).prop_map(
        |((cpu, rate, lost), (response, within, queue))| [cpu, rate, lost, response, within, queue],
    )
}

/// What was seen, and the scene it is seen in.
#[derive(Debug, Clone)]
struct Story {
    policy: usize,
    ticks: Vec<[f64; 6]>,
    tick_s: f64,
    boot_s: f64,
    late_s: f64,
    bounds: (u32, u32),
    begins_with: u32,
}

prop_compose! {
    fn story()(
        policy in 0..POLICIES.len(),
        ticks in prop::collection::vec(tick(), 1..90),
        tick_s in prop::sample::select(vec![7.0, 60.0, 90.0]),
        boot_s in prop::sample::select(vec![0.0, 200.0]),
        late_s in prop::sample::select(vec![0.0, 60.0]),
        least in 0u32..5,
        more in 0u32..30,
        begins_with in 0u32..40,
    ) -> Story {
        let bounds = (least, least + more);
        Story { policy, ticks, tick_s, boot_s, late_s, bounds, begins_with }
    }
}

impl Story {
    fn scene(&self) -> Scene {
        let scene = Scene::of(policy(self.policy)).with(self.begins_with);
        let scene = scene.between(self.bounds.0, self.bounds.1).ticks_of(self.tick_s);
        scene.booting_for(self.boot_s).late_by(self.late_s)
    }

    /// All that is said; after so many ticks by another one, to which what is remembered was given.
    fn told(&self, change_after: usize) -> Vec<(u32, String)> {
        let mut scene = self.scene();
        let decide = |(index, values): (usize, &[f64; 6])| {
            if index == change_after {
                scene.change_to(policy(self.policy));
            }
            let seen: Vec<_> = Metric::ALL.into_iter().zip(*values).collect();
            let decision = scene.tick(&seen);
            (decision.desired, decision.reason)
        };
        self.ticks.iter().enumerate().map(decide).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_decision_is_within_the_bounds_and_says_why(story in story()) {
        for (desired, reason) in story.told(usize::MAX) {
            let (least, most) = story.bounds;
            prop_assert!((least..=most).contains(&desired), "{desired}: {reason}");
            prop_assert!(!reason.is_empty() && !reason.ends_with('.'), "{reason}");
        }
    }

    #[test]
    fn the_same_observations_give_the_same_decisions_also_across_a_restart(
        story in story(),
        change_after in 0usize..60,
    ) {
        let told = story.told(usize::MAX);
        prop_assert_eq!(&story.told(usize::MAX), &told);
        prop_assert_eq!(&story.told(change_after), &told);
    }

    #[test]
    fn nothing_changes_within_a_cooldown(
        cpu in prop::collection::vec(value(0.0..100.0), 1..60),
        cooldown in 1u32..8,
        is_sticky in any::<bool>(),
    ) {
        let (cooldown_s, sticky) = (format!("{cooldown}m"), is_sticky.to_string());
        let given =
            [("datapoints", "2"), ("of", "1"), ("cooldown", &cooldown_s), ("sticky", &sticky)];
        let mut scene = Scene::new("threshold", &given);
        let (mut before, mut changed) = (scene.wanted(), None);
        for (minute, value) in cpu.into_iter().enumerate() {
            let desired = scene.see(Metric::Cpu, value);
            if desired != before {
                let gap = changed.map(|at| minute - at);
                prop_assert!(gap.is_none_or(|gap| gap >= cooldown as usize), "{gap:?}");
                (before, changed) = (desired, Some(minute));
            }
        }
    }
}

/// What was saved by something else is refused, or changes nothing for the worse.
#[test]
fn a_foreign_memory_is_refused_or_does_no_harm() {
    let strange = [
        "",
        "null",
        "[]",
        "{}",
        "7",
        "{\"at_s\":null}",
        "{\"at_s\":1e300}",
        "{\"seasonal\":{\"steps\":4294967295,\"level\":-1e300,\"trend\":1e300,\"season\":[1.0],\
         \"first\":[null]},\"needed\":{\"past\":[[-1e300,4294967295]]}}",
        "{\"has_begun\":true,\"since_s\":-1e300,\"most\":4294967295}",
        "{\"factor\":-1e300,\"at_s\":null,\"needed\":{\"past\":[]}}",
        "{\"past\":[[1e300,4294967295],[0.0,0]]}",
    ];
    for index in 0..POLICIES.len() {
        for text in strange {
            let mut decider = policy(index);
            if decider.restore(text).is_ok() {
                let mut scene = Scene::of(decider);
                for _ in 0..3 {
                    let desired = scene.tick(&[(Metric::Cpu, 50.0), (Metric::Rate, 90.0)]).desired;
                    assert!((1..=20).contains(&desired), "{index} {text}");
                }
            }
        }
    }
}
