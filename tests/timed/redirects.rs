//! What redirects that are followed come to, and of which part of them the service time is.

use crate::nginx::{asked, nginx};
use crate::place::Place;
use crate::redirects::{counts, servers, twenty};
use plimsoll_testing::Weight;

#[test]
fn a_redirect_is_an_answer_unless_it_is_to_be_followed() {
    let test = "a_redirect_is_an_answer_unless_it_is_to_be_followed";
    for (version, http2) in [("1.1", ""), ("2", " http2")] {
        let place = Place::weighing(Weight::ALONE);
        let slow = place.target(&["--service-time", "const:60ms", "--errors", "100%"]);
        let config = |port| servers(port, http2, slow.address());
        let Some((_nginx, port)) = nginx(&place, test, config) else { return };
        let url = |path: &str| format!("http://127.0.0.1:{port}{path}");
        let by = |path: &str, more: &[&str]| {
            twenty(&place, &url(path), &[&["--http", version], more].concat())
        };
        let plain = by("/one", &[]);
        assert_eq!(counts(&plain), [20, 20, 0, 0, 0], "{plain}");
        assert_eq!(plain["status"]["302"], 20);
        assert!(plain["warnings"].to_string().contains("--follow"), "{plain}");

        let followed = by("/one", &["--follow", "5"]);
        assert_eq!(counts(&followed), [20, 20, 20, 40, 0], "{followed}");
        assert_eq!(followed["status"], serde_json::json!({ "200": 20 }));
        assert_eq!((asked(&place, "/two"), asked(&place, "/a/three")), (20, 20));

        let looped = by("/loop", &["--follow", "3"]);
        assert_eq!(counts(&looped), [20, 20, 0, 60, 20], "{looped}");
        assert_eq!(asked(&place, "/loop"), 80);
        let away = by("/away", &["--follow", "3"]);
        assert_eq!(counts(&away), [20, 20, 0, 0, 20], "{away}");
        let reasons = away["reasons"].to_string();
        assert!(reasons.contains("302 leads to http://elsewhere.example, which is not"), "{away}");
        assert!(!reasons.contains("secret-token"), "{away}");
        assert_eq!(away["blame"]["target"], 20);

        let post = ["--method", "POST", "--body", "n={{counter}}", "--follow", "1"];
        for path in ["/see", "/keep"] {
            let of = by(path, &post);
            assert_eq!(counts(&of), [20, 20, 20, 20, 0], "{path} {of}");
        }
        let private = by("/in", &["--follow", "1", "--bearer", "abc"]);
        assert_eq!(counts(&private), [20, 20, 20, 20, 0], "{private}");

        // The time of a request is from when it was due; of the last answer alone its service.
        let slow = by("/slow", &["--follow", "1"]);
        assert_eq!(counts(&slow), [20, 20, 20, 20, 0], "{slow}");
        let p50 = |of: &str| slow[of]["p50"].as_f64().unwrap();
        assert!(p50("response_us") >= 60_000.0, "{slow}");
        assert!(p50("service_us") < 50_000.0, "{slow}");
    }
}
