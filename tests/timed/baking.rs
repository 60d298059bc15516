//! How much sooner instances are ready that start from an image.

use crate::baking::{bakes, left, place, run};
use plimsoll_testing::{Weight, has_instances};

#[test]
fn instances_start_from_an_image_in_less_time() {
    let test = "instances_start_from_an_image_in_less_time";
    for provider in ["process", "namespace"] {
        if provider == "namespace" && !has_instances(test) {
            continue;
        }
        let place = place(Weight::ALONE);
        let before = left(&place);
        let baked = bakes(&place, provider);
        let ms = |of: &str| baked["ready_ms"][of].as_u64().unwrap();
        // It sleeps for 2.5 s where it finds nothing.
        assert!(ms("without") >= 2500 && 2 * ms("with") <= ms("without"), "{baked}");
        // The rows and what the warming wrote; no script, no key, no log.
        assert_eq!((&baked["image"]["files"], &baked["image"]["role"]), (&2.into(), &"web".into()));
        let files = place.path("data/plimsoll/images/web/files");
        assert_eq!(std::fs::read_to_string(files.join("data/warm")).unwrap(), "warm\n");
        assert!(!files.join("key.conf").exists() && !files.join("start.sh").exists());
        let listed = run(&place, &["testbed", "images"]).ended_with(0);
        listed.prints(&["web", "2 files"]);
        // Nothing of the instances is left.
        assert_eq!(left(&place), before);

        let set = format!("testbed.provider={provider}");
        let with = ["run", "plan.toml", "--json", "--set", &set, "--set", "role.web.image=web"];
        let check = ["check", "plan.toml", "--set", "role.web.image=web", "--set", &set];
        run(&place, &check).ended_with(0).prints(&["copy the image web"]);
        let live = run(&place, &with).ran();
        assert!(!live.err.contains("another recipe"), "{}", live.err);
    }
}
