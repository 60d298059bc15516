//! Images of instances at a cloud: made, waited for, looked for by their names, and removed with
//! what they lie on.
//!
//! Source: *Amazon EC2 API Reference*: CreateImage, DescribeImages, DeregisterImage,
//! DeleteSnapshot.

use std::time::Duration;

use super::answer::is_plain;
use super::client::{Cloud, parameter, tags_of};
use super::error::CloudError;
use super::xml::Element;

/// How long it may take until an image can be started from.
const MADE: Duration = Duration::from_secs(3600);
/// How long a cloud may take until it knows what it has just made.
const KNOWN: Duration = Duration::from_secs(60);
/// The first pause between two looks at it, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));

/// An image, as its cloud tells of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Made {
    /// Its id: `ami-…`.
    pub(crate) id: String,
    /// `pending`, `available`, `failed`.
    pub(crate) state: String,
    /// Why it is in that state, where it was told.
    reason: String,
    name: String,
    /// The snapshots that it lies on.
    snapshots: Vec<String>,
}

impl Made {
    fn read(of: &Element) -> Option<Self> {
        let text = |name: &str| of.at(&[name]).to_owned();
        let reason = of.at(&["stateReason", "message"]);
        let snapshots = of.items("blockDeviceMapping");
        let snapshots = snapshots.map(|of| of.at(&["ebs", "snapshotId"]).to_owned());
        Some(Self {
            id: Some(text("imageId")).filter(|id| is_plain(id))?,
            state: Some(text("imageState")).filter(|state| is_plain(state))?,
            reason: reason.chars().filter(|c| !c.is_control()).take(200).collect(),
            name: text("name"),
            snapshots: snapshots.filter(|id| is_plain(id)).collect(),
        })
    }
}

impl Cloud {
    /// Makes an image of an instance, which is restarted for that. Returns the image's id. The same
    /// name is never two images: where it is not known whether it was begun, it is looked for.
    ///
    /// # Errors
    /// Where the cloud refuses, or does not answer in time.
    pub(crate) fn create_image(
        &self,
        instance: &str,
        name: &str,
        tags: &[(String, String)],
        is_ended: &dyn Fn() -> bool,
    ) -> Result<String, CloudError> {
        let mut with = vec![parameter("InstanceId", instance), parameter("Name", name)];
        if self.tags_at_start() {
            with.push(parameter("TagSpecification.1.ResourceType", "image"));
            with.extend(tags_of("TagSpecification.1.Tag", tags));
        }
        let read = |answer: &Element| match answer.at(&["imageId"]) {
            image if is_plain(image) => Ok(image.to_owned()),
            _ => Err(CloudError::Answer {
                action: "CreateImage".to_owned(),
                why: "it names no image".to_owned(),
            }),
        };
        let begun = |error: &CloudError| match error.is_open() {
            true => Ok(self.image_named(name)?.map(|of| of.id)),
            false => Ok(None),
        };
        let made = match self.call(("CreateImage", &with), read, begun, is_ended) {
            Err(error) if error.code() == "InvalidAMIName.Duplicate" => {
                self.image_named(name)?.map(|of| of.id).ok_or(error)
            }
            made => made,
        }?;
        if !self.tags_at_start() && self.at().has_tags() {
            // It is known by its name too.
            let _ = self.tag(&made, tags);
        }
        Ok(made)
    }

    /// Waits until an image can be started from, with growing pauses.
    ///
    /// # Errors
    /// One that cannot be made; where it takes too long, or the user has ended it.
    pub(crate) fn image_is_made(
        &self,
        id: &str,
        is_ended: &dyn Fn() -> bool,
    ) -> Result<(), CloudError> {
        let deadline = self.within(MADE);
        let mut pause = PAUSES.0;
        loop {
            // What was asked before this host stood still says nothing of now.
            let (is_last, is_unknown) = (deadline.is_over(), deadline.passed() > KNOWN);
            match self.images(&[parameter("ImageId.1", id)], is_ended)?.pop() {
                Some(of) if of.state == "available" => return Ok(()),
                Some(Made { state, reason, .. }) if state != "pending" => {
                    return Err(CloudError::Gone { instance: id.to_owned(), state, reason });
                }
                None if is_unknown => {
                    let (state, reason) = ("not there".to_owned(), String::new());
                    return Err(CloudError::Gone { instance: id.to_owned(), state, reason });
                }
                _ => {}
            }
            if is_ended() {
                return Err(CloudError::Interrupted);
            }
            if is_last {
                let (what, limit) = (format!("wait for the image {id}"), MADE);
                return Err(CloudError::TooLong { what, limit });
            }
            self.wait(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// The own image of a name.
    ///
    /// # Errors
    /// Where the cloud refuses, or does not answer in time.
    pub(crate) fn image_named(&self, name: &str) -> Result<Option<Made>, CloudError> {
        let mut with = vec![parameter("Owner.1", "self")];
        if self.at().has_tags() {
            with.extend([parameter("Filter.1.Name", "name"), parameter("Filter.1.Value.1", name)]);
        }
        Ok(self.images(&with, &|| false)?.into_iter().find(|of| of.name == name))
    }

    /// The image of an id.
    ///
    /// # Errors
    /// As for [`Cloud::image_named`].
    pub(crate) fn image(&self, id: &str) -> Result<Option<Made>, CloudError> {
        Ok(self.images(&[parameter("ImageId.1", id)], &|| false)?.pop())
    }

    fn images(
        &self,
        with: &[(String, String)],
        is_ended: &dyn Fn() -> bool,
    ) -> Result<Vec<Made>, CloudError> {
        let read =
            |answer: &Element| Ok(answer.items("imagesSet").filter_map(Made::read).collect());
        let with = with.to_vec();
        match self.call(("DescribeImages", &with), read, |_| Ok(None), is_ended) {
            Err(error) if error.code().starts_with("InvalidAMIID") => Ok(Vec::new()),
            found => found,
        }
    }

    /// Removes an image, and the snapshots that it lies on. What is not there any more is removed.
    ///
    /// # Errors
    /// Where the cloud refuses, or does not answer in time.
    pub(crate) fn remove_image(&self, of: &Made) -> Result<(), CloudError> {
        let gone = |removed: Result<(), CloudError>, code: &str| match removed {
            Err(error) if error.code().starts_with(code) => Ok(()),
            removed => removed,
        };
        let call = |action: &str, name: &str, id: &str| {
            let with = vec![parameter(name, id)];
            self.call((action, &with), |_| Ok(()), |_| Ok(None), &|| false)
        };
        gone(call("DeregisterImage", "ImageId", &of.id), "InvalidAMIID")?;
        of.snapshots.iter().try_for_each(|id| {
            gone(call("DeleteSnapshot", "SnapshotId", id), "InvalidSnapshot.NotFound")
        })
    }
}
