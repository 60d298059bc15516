//! The page of simulated pools: its charts and figures, odd simulations, hostile texts.

use plimsoll_report::Document;

use crate::made_simulation::{Made, THREE, simulation};
use crate::page::{HOSTILE, checked};
use crate::parser::Page;

/// Three policies over 200 ticks, in 20 replications.
fn three() -> Made {
    simulation(&THREE, 200, 20)
}

/// Two policies.
pub(crate) fn golden() -> Document {
    simulation(&THREE[..2], 200, 20).document(None)
}

fn page(made: &Made) -> Page {
    checked(&made.document(None).html())
}

fn has(page: &Page, id: &str) -> bool {
    page.values("id").any(|known| known == id)
}

#[test]
fn it_has_figures_front_courses_revenue_decisions_and_notes() {
    let page = page(&three());
    let sections =
        ["policies", "trade", "paired", "courses", "revenue", "figures", "decisions", "about"];
    let charts = ["cost-and-loss", "rate", "instances", "cpu", "response", "loss"];
    let tables = ["revenue-table", "cost-and-loss-table", "instances-table-2", "loss-table-2"];
    for id in sections.into_iter().chain(charts).chain(tables) {
        assert!(has(&page, id), "{id}");
    }
    for text in [
        "a published day",
        "3 policies on the same requests, in 20 replications: a day of 22.2 million requests",
        "the trace ends 3 minutes before its last hour",
        "Means over 20 replications, each with its 95% interval",
        "zero outside",
        "zero within",
        "against auto-scale",
        "lost: no slot",
        "under: timeshare",
        "p99<400ms",
        "on the front",
        "Demand is the least n for which M/G/m with 2 servers",
        "modified rule at 600/s (greatest), most with 21",
        "No decision changed the pool.",
        "cpu 62.5%, rate ",
        "€0.17 for each started hour",
    ] {
        assert!(page.text.contains(text), "{text}");
    }
    assert!(!page.text.contains("client timeout"), "a cause that no request was lost by");
}

#[test]
fn every_figure_is_the_mean_of_the_replications() {
    let made = three();
    let page = page(&made);
    let mean = |name: &str| {
        let of = |rows: &Vec<plimsoll_runs::FigureRow>| {
            rows.iter().find(|row| row.name == name).map_or(0.0, |row| row.value)
        };
        let all = &made.figures[0];
        all.iter().map(of).sum::<f64>() / all.len() as f64
    };
    let reason = &made.courses[0].decisions[0].reason;
    for text in [
        format!("€{:.2}", mean("cost")),
        reason.clone(),
        format!("({:.3}%)", 100.0 * mean("lost_share")),
    ] {
        assert!(page.text.contains(&text), "{text}");
    }
}

#[test]
fn a_day_of_a_dozen_policies_stays_below_two_megabytes() {
    let names: Vec<String> = (0..12).map(|n| format!("policy {n}")).collect();
    let kinds = ["threshold", "revenue", "fixed", "target"];
    let policies: Vec<(&str, &str)> =
        names.iter().enumerate().map(|(n, name)| (name.as_str(), kinds[n % 4])).collect();
    let mut day = simulation(&policies, 1440, 20);
    for course in &mut day.courses {
        let first = course.decisions.first().cloned();
        let Some(mut decision) = first else { continue };
        decision.reason = "because ".repeat(40);
        course.decisions = vec![decision; 700];
    }
    let made = day.document(None).html();
    let page = checked(&made);
    assert!(made.len() < 2_000_000, "{} bytes", made.len());
    assert!(page.text.contains("The table has the first 100; the other 600 are left out here"));
    assert!(page.text.contains("Each column covers 5m: all four are means"));
}

#[test]
fn one_replication_has_no_intervals_and_says_so() {
    let page = page(&simulation(&THREE, 30, 1));
    assert!(page.text.contains("One replication: nothing says how far"));
    assert!(!has(&page, "paired") && !page.text.contains("zero within"));
    assert!(!page.text.contains("Bars are 95%") && page.text.contains("in one replication: "));
}

#[test]
fn one_policy_has_a_page() {
    let page = page(&simulation(&THREE[..1], 30, 20));
    assert!(page.text.contains("One policy, in 20 replications: "));
    assert!(has(&page, "instances-table-0") && !has(&page, "instances-table-1"));
}

#[test]
fn where_nothing_is_earned_there_is_no_revenue() {
    let mut free = three();
    free.about.revenue.clear();
    let is_money = |name: &str| name == "revenue" || name == "net";
    for row in free.figures.iter_mut().flatten().flatten().filter(|row| is_money(&row.name)) {
        row.value = 0.0;
    }
    let page = page(&free);
    assert!(!has(&page, "revenue") && !page.text.contains("Revenue"));
}

#[test]
fn empty_and_odd_simulations_have_a_page() {
    let empty = simulation(&[], 0, 0);
    assert!(page(&empty).text.contains("Nothing to draw"));
    page(&simulation(&THREE, 0, 5));
    page(&simulation(&THREE, 1, 5));

    let mut odd = three();
    for rows in odd.figures.iter_mut().flatten() {
        rows.retain(|row| row.name != "cost" && row.name != "slo_held");
    }
    odd.courses[1].ready[60] = f64::INFINITY;
    odd.courses[2].rate[0] = -1.0;
    odd.about.revenue[0].modified = vec![f64::NAN, -5.0];
    odd.about.revenue[0].erlang_b.clear();
    page(&odd);
    odd.of.about = "nonsense".to_owned();
    odd.of.plan = "nonsense".to_owned();
    page(&odd);
}

#[test]
fn hostile_texts_stay_text() {
    let with = |text: &str| {
        let mut of = simulation(&THREE, 30, 20);
        let own = || text.to_owned();
        of.of.warnings = vec![own()];
        of.of.name = own();
        of.courses[0].label = own();
        of.courses[0].decisions[0].reason = own();
        let about = &mut of.about;
        (about.load, about.instance, about.demand) = (own(), own(), own());
        (about.balancer, about.billing, about.currency) = (own(), own(), own());
        about.revenue[0].which = own();
        about.kinds = [(own(), own())].into();
        of
    };
    let (plain, found) = (page(&with("plain")), page(&with(HOSTILE)));
    assert_eq!(found.elements.len(), plain.elements.len(), "no element came of the text");
    assert_eq!((found.count("script"), found.count("img")), (1, 0));
    let titled = checked(&three().document(Some(HOSTILE)).html());
    assert_eq!(titled.count("script"), 1);
}

#[test]
#[ignore = "writes pages to look at"]
fn make_pages_to_look_at() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let kinds = ["threshold", "revenue", "fixed", "target"];
    let dozen: Vec<(&str, &str)> =
        names.into_iter().enumerate().map(|(n, name)| (name, kinds[n % 4])).collect();
    for (name, made) in [
        ("three", simulation(&THREE, 1440, 20)),
        ("one", simulation(&THREE[..1], 200, 1)),
        ("dozen", simulation(&dozen, 1440, 20)),
    ] {
        let page = made.document(None).html();
        std::fs::write(folder.join(format!("simulation-{name}.html")), page).unwrap();
    }
}
