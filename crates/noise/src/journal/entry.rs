//! One line of the journal: the original value, and how to undo the change.

use serde::{Deserialize, Serialize};
use tare_cpuset::CpuSet;

/// How the text of a settings file represents its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// The text itself.
    Plain,
    /// A list of choices with the current one in brackets: `always [madvise] never`. Written as the plain word.
    Choice,
    /// A list of CPUs, which the kernel may print in another form than it was written.
    CpuList,
}

impl Format {
    /// The value of the file's text `raw`, in a normalized form for comparison.
    pub(crate) fn value(self, raw: &str) -> String {
        let text = raw.trim();
        match self {
            Self::Plain => text.to_owned(),
            Self::Choice => {
                text.split_whitespace().find_map(|w| w.strip_prefix('[')?.strip_suffix(']')).unwrap_or(text).to_owned()
            }
            Self::CpuList => text.parse::<CpuSet>().map_or_else(|_| text.to_owned(), |list| list.to_string()),
        }
    }

    /// The text to write to restore `raw`: the same bytes, or the chosen word.
    pub(crate) fn written(self, raw: &str) -> String {
        match self {
            Self::Plain | Self::CpuList => raw.to_owned(),
            Self::Choice => self.value(raw),
        }
    }
}

/// Version of the journal's lines; a newer version is an error for the reader.
pub(crate) const VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Undo {
    /// A file whose value changes.
    File {
        path: String,
        format: Format,
        /// The file's whole text before the first write.
        original: String,
        /// The value that is about to be written. `None` if the kernel changes this file as a result of writing another
        /// one (SMT takes CPUs offline), so that any value may result from our change.
        wrote: Option<String>,
    },
    /// A control group that will be created.
    Cgroup { path: String },
    /// A controller that will be enabled in a `cgroup.subtree_control`.
    Controller { path: String, name: String },
}

impl Undo {
    /// The file or folder that changes.
    pub(crate) fn path(&self) -> &str {
        match self {
            Self::File { path, .. } | Self::Cgroup { path } | Self::Controller { path, .. } => path,
        }
    }
}

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The [`VERSION`] of its format.
    pub v: u32,
    /// The boot in which it was written: another boot has its own defaults.
    pub boot: String,
    /// Name of the setting.
    pub setting: String,
    pub undo: Undo,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_parsed_together_with_the_text_that_restores_them() {
        let thp = "always [madvise] never\n";
        assert_eq!((Format::Choice.value(thp), Format::Choice.written(thp)), ("madvise".into(), "madvise".into()));
        assert_eq!(Format::Choice.value("never"), "never", "a kernel without brackets");
        assert_eq!((Format::Plain.value("60\n"), Format::Plain.written("60\n")), ("60".into(), "60\n".into()));
        assert_eq!(Format::CpuList.value("0,1,2\n"), "0-2");
        assert_eq!(Format::CpuList.value("?"), "?");
    }

    proptest! {
        #[test]
        fn any_text_has_a_value(raw in "[\\[\\] a-z0-9,-]{0,30}") {
            for format in [Format::Plain, Format::Choice, Format::CpuList] {
                format.value(&raw);
                format.written(&raw);
            }
        }
    }
}
