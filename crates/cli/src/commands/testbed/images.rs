//! `plimsoll testbed bake` and `plimsoll testbed images`.

use super::super::run::plan_text;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::place::place;
use crate::terminal::error::Result;
use crate::terminal::{pretty, print, say};
use crate::testbed_args::{TestbedBake, TestbedImages};
use plimsoll_experiment::images::bake as make;
use plimsoll_experiment::servers::images as all;
use plimsoll_testbed::Action;
use plimsoll_testbed::bed::Hears;
use plimsoll_testbed::image::Image;
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
    let Image { name, role, files, .. } = &baked.image;
    let size = show_size(baked.image.bytes());
    print(&format!("{name}  of role.{role}: {} files, {size}\n", files.len()))?;
    let shown = |of: Duration| show_duration(u64::try_from(of.as_nanos()).unwrap_or(u64::MAX));
    print(&format!("  ready after {} without it, {} with it\n", shown(without), shown(with)))?;
    print(&format!("start from it with: image = \"{name}\" in [role.{role}]\n"))?;
    Ok(Exit::Held)
}

/// Lists the images, or removes some.
pub(super) fn images(args: &TestbedImages, here: &Path) -> Result<Exit> {
    let images = all(&place(here));
    args.remove.iter().try_for_each(|name| images.remove(name))?;
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
        let (name, role, size) = (&of.name, &of.role, show_size(of.bytes()));
        print(&format!("{name:<20}role.{role}, {} files, {size}\n", of.files.len()))?;
    }
    Ok(Exit::Held)
}

fn ms(of: Duration) -> u64 {
    u64::try_from(of.as_millis()).unwrap_or(u64::MAX)
}

fn image(of: &Image) -> Value {
    json!({
        "name": of.name, "role": of.role, "provider": of.provider, "recipe": of.recipe,
        "made_unix_ns": of.made_unix_ns, "files": of.files.len(), "bytes": of.bytes(),
    })
}
