//! Images of instances: the folder of one that was installed, configured and warmed, kept so that
//! others start from it.
//!
//! An image is a folder below that of all images, which only its owner may enter: `image.json` says
//! what it is, `files` has the tree. What is written anew for each instance is in no image: the
//! files of the recipe, with their addresses and secrets, those that are copied from beside the
//! plan, and what the instance said. So none holds a secret that the plan gives.
//!
//! Of an image that a cloud has made the folder says which it is, and has no tree. It is there
//! before the cloud is asked.

mod tree;

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use plimsoll_units::nearest;
use plimsoll_units::own::OwnFolder;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::cloud::{Cloud, Surroundings, Where};
use crate::error::TestbedError;

pub(crate) use tree::restore;
use tree::{capture, sync};

/// What an image is, in its folder; and its tree.
const ABOUT: &str = "image.json";
const FILES: &str = "files";
/// The longest text about an image, bytes.
const MOST_ABOUT: u64 = 256 << 20;
/// The longest name.
const MOST_NAME: usize = 63;
/// How the folder of an image is called that is not whole yet.
const NEW: &str = ".new-";
/// The version of the format.
pub(crate) const SCHEMA: u32 = 1;

/// A file of an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its path in the folder of the instance.
    pub path: String,
    /// Its length, bytes.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

/// What an image is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    pub(crate) schema: u32,
    /// Its name.
    pub name: String,
    /// The role of the instance that it is of.
    pub role: String,
    /// The provider of that instance.
    pub provider: String,
    /// What the instance was made by: the digest of its recipe, parameters and files.
    pub recipe: String,
    /// When it was made, nanoseconds since 1970.
    pub made_unix_ns: u64,
    /// How long the instance took until it was ready, without an image, milliseconds.
    pub ready_ms: u64,
    /// Its files; of one at a cloud none are here.
    pub files: Vec<Entry>,
    /// Where it is, where that is a cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud: Option<AtCloud>,
}

/// An image at a cloud, as this machine has it in its list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtCloud {
    /// The cloud.
    pub at: Where,
    /// Its name there, by which it is found whose id is not known.
    pub name: String,
    /// Its id; empty until the cloud has told it.
    pub id: String,
}

impl Image {
    /// How much its files hold, bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|of| of.bytes).sum()
    }
}

/// An image from which the instances of a role start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The image.
    pub image: Image,
    /// Its folder.
    pub folder: PathBuf,
}

/// The images of this host.
#[derive(Debug, Clone)]
pub struct Images {
    folder: PathBuf,
}

/// What an instance is that an image is made of.
pub(crate) struct Source<'a> {
    pub(crate) name: &'a str,
    pub(crate) role: &'a str,
    pub(crate) provider: &'a str,
    pub(crate) recipe: String,
    pub(crate) made_unix_ns: u64,
    pub(crate) ready_ms: u64,
    /// The folder of the instance, which has ended.
    pub(crate) folder: &'a Path,
    /// The paths in it that belong to no image.
    pub(crate) left_out: &'a [String],
}

impl Images {
    /// Those below a folder, which need not be there yet.
    #[must_use]
    pub fn below(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The image of a name, to start from.
    ///
    /// # Errors
    /// A name that no image has, with the nearest that one has; one that cannot be read.
    pub fn find(&self, name: &str) -> Result<Start, TestbedError> {
        check_name(name)?;
        let folder = self.folder.join(name);
        match self.read(name) {
            Ok(Some(image)) => Ok(Start { image, folder }),
            Ok(None) => {
                let all = self.all()?;
                let names: Vec<&str> = all.iter().map(|of| of.name.as_str()).collect();
                let near = nearest(name, names.iter().copied());
                let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
                Err(TestbedError::Wrong(format!(
                    "find the image `{name}` in {}: `plimsoll testbed bake` makes one{near}",
                    self.folder.display()
                )))
            }
            Err(error) => Err(error),
        }
    }

    /// What the image of a name is; `None` where there is none.
    fn read(&self, name: &str) -> Result<Option<Image>, TestbedError> {
        let Some(folder) = OwnFolder::open(&self.folder)? else { return Ok(None) };
        match folder.inner(OsStr::new(name)) {
            Err(error) if error.is_absent() => Ok(None),
            found => read(&found?).map(Some),
        }
    }

    /// All images, by their names.
    ///
    /// # Errors
    /// Where they cannot be read.
    pub fn all(&self) -> Result<Vec<Image>, TestbedError> {
        let Some(folder) = OwnFolder::open(&self.folder)? else { return Ok(Vec::new()) };
        let names = folder.names()?;
        let folders = names.iter().filter_map(|name| folder.inner(name).ok());
        // What is not whole has a name that no image has.
        let mut all: Vec<Image> = folders.filter_map(|of| read(&of).ok()).collect();
        all.retain(|of| check_name(&of.name).is_ok());
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// Removes an image; one at a cloud there first.
    ///
    /// # Errors
    /// A name that no image has; what cannot be removed: it stays in the list.
    pub fn remove(
        &self,
        name: &str,
        surroundings: Option<Surroundings>,
    ) -> Result<(), TestbedError> {
        let Start { image, folder } = self.find(name)?;
        if let (Some(AtCloud { at, name, id }), Some(surroundings)) = (image.cloud, surroundings) {
            let cloud = Cloud::new(at, surroundings)?;
            let found = if id.is_empty() { cloud.image_named(&name) } else { cloud.image(&id) };
            found?.map_or(Ok(()), |of| cloud.remove_image(&of))?;
        }
        remove_all(&folder)
    }

    /// Refuses a name for an image at a cloud that another image has: that would be forgotten, and
    /// cost.
    ///
    /// # Errors
    /// Such a name.
    pub(crate) fn is_free(&self, name: &str) -> Result<(), TestbedError> {
        check_name(name)?;
        if !self.folder.join(name).exists() {
            return Ok(());
        }
        Err(TestbedError::Wrong(format!(
            "make the image `{name}`: there is one; say another --name, or remove it by `plimsoll \
             testbed images --remove {name}`"
        )))
    }

    /// Takes an image at a cloud into the list, which is on the disk when this returns.
    ///
    /// # Errors
    /// What cannot be written.
    pub(crate) fn note(&self, image: &Image) -> Result<(), TestbedError> {
        let new = self.begun(&image.name)?;
        self.put(&new, image)
    }

    /// Takes an image out of the list that was never begun.
    ///
    /// # Errors
    /// What cannot be removed.
    pub(crate) fn forget(&self, name: &str) -> Result<(), TestbedError> {
        remove_all(&self.folder.join(name))
    }

    /// The folder of an image that is not whole yet.
    fn begun(&self, name: &str) -> Result<PathBuf, TestbedError> {
        let new = self.folder.join(format!("{NEW}{name}"));
        OwnFolder::make(&self.folder)?;
        remove_all(&new)?;
        let made = DirBuilder::new().mode(0o700).create(&new);
        made.map_err(TestbedError::file("make", &new))?;
        Ok(new)
    }

    /// Puts an image in its place, that of one of its name.
    fn put(&self, new: &Path, image: &Image) -> Result<(), TestbedError> {
        let (about, place) = (new.join(ABOUT), self.folder.join(&image.name));
        let text = serde_json::to_string_pretty(image).map_err(std::io::Error::other);
        let written = text.and_then(|text| fs::write(&about, text + "\n"));
        written.map_err(TestbedError::file("write", &about))?;
        sync(new)?;
        remove_all(&place)?;
        fs::rename(new, &place).map_err(TestbedError::file("make", &place))
    }

    /// Makes an image of an instance that has ended, in the place of one of that name.
    ///
    /// # Errors
    /// A name that none may have; a folder that holds too much; what cannot be written.
    pub(crate) fn make(&self, of: &Source<'_>) -> Result<Image, TestbedError> {
        check_name(of.name)?;
        let new = self.begun(of.name)?;
        let folder = new.join(FILES);
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(TestbedError::file("make", &folder))?;
        let files = capture(of.folder, &folder, of.left_out)?;
        let image = Image {
            schema: SCHEMA,
            name: of.name.to_owned(),
            role: of.role.to_owned(),
            provider: of.provider.to_owned(),
            recipe: of.recipe.clone(),
            made_unix_ns: of.made_unix_ns,
            ready_ms: of.ready_ms,
            files,
            cloud: None,
        };
        self.put(&new, &image)?;
        Ok(image)
    }
}

impl Start {
    /// Puts the files of the image into the folder of a new instance, which are its user's then.
    pub(crate) fn restore(&self, to: &Path, user: Option<&str>) -> Result<(), TestbedError> {
        restore(&self.folder.join(FILES), to, user, &self.image.files)
    }
}

fn remove_all(folder: &Path) -> Result<(), TestbedError> {
    Ok(plimsoll_units::erase::tree(folder).map(drop)?)
}

/// Refuses a name that leads elsewhere, or that no image may have.
fn check_name(name: &str) -> Result<(), TestbedError> {
    let is_of_one = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_plain = (1..=MOST_NAME).contains(&name.len())
        && name.chars().all(is_of_one)
        && !name.starts_with('.');
    if is_plain {
        return Ok(());
    }
    Err(TestbedError::Wrong(format!(
        "name an image `{name}`: expected 1 to {MOST_NAME} letters, digits, -, _ and ., with no . \
         first"
    )))
}

/// Reads what the image in a folder is.
fn read(folder: &OwnFolder) -> Result<Image, TestbedError> {
    use std::io::Read as _;
    let failed = TestbedError::file("read", folder.path().join(ABOUT));
    let file = folder.file(OsStr::new(ABOUT), OFlags::RDONLY)?;
    let folder = folder.path();
    let mut text = String::new();
    file.take(MOST_ABOUT).read_to_string(&mut text).map_err(failed)?;
    let image: Image = serde_json::from_str(&text).map_err(|error| {
        TestbedError::Wrong(format!("read the image in {}: {error}", folder.display()))
    })?;
    if image.schema > SCHEMA {
        let text = format!("read the image in {}: a later version made it", folder.display());
        return Err(TestbedError::Wrong(text));
    }
    Ok(image)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_units::failure::Failure as _;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn source<'a>(name: &'a str, folder: &'a Path, left_out: &'a [String]) -> Source<'a> {
        Source {
            name,
            role: "web",
            provider: "process",
            recipe: "digest".to_owned(),
            made_unix_ns: 1,
            ready_ms: 2,
            folder,
            left_out,
        }
    }

    #[test]
    fn what_an_instance_has_is_there_again_but_for_what_is_left_out() {
        let place = tempfile::tempdir().unwrap();
        let (own, other) = (place.path().join("own"), place.path().join("other"));
        fs::create_dir_all(own.join("data/deep")).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(own.join("data/deep/rows"), "rows").unwrap();
        fs::write(own.join("data/tool"), "#!").unwrap();
        fs::set_permissions(own.join("data/tool"), PermissionsExt::from_mode(0o755)).unwrap();
        fs::write(own.join("site.conf"), "a secret").unwrap();
        symlink("deep/rows", own.join("data/link")).unwrap();
        symlink("/etc", own.join("out")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(own.join("control")).unwrap();
        let images = Images::below(place.path().join("images"));
        assert!(images.all().unwrap().is_empty());
        let left_out = ["site.conf".to_owned()];
        let image = images.make(&source("web", &own, &left_out)).unwrap();
        let paths: Vec<&str> = image.files.iter().map(|of| of.path.as_str()).collect();
        assert_eq!(paths, ["data/deep/rows", "data/tool"]);
        assert_eq!((image.bytes(), images.all().unwrap()), (6, vec![image.clone()]));
        images.find("web").unwrap().restore(&other, None).unwrap();
        assert_eq!(fs::read_to_string(other.join("data/link")).unwrap(), "rows");
        assert_eq!(fs::read_link(other.join("out")).unwrap(), Path::new("/etc"));
        let mode = fs::metadata(other.join("data/tool")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        assert!(!other.join("site.conf").exists() && !other.join("control").exists());
        // It takes the place of one that is there, and goes.
        fs::write(own.join("data/tool"), "longer").unwrap();
        assert_eq!(images.make(&source("web", &own, &left_out)).unwrap().bytes(), 10);
        let told = images.find("webb").unwrap_err();
        assert!(told.hint().is_some_and(|hint| hint.contains("did you mean web?")), "{told}");
        images.remove("web", None).unwrap();
        assert!(images.find("web").is_err() && images.all().unwrap().is_empty());
    }

    #[test]
    fn no_name_leads_elsewhere() {
        let images = Images::below("/nowhere".into());
        for name in ["", ".", "..", "../x", "a/b", ".new-a", &"n".repeat(64)] {
            let told = images.find(name).unwrap_err().to_string();
            assert!(told.contains("name an image"), "{name}: {told}");
        }
    }

    #[test]
    fn what_was_changed_in_an_image_is_not_started_from() {
        let place = tempfile::tempdir().unwrap();
        let (own, other) = (place.path().join("own"), place.path().join("other"));
        fs::create_dir(&own).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(own.join("rows"), "rows").unwrap();
        let images = Images::below(place.path().join("images"));
        images.make(&source("web", &own, &[])).unwrap();
        let start = images.find("web").unwrap();
        fs::write(start.folder.join(FILES).join("rows"), "rowz").unwrap();
        let told = start.restore(&other, None).unwrap_err().to_string();
        assert!(told.contains("its file rows is not as it was made"), "{told}");
    }
}
