//! Images of servers: what makes one of a plan's role, and which of those that roles start from are
//! of another recipe by now.

use std::path::Path;
use std::time::Duration;

use plimsoll_plan::{Plan, Provider};
use plimsoll_testbed::bed::Hears;
use plimsoll_testbed::crew::{Baked, with_crew};
use plimsoll_testbed::{Bed, recipe_of};
use plimsoll_units::nearest;

use crate::error::ExperimentError;
use crate::image_folder::images;
use crate::money;
use crate::prepare::Place;
use crate::servers::{bed, bed_id, install};

/// How long a rented instance is planned to be there of which an image is made.
const LASTS: Duration = Duration::from_secs(2 * 3600);

/// What a reader should know of the images that the roles of a bed start from: those of another
/// recipe, or of other parameters and files, than the role has now.
///
/// # Errors
/// A file of a role that cannot be read.
pub(crate) fn stale(bed: &Bed) -> Result<Vec<String>, ExperimentError> {
    let mut stale = Vec::new();
    for role in &bed.roles {
        let Some(of) = &role.image else { continue };
        let (name, image) = (&role.name, &of.image.name);
        if of.image.recipe != recipe_of(role)? {
            stale.push(format!(
                "role.{name} starts from the image `{image}`, which was made by another recipe, or \
                 with other parameters and files, than the role has now: `plimsoll testbed bake` \
                 makes it anew"
            ));
        }
    }
    Ok(stale)
}

/// Makes an image of an instance of a role of a plan, behind the roles that stand before it. It is
/// named as the role, where no name is given. Packages are installed where `installs` says so.
///
/// # Errors
/// A plan without servers, or without that role; what keeps them from standing; what cannot be
/// kept.
pub fn bake(
    plan: &Plan,
    (role, name): (&str, Option<&str>),
    place: &Place<'_>,
    hears: Hears<'_>,
    installs: bool,
) -> Result<Baked, ExperimentError> {
    let conflict = |text: String| ExperimentError::Conflict(text);
    let provider = plan.testbed.as_ref().map(|of| of.provider);
    if provider == Some(Provider::Ssh) {
        return Err(conflict(
            "make an image of an instance on another host: images are of this one; say provider = \
             \"process\" or \"namespace\" in [testbed]"
                .to_owned(),
        ));
    }
    let id = bed_id(Path::new("bake"), 0, (place.now_ns)());
    let mut plan = plan.clone();
    // What it starts from now is what is made anew.
    let all = images(place);
    let is_ours = |name: &String| provider != Some(Provider::Ec2) || all.find(name).is_ok();
    let of_it = plan.roles.iter_mut().filter(|(of, _)| of == role);
    of_it.for_each(|(_, of)| of.image = of.image.take().filter(|name| !is_ours(name)));
    let bed = bed(&plan, id, place)?;
    let mut bed = bed.ok_or_else(|| {
        conflict("make an image of a server: the plan has no [testbed] that starts any".to_owned())
    })?;
    let Some(at) = bed.roles.iter().position(|of| of.name == role) else {
        let names: Vec<&str> = bed.roles.iter().map(|of| of.name.as_str()).collect();
        let near = nearest(role, names.iter().copied());
        let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
        let text =
            format!("make an image of the role `{role}`: the plan has {}{near}", names.join(", "));
        return Err(conflict(text));
    };
    // Roles behind it are not needed.
    bed.roles.truncate(at + 1);
    bed.roles[at].count = 1;
    if installs {
        install(&bed, place)?;
    }
    bed.roles[at].count = 0;
    bed.provider.rents().into_iter().for_each(|of| of.lasts(LASTS));
    let (name, now_ns, ledgers) =
        (name.unwrap_or(role), (place.now_ns)(), money::ledgers(&plan, place));
    with_crew(&bed, role, &ledgers, hears, |_, crew| Ok(crew.bake(&all, name, now_ns)?))
}
