//! The table of all keys of a study: parsing, factors, `--set`, writing, plans and the reference page read it.

use super::fields;
use super::key::{CAPTURE, Field, WORKLOAD};
use tare_drive::workload::AnyLoad;

/// All keys but `engine.options.*` and the machine settings, which are open-ended, in the order of a written study.
pub fn all() -> Vec<Field> {
    let mut all = Vec::new();
    for (section, keys) in fields::COMMON {
        all.extend(keys.iter().map(|key| Field::common(section, key)));
        if *section == WORKLOAD {
            all.extend(of_loads());
        }
    }
    all
}

/// Every key of every load; one that several loads have stands once.
fn of_loads() -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    for key in AnyLoad::all().iter().flat_map(|load| load.load().keys()) {
        if fields.iter().all(|field| field.key != key.name) {
            fields.push(Field::of_load(key));
        }
    }
    fields
}

/// The field known by `key` in `section`.
pub fn find(section: &str, key: &str) -> Option<Field> {
    all().into_iter().find(|f| f.section == section && f.key == key)
}

/// The field that a factor of this name varies: `engine` and `workload` stand for their `name`.
pub fn factor(name: &str) -> Option<Field> {
    if matches!(name, "engine" | "workload") {
        return find(name, "name");
    }
    all().into_iter().find(|f| f.key == name && f.key != "name" && f.section != CAPTURE)
}
