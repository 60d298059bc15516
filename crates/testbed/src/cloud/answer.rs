//! What a cloud tells of instances, and which of them are meant. What came from outside is checked
//! before it is used.

use std::collections::BTreeMap;

use plimsoll_units::civil;

use super::xml::Element;

/// Whether a text from outside may stand in an address, a name, or a command: 1 to 253 letters,
/// digits, `.`, `:` and `-`.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    let is_one = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '-');
    (1..=253).contains(&text.len()) && text.chars().all(is_one)
}

/// A condition on instances: one of these values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Of what: `tag:KEY`, `client-token`, `instance-id`, `instance-state-name`.
    pub name: String,
    /// The values.
    pub values: Vec<String>,
}

impl Filter {
    /// A condition.
    #[must_use]
    pub fn new(name: &str, values: &[&str]) -> Self {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Self { name: name.to_owned(), values }
    }

    /// The condition on a tag.
    #[must_use]
    pub fn tag(key: &str, value: &str) -> Self {
        Self::new(&format!("tag:{key}"), &[value])
    }

    /// Whether an instance holds it; `None` for one of another kind.
    fn holds(&self, of: &Rented) -> Option<bool> {
        let is_one = |value: &str| self.values.iter().any(|wanted| wanted == value);
        Some(match (self.name.as_str(), self.name.strip_prefix("tag:")) {
            (_, Some(key)) => of.tags.get(key).is_some_and(|value| is_one(value)),
            ("client-token", _) => is_one(&of.token),
            ("instance-id", _) => is_one(&of.id),
            ("instance-state-name", _) => is_one(&of.state),
            _ => return None,
        })
    }
}

/// Those of some instances that hold all of these conditions.
pub(crate) fn all_match(found: Vec<Rented>, filters: &[Filter]) -> Result<Vec<Rented>, String> {
    let mut kept = Vec::new();
    for one in found {
        let mut is_meant = true;
        for filter in filters {
            let holds = filter.holds(&one);
            let unknown = || format!("choose instances by `{}`: it is not known", filter.name);
            is_meant &= holds.ok_or_else(unknown)?;
        }
        kept.extend(is_meant.then_some(one));
    }
    Ok(kept)
}

/// An instance, as its cloud tells of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rented {
    /// Its id: `i-…`.
    pub id: String,
    /// `pending`, `running`, `shutting-down`, `terminated`, `stopping`, `stopped`.
    pub state: String,
    /// Why it is in that state, where it was told.
    pub reason: String,
    /// The instance type.
    pub kind: String,
    /// When it was launched: `2026-03-01T12:00:00.000Z`.
    pub launched: String,
    /// Its address within the cloud.
    pub private: Option<String>,
    /// Its address for those outside.
    pub public: Option<String>,
    /// The client token that it was started with.
    pub token: String,
    /// Its tags. Their values are any text.
    pub tags: BTreeMap<String, String>,
}

impl Rented {
    /// Reads an item of `instancesSet`; `None` where it has no id that is one.
    pub(crate) fn read(of: &Element) -> Option<Self> {
        let text = |name: &str| of.at(&[name]).to_owned();
        let address = |name: &str| Some(text(name)).filter(|text| is_plain(text));
        let reason = [of.at(&["stateReason", "message"]), of.at(&["reason"])];
        let reason = reason.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
        let reason = reason.chars().filter(|c| !c.is_control()).take(200).collect();
        let tag = |of: &Element| (of.at(&["key"]).to_owned(), of.at(&["value"]).to_owned());
        Some(Self {
            id: Some(text("instanceId")).filter(|id| is_plain(id))?,
            state: Some(of.at(&["instanceState", "name"]).to_owned())
                .filter(|state| is_plain(state))?,
            reason,
            kind: text("instanceType"),
            launched: text("launchTime"),
            private: address("privateIpAddress"),
            public: address("ipAddress"),
            token: text("clientToken"),
            tags: of.items("tagSet").map(tag).collect(),
        })
    }

    /// Whether it may cost something: it has not ended, and does not end just now.
    #[must_use]
    pub fn costs(&self) -> bool {
        !matches!(self.state.as_str(), "terminated" | "shutting-down")
    }

    /// Where we reach it: by its address for those outside, where it has one.
    #[must_use]
    pub fn address(&self) -> Option<&str> {
        self.public.as_deref().or(self.private.as_deref())
    }
}

/// Seconds since 1970 of a date of HTTP: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(crate) fn http_date_s(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, day, month, year, clock, _] = words.try_into().ok()?;
    let month = MONTHS.iter().position(|of| *of == month)? + 1;
    let (day, month) = (day.parse().ok()?, u32::try_from(month).ok()?);
    let year: u16 = year.parse().ok()?;
    let parts: Vec<i64> = clock.split(':').map(|of| of.parse().ok()).collect::<Option<_>>()?;
    let [hour, minute, second] = parts.try_into().ok()?;
    let is_clock =
        (0..24).contains(&hour) && (0..60).contains(&minute) && (0..61).contains(&second);
    let is_date = civil::is_date(year.into(), month, day) && is_clock;
    let days = civil::days(year.into(), month, day);
    is_date.then_some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ITEM: &str = "<item><instanceId>i-1</instanceId>\
        <instanceState><code>16</code><name>running</name></instanceState>\
        <privateIpAddress>10.0.0.4</privateIpAddress><ipAddress>54.1.2.3</ipAddress>\
        <clientToken>t</clientToken><tagSet><item><key>a</key><value>b</value></item></tagSet>\
        </item>";

    #[test]
    fn an_instance_is_read_with_its_addresses_and_tags() {
        let of = Rented::read(&Element::read(ITEM).unwrap()).unwrap();
        assert_eq!((of.id.as_str(), of.address()), ("i-1", Some("54.1.2.3")));
        assert_eq!(of.tags.get("a").map(String::as_str), Some("b"));
        let chosen = |filter: Filter| all_match(vec![of.clone()], &[filter]).map(|all| all.len());
        assert_eq!(chosen(Filter::tag("a", "b")), Ok(1));
        assert_eq!(chosen(Filter::tag("a", "c")), Ok(0));
        assert_eq!(chosen(Filter::new("client-token", &["s", "t"])), Ok(1));
        assert!(chosen(Filter::new("colour", &["red"])).is_err());
    }

    #[test]
    fn what_would_be_more_than_a_name_is_left_out() {
        let bad = ITEM.replace("54.1.2.3", "54.1.2.3;reboot");
        let of = Rented::read(&Element::read(&bad).unwrap()).unwrap();
        assert_eq!(of.address(), Some("10.0.0.4"));
        let bad = ITEM.replace("i-1", "../i");
        assert_eq!(Rented::read(&Element::read(&bad).unwrap()), None);
    }

    #[test]
    fn a_date_of_http_is_a_time() {
        assert_eq!(http_date_s("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(http_date_s("Sun, 31 Feb 1994 08:49:37 GMT"), None);
        assert_eq!(http_date_s("now"), None);
    }
}
