//! Instance types that a pool was compared on: what a request costs on each where it is fully
//! loaded, and the cheapest pool of each.

use plimsoll_analysis::Analysis;
use plimsoll_draw::chart::unit::{money, significant};
use plimsoll_workload::instance_type::PricedType;

use crate::document::{Block, Cell, Grid, Section, note, words};
use crate::figure_text::DASH;

/// The section; none where no types were compared.
pub(crate) fn section(analysis: &Analysis, currency: &str) -> Option<Section> {
    let types = &analysis.types;
    let cheapest = PricedType::cheapest_request(types)?;
    let has_slo = analysis.experiment.slo.is_some();
    let rule = match has_slo {
        true => "The cheapest pool is the one that costs least among those that hold the SLO.",
        false => "The cheapest pool is the one that serves a request for the least.",
    };
    let blocks = vec![
        words(answer(types, cheapest, currency)),
        Block::Table(table(types, currency)),
        note(format!(
            "A request's price at full load is that of an hour over the most requests that one \
             instance serves in it. {rule}"
        )),
    ];
    Some(Section::new("types", "Instance types", blocks))
}

/// Which type is the cheapest: at full load, and of the pools.
fn answer(types: &[PricedType], cheapest: &PricedType, currency: &str) -> String {
    let of = &cheapest.of;
    let a_request = format!(
        "A fully loaded {} serves requests for the least: {} a million.",
        of.label,
        money(1e6 * of.price_per_request, currency)
    );
    let pool = PricedType::cheapest_pool(types).map_or_else(String::new, |(of, pool)| {
        let cost = money(pool.cost, currency);
        format!(" The cheapest pool is of {}: {}, {cost}.", of.of.label, pool.policy)
    });
    a_request + &pool
}

fn table(types: &[PricedType], currency: &str) -> Grid {
    let heads = ["type", "an hour", "requests at most", "a million", "cheapest pool", "cost"]
        .into_iter()
        .chain(["a million served"]);
    let row = |PricedType { of, cheapest }: &PricedType| {
        let a_million = |price: f64| money(1e6 * price, currency);
        let of_pool = cheapest.as_ref().map(|pool| {
            let served = pool.cost_per_request.map_or_else(|| DASH.to_owned(), a_million);
            [pool.policy.clone(), money(pool.cost, currency), served]
        });
        let none = || [DASH.to_owned(), DASH.to_owned(), DASH.to_owned()];
        let own = [
            of.label.clone(),
            money(of.price_per_hour, currency),
            format!("{}/s", significant(of.capacity_per_s)),
            a_million(of.price_per_request),
        ];
        own.into_iter().chain(of_pool.unwrap_or_else(none)).map(Cell::of).collect()
    };
    Grid {
        class: "policies",
        id: "types-table".to_owned(),
        heads: heads.map(Cell::of).collect(),
        rows: types.iter().map(row).collect(),
    }
}
