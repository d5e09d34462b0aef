//! Reads machines from hwloc's XML, in this process.

use super::error::MachineError;
use super::hwloc::{guarded, indexes, snapshot};
use super::model::{Excluded, Machine, Origin};
use hwlocality::topology::builder::TopologyBuilder;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Why a text is not accepted as a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Refused {
    /// hwloc does not accept it.
    Invalid,
    /// Its format has this version, which is newer than this hwloc supports.
    TooNew(String),
}

impl Refused {
    pub(super) fn of_file(self, path: &Path) -> MachineError {
        let path: PathBuf = path.to_owned();
        match self {
            Self::Invalid => MachineError::XmlInvalid { path },
            Self::TooNew(version) => MachineError::XmlTooNew { path, version },
        }
    }
}

impl Machine {
    /// A machine from an XML file, as written by `lstopo machine.xml` on that machine. It is read in this process: only
    /// use it for trusted files, because hwloc crashes or hangs on some damaged ones. See [`Machine::describe`].
    ///
    /// # Errors
    /// When the file cannot be read or is invalid.
    pub fn from_xml(path: impl AsRef<Path>) -> Result<Self, MachineError> {
        let path = path.as_ref();
        let xml = std::fs::read_to_string(path)
            .map_err(|source| MachineError::XmlUnreadable { path: path.to_owned(), source })?;
        let machine = parse(&xml).map_err(|refused| refused.of_file(path))?;
        Ok(Self { origin: Origin::Xml(path.display().to_string()), ..machine })
    }
}

/// Parses a machine; its origin does not yet have the name of the file.
pub(super) fn parse(xml: &str) -> Result<Machine, Refused> {
    if let Some(version) = version(xml)
        && version.split('.').next().and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major > 2)
    {
        return Err(Refused::TooNew(version.to_owned()));
    }
    let topology = guarded(|| TopologyBuilder::new().from_xml(xml).ok()?.build().ok()).ok_or(Refused::Invalid)?;
    let excluded = Excluded {
        offline: indexes(topology.complete_cpuset().iter_set()).difference(&indexes(topology.cpuset().iter_set())),
        ..Excluded::default()
    };
    Ok(snapshot(&topology, Origin::Xml(String::new()), excluded))
}

/// The version of the format: an attribute of the root element since hwloc 2.
fn version(xml: &str) -> Option<&str> {
    let (_, root) = xml.split_once("<topology")?;
    let (attributes, _) = root.split_once('>')?;
    let (_, value) = attributes.split_once("version=\"")?;
    value.split_once('"').map(|(version, _)| version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_root_element() {
        let head = "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n";
        assert_eq!(version(&format!("{head}<topology version=\"2.0\">")), Some("2.0"));
        assert_eq!(version(&format!("{head}<topology  version=\"3.0\" a=\"b\">")), Some("3.0"));
        assert_eq!(version(&format!("{head}<topology>\n<object version=\"9\">")), None);
        assert_eq!(version(&format!("{head}<topology version=\"3.0")), None);
    }

    #[test]
    fn a_newer_xml_format_is_refused_as_too_new() {
        assert_eq!(parse("<topology version=\"3.0\"></topology>").err(), Some(Refused::TooNew("3.0".to_owned())));
        assert_eq!(parse("<topology version=\"2.0\"></topology>").err(), Some(Refused::Invalid));
    }
}
