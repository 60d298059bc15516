//! `plimsoll testbed bake` and `plimsoll testbed images`.

use super::super::run::plan_text;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::place::place;
use crate::terminal::error::Result;
use crate::terminal::{pretty, print, say};
use crate::testbed_args::{TestbedBake, TestbedImages};
use plimsoll_experiment::image_folder::images as all;
use plimsoll_experiment::images::bake as make;
use plimsoll_experiment::servers::means;
use plimsoll_testbed::Action;
use plimsoll_testbed::bed::Hears;
use plimsoll_testbed::image::{AtCloud, Image};
use plimsoll_units::{show_duration, show_size};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// Makes an image of a role of a plan.
pub(super) fn bake(args: &TestbedBake, here: &Path) -> Result<Exit> {
    let interrupts = Interrupts::watch()?;
    let place = place(here);
    let text = plan_text(&args.plan, &args.set, args.testbed.as_deref())?;
    let plan = text.plan(&[], None, place.environment)?;
    let told = |action: &Action| {
        let of = if action.instance.is_empty() { "all" } else { &action.instance };
        let failed = if action.is_failed { ": failed" } else { "" };
        say(&format!("{of}: {}{failed}", action.name));
    };
    let is_ended = || interrupts.count() > 0;
    let hears = Hears { told: &told, is_ended: &is_ended, ..Hears::NOTHING };
    let of = (args.role.as_str(), args.name.as_deref());
    let baked = make(&plan, of, &place, hears, args.install)?;
    let (without, with) = (baked.without, baked.with);
    if args.json {
        let document = json!({
            "schema": 1, "warnings": [], "image": image(&baked.image),
            "ready_ms": { "without": ms(without), "with": ms(with) },
        });
        print(&pretty(&document)?)?;
        return Ok(Exit::Held);
    }
    let Image { name, role, .. } = &baked.image;
    print(&format!("{name}  of role.{role}: {}\n", held(&baked.image)))?;
    let shown = |of: Duration| show_duration(u64::try_from(of.as_nanos()).unwrap_or(u64::MAX));
    print(&format!("  ready after {} without it, {} with it\n", shown(without), shown(with)))?;
    print(&format!("start from it with: image = \"{name}\" in [role.{role}]\n"))?;
    Ok(Exit::Held)
}

/// Lists the images, or removes some.
pub(super) fn images(args: &TestbedImages, here: &Path) -> Result<Exit> {
    let place = place(here);
    let (images, surroundings) = (all(&place), means(&place).surroundings);
    args.remove.iter().try_for_each(|name| images.remove(name, surroundings))?;
    let found = images.all()?;
    if args.json {
        let found: Vec<Value> = found.iter().map(image).collect();
        let document = json!({ "schema": 1, "warnings": [], "images": found });
        print(&pretty(&document)?)?;
        return Ok(Exit::Held);
    }
    if found.is_empty() {
        print("no image\n")?;
    }
    for of in &found {
        print(&format!("{:<20}role.{}, {}\n", of.name, of.role, held(of)))?;
    }
    Ok(Exit::Held)
}

/// What an image holds, or where it is.
fn held(of: &Image) -> String {
    match &of.cloud {
        None => format!("{} files, {}", of.files.len(), show_size(of.bytes())),
        Some(AtCloud { at, name, id }) if id.is_empty() => {
            format!("{name} in {at}, not made to its end")
        }
        Some(AtCloud { at, id, .. }) => format!("{id} in {at}"),
    }
}

fn ms(of: Duration) -> u64 {
    u64::try_from(of.as_millis()).unwrap_or(u64::MAX)
}

fn image(of: &Image) -> Value {
    json!({
        "name": of.name, "role": of.role, "provider": of.provider, "recipe": of.recipe,
        "made_unix_ns": of.made_unix_ns, "files": of.files.len(), "bytes": of.bytes(),
        "cloud": of.cloud.as_ref().map(|of| json!({
            "region": of.at.region, "endpoint": of.at.endpoint, "name": of.name, "id": of.id,
        })),
    })
}
