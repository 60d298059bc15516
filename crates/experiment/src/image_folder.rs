//! Where the images of servers lie.

use std::path::PathBuf;

use plimsoll_testbed::image::Images;

use crate::prepare::Place;

/// The images of this host: below `XDG_DATA_HOME`, for root in `/var/lib`, else in the home folder.
#[must_use]
pub fn images(place: &Place<'_>) -> Images {
    let set = |name: &str| (place.environment)(name).filter(|of| of.starts_with('/'));
    // tidy: allow(shared-folder, `Images` opens it)
    let folder = match (set("XDG_DATA_HOME"), set("HOME")) {
        (Some(data), _) => PathBuf::from(data),
        (None, Some(home)) if home != "/root" => PathBuf::from(home).join(".local/share"),
        (None, _) => PathBuf::from("/var/lib"),
    };
    Images::below(folder.join("plimsoll/images"))
}
