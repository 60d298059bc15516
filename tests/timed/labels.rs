//! How long broadcasts take to users, by their labels.

use crate::labels::{assert_adds_up, labelled};
use crate::place::Place;
use crate::websocket_peer::serve;
use plimsoll_testing::Weight;
use serde_json::Value;

#[test]
fn broadcasts_are_told_by_label_and_labels_beyond_a_hundred_together() {
    let place = Place::weighing(Weight::ALONE);
    let address = serve(
        |_| true,
        |mut peer| {
            let region: u64 = peer.field("x-region").unwrap().parse().unwrap();
            let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis();
            // Half of the regions hear of it late: it was published two seconds ago.
            let published = now - if region.is_multiple_of(2) { 2_000 } else { 0 };
            peer.say(&format!(r#"{{"op":"news","at":{published}}}"#));
            while peer.next().is_some() {}
        },
    );
    place.write(
        "s.toml",
        r#"
label = "region {{user}}"
[[step]]
connect = "/"
headers = { X-Region = "{{user}}" }
[[step]]
think = "const:50ms"
[[on_message]]
broadcast = { published_ms = "/at" }
"#,
    );
    let url = format!("ws://{address}/");
    let run = ["load", &url, "--scenario", "s.toml", "--users", "20", "-n", "120", "--json"];
    let document = place.plimsoll(&[&run[..], &["-t", "2"]].concat()).ran().json();
    let all = document["by_label"].as_array().unwrap();
    assert_eq!(all.len(), 101, "{document:#}");
    let other = all.last().unwrap();
    assert_eq!(
        (&other["label"], &other["labels"], &other["users"]),
        (&"other".into(), &20.into(), &20.into())
    );
    assert!(document["warnings"].to_string().contains("20 more count under `other`"));
    assert_adds_up(&document);
    let heard = |of: &Value| of["latency_us"]["count"].as_u64().unwrap_or(0);
    let broadcast = &document["websocket"]["broadcast"];
    assert_eq!(all.iter().map(heard).sum::<u64>(), broadcast["latency_us"]["count"]);
    for (label, is_late) in [("region 6", true), ("region 7", false)] {
        let latency = labelled(&document, label)["latency_us"]["max"].as_f64().unwrap();
        assert_eq!(latency >= 2_000_000.0, is_late, "{label}: {latency}");
    }
}
