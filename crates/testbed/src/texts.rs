//! The texts of an instance: templates of its recipe, filled in with what is known of it. What is
//! secret goes into files and to collectors, and into no command.

use std::collections::BTreeMap;

use crate::error::TestbedError;
use crate::recipe::{self, Content, Facts, Scalar, Stands, fill};
use crate::role::{Instance, Role};

/// What the texts of an instance are filled in with.
pub(crate) struct Texts<'a> {
    role: &'a Role,
    instance: &'a Instance,
    plimsoll: String,
    folder: String,
    stand: &'a BTreeMap<String, Stands>,
    /// The parameters that are no secrets.
    open: BTreeMap<String, Scalar>,
    /// All of them.
    all: BTreeMap<String, Scalar>,
}

/// A text that is filled in.
pub(crate) struct Filled {
    pub(crate) text: String,
    /// Whether it has a secret in it.
    pub(crate) is_secret: bool,
}

impl<'a> Texts<'a> {
    /// The texts of an instance of a role; `plimsoll` is this program's own file.
    ///
    /// # Errors
    /// A parameter that the recipe does not have, or that cannot be filled in.
    pub(crate) fn of(
        role: &'a Role,
        instance: &'a Instance,
        plimsoll: &std::path::Path,
        stand: &'a BTreeMap<String, Stands>,
    ) -> Result<Self, TestbedError> {
        let mut texts = Self {
            role,
            instance,
            plimsoll: plimsoll.display().to_string(),
            folder: instance.folder.display().to_string(),
            stand,
            open: BTreeMap::new(),
            all: BTreeMap::new(),
        };
        let mut open = texts.known(&role.vars)?;
        open.retain(|name, value| {
            !matches!(value, Scalar::Secret(_)) && !role.secrets.vars.contains_key(name)
        });
        // A value of the plan may name a role before this one.
        for (name, value) in &mut open {
            if let Scalar::Text(text) = value
                && text.contains("{{")
            {
                let what = format!("role.{}.vars.{name}", role.name);
                *text = texts.render(&what, text, &BTreeMap::new())?;
            }
        }
        let secrets = role.secrets.vars.iter();
        let secrets = secrets.map(|(name, value)| (name.clone(), Scalar::Text(value.clone())));
        texts.all = open.clone().into_iter().chain(secrets).collect();
        for (name, value) in &texts.all {
            recipe::takes(&role.recipe.recipe, name, value).map_err(|why| {
                TestbedError::Wrong(format!("set role.{}.vars.{name}: {why}", role.name))
            })?;
        }
        texts.open = open;
        Ok(texts)
    }

    /// The recipe's parameters, and the plan's over them.
    fn known(
        &self,
        given: &BTreeMap<String, Scalar>,
    ) -> Result<BTreeMap<String, Scalar>, TestbedError> {
        let mut vars = self.role.recipe.recipe.vars.clone();
        let names = given.keys().chain(self.role.secrets.vars.keys());
        if let Some(name) = names.into_iter().find(|name| !vars.contains_key(*name)) {
            let known: Vec<&str> = vars.keys().map(String::as_str).collect();
            return Err(TestbedError::Wrong(format!(
                "set role.{}.vars.{name}: its recipe has {}",
                self.role.name,
                known.join(", ")
            )));
        }
        vars.extend(given.clone());
        Ok(vars)
    }

    fn render(
        &self,
        what: &str,
        text: &str,
        vars: &BTreeMap<String, Scalar>,
    ) -> Result<String, TestbedError> {
        let Instance { address, port, name, number, .. } = self.instance;
        let facts = Facts {
            address,
            port: *port,
            folder: &self.folder,
            name,
            number: *number,
            count: self.role.count,
            plimsoll: &self.plimsoll,
            vars,
            role: self.stand,
        };
        fill(what, text, facts)
    }

    /// A text that may have secrets in it.
    pub(crate) fn fill(&self, what: &str, text: &str) -> Result<Filled, TestbedError> {
        let with = self.render(what, text, &self.all)?;
        let has_secrets = self.all.len() > self.open.len();
        // A secret may be changed by a filter: what counts is whether the text hangs on it.
        let is_secret = has_secrets
            && self.render(what, text, &self.open).map_or(true, |without| without != with);
        Ok(Filled { text: with, is_secret })
    }

    /// A word of a command, which everybody may read who lists processes.
    ///
    /// # Errors
    /// One that has a secret in it.
    pub(crate) fn word(&self, what: &str, text: &str) -> Result<String, TestbedError> {
        match self.fill(what, text)? {
            Filled { text, is_secret: false } => Ok(text),
            _ => Err(TestbedError::Wrong(format!(
                "fill in {what}: `{text}` would hold a secret, and everybody sees the arguments of \
                 commands; write it into a file by `write`, or hand it on by `environment`"
            ))),
        }
    }

    /// What a file of the recipe holds.
    pub(crate) fn content(
        &self,
        what: &str,
        path: &str,
        content: &Content,
    ) -> Result<Filled, TestbedError> {
        match content {
            Content::Template(text) => self.fill(what, text),
            Content::Secret(from) => {
                let text = self.role.secrets.texts.get(path).cloned();
                let text = text.ok_or_else(|| {
                    TestbedError::Wrong(format!("write {what}: {} was not read", from.source()))
                })?;
                Ok(Filled { text, is_secret: true })
            }
        }
    }
}
