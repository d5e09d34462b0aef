//! The lines that configure a server like a condition: numactl, a systemd unit, the engine's option file.

use std::collections::BTreeMap;
use tare_findings::places::Used;
use tare_results::schema::PlannedCondition;
use tare_topology::MemoryPolicy;

/// Lines for one destination.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Paste {
    /// The destination: a shell or a file.
    pub into: String,
    /// The lines, ready to be pasted.
    pub lines: Vec<String>,
}

/// Names of an engine: program, service, option file, section of that file.
fn files(engine: &str) -> (&'static str, &'static str, &'static str, Option<&'static str>) {
    match engine {
        "mariadb" => ("mariadbd", "mariadb", "my.cnf", Some("[mariadbd]")),
        "mysql" => ("mysqld", "mysql", "my.cnf", Some("[mysqld]")),
        // On Debian and Ubuntu the server of each cluster is an instance; postgresql.service starts nothing itself.
        "postgresql" => ("postgres", "postgresql@", "postgresql.conf", None),
        _ => ("PROGRAM", "PROGRAM", "each connection", None),
    }
}

/// The settings of a condition that differ from the defaults of machine and engine; empty if there are none.
pub(crate) fn paste(condition: &PlannedCondition) -> Vec<Paste> {
    let word = |key: &str| condition.settings.get(key).map(ToString::to_string).unwrap_or_default();
    let engine = word("engine.name");
    let (program, service, option_file, head) = files(&engine);
    let mut all = Vec::new();
    let used = Used::of(condition);
    let (clients, server, policy) = (used.clients.to_string(), used.server.to_string(), used.memory);
    let mut shell = Vec::new();
    if word("placement.bind") == "thread" && !(clients.is_empty() && server.is_empty()) {
        let pairing = word("placement.pairing");
        shell.push(format!(
            "# each thread had a logical CPU of its own (pairing = {pairing}): numactl binds all to one set"
        ));
    }
    let pool = condition.placement.as_ref().and_then(|placement| placement.pool_memory.as_ref());
    if let Some(pool) = pool.filter(|_| engine == "postgresql") {
        shell.push(format!(
            "# shared_buffers alone had the memory policy {pool}, which no setting of PostgreSQL gives it"
        ));
    }
    if matches!(policy, MemoryPolicy::WeightedInterleave(_)) {
        shell.push("# --weighted-interleave needs numactl 2.0.19 or later".to_owned());
    }
    let confined = Some(&policy).filter(|_| spreads_its_pool(condition)).and_then(nodes);
    if confined.is_some() {
        let line = "# numactl does not keep InnoDB's pool on these nodes, AllowedMemoryNodes of the unit does";
        shell.push(line.to_owned());
    }
    if let Some(options) = numactl(&server, &policy) {
        shell.push(format!("numactl {options} {program} ..."));
    }
    if let Some(options) = numactl(&clients, &MemoryPolicy::Default) {
        shell.push(format!("numactl {options} CLIENT ..."));
    }
    add(&mut all, "shell", shell);
    let confined = confined.map(|nodes| format!("AllowedMemoryNodes={nodes}"));
    let unit: Vec<String> = systemd(&server, &policy).into_iter().chain(confined).collect();
    if !unit.is_empty() {
        let lines = std::iter::once("[Service]".to_owned()).chain(unit).collect();
        add(&mut all, &format!("/etc/systemd/system/{service}.service.d/tare.conf"), lines);
    }
    let options = options(condition);
    if !options.is_empty() {
        let lines = options.iter().map(|(name, value)| match engine.as_str() {
            "postgresql" => format!("{name} = '{}'", value.replace('\\', "\\\\").replace('\'', "''")),
            "sqlite" => format!("PRAGMA {name} = {value};"),
            _ => format!("{name} = {}", in_option_file(value)),
        });
        add(&mut all, option_file, head.map(str::to_owned).into_iter().chain(lines).collect());
    }
    all
}

fn add(all: &mut Vec<Paste>, into: &str, lines: Vec<String>) {
    if !lines.is_empty() {
        all.push(Paste { into: into.to_owned(), lines });
    }
}

/// Whether InnoDB interleaves its pool over all nodes that its control group allows, whatever policy it inherits.
fn spreads_its_pool(condition: &PlannedCondition) -> bool {
    options(condition).iter().any(|(name, value)| {
        name.replace('-', "_") == "innodb_numa_interleave"
            && matches!(value.to_lowercase().as_str(), "on" | "1" | "true")
    })
}

/// The nodes that a policy names, if these are not all.
fn nodes(policy: &MemoryPolicy) -> Option<String> {
    match policy {
        MemoryPolicy::Bind(nodes) | MemoryPolicy::Interleave(nodes) | MemoryPolicy::WeightedInterleave(nodes) => {
            Some(nodes.to_string()).filter(|nodes| nodes != "all")
        }
        _ => None,
    }
}

/// A value in an option file of MariaDB or MySQL, where a backslash begins an escape and a # outside quotes a comment.
fn in_option_file(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\");
    if value.contains('#') { format!("\"{}\"", escaped.replace('"', "\\\"")) } else { escaped }
}

fn options(condition: &PlannedCondition) -> BTreeMap<&str, String> {
    let named =
        condition.settings.iter().filter_map(|(key, value)| Some((key.strip_prefix("engine.options.")?, value)));
    named.map(|(name, value)| (name, value.to_string())).collect()
}

/// The options of numactl; `None` if none is needed.
fn numactl(cpus: &str, policy: &MemoryPolicy) -> Option<String> {
    let bound = (!cpus.is_empty()).then(|| format!("--physcpubind={cpus}"));
    let memory = match policy {
        MemoryPolicy::Bind(nodes) => Some(format!("--membind={nodes}")),
        MemoryPolicy::Interleave(nodes) => Some(format!("--interleave={nodes}")),
        MemoryPolicy::WeightedInterleave(nodes) => Some(format!("--weighted-interleave={nodes}")),
        MemoryPolicy::Preferred(node) => Some(format!("--preferred={node}")),
        MemoryPolicy::Local => Some("--localalloc".to_owned()),
        _ => None,
    };
    let words: Vec<String> = bound.into_iter().chain(memory).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The keys of a systemd unit, see systemd.exec(5).
fn systemd(cpus: &str, policy: &MemoryPolicy) -> Vec<String> {
    let mut lines = Vec::new();
    if !cpus.is_empty() {
        lines.push(format!("CPUAffinity={cpus}"));
    }
    let (kind, nodes) = match policy {
        MemoryPolicy::Bind(nodes) => ("bind", Some(nodes.to_string())),
        MemoryPolicy::Interleave(nodes) => ("interleave", Some(nodes.to_string())),
        MemoryPolicy::Preferred(node) => ("preferred", Some(node.to_string())),
        MemoryPolicy::Local => ("local", None),
        MemoryPolicy::WeightedInterleave(_) => {
            lines.push("# no NUMAPolicy interleaves by weights: start the program with numactl as above".to_owned());
            return lines;
        }
        _ => return lines,
    };
    lines.push(format!("NUMAPolicy={kind}"));
    lines.extend(nodes.map(|nodes| format!("NUMAMask={nodes}")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::schema::PlannedPlacement;

    #[test]
    fn lines_contain_the_placement_of_the_server_and_its_settings() {
        let settings = [
            ("engine.name", "postgresql"),
            ("placement.bind", "set"),
            ("engine.options.search_path", r"it's\a"),
            ("engine.options.shared_buffers", "1GB"),
        ];
        let mut condition = PlannedCondition {
            name: "x".into(),
            placement: Some(PlannedPlacement {
                client: vec!["4-5".parse().unwrap()],
                server: vec!["0-3".parse().unwrap()],
                background: None,
                memory: "interleave:0-1".parse().ok(),
                pool_memory: "bind:0".parse().ok(),
            }),
            settings: settings.map(|(key, value)| (key.to_owned(), value.into())).into(),
            ..PlannedCondition::default()
        };
        let pasted = paste(&condition);
        assert_eq!(pasted[1].into, "/etc/systemd/system/postgresql@.service.d/tare.conf");
        let lines: Vec<String> = pasted.into_iter().flat_map(|paste| paste.lines).collect();
        let expected = [
            "# shared_buffers alone had the memory policy bind:0, which no setting of PostgreSQL gives it",
            "numactl --physcpubind=0-3 --interleave=0-1 postgres ...",
            "numactl --physcpubind=4-5 CLIENT ...",
            "[Service]",
            "CPUAffinity=0-3",
            "NUMAPolicy=interleave",
            "NUMAMask=0-1",
            r"search_path = 'it''s\\a'",
            "shared_buffers = '1GB'",
        ];
        assert_eq!(lines, expected);

        let weighted = condition.placement.as_mut().expect("set above");
        weighted.memory = "weighted-interleave:0-1".parse().ok();
        condition.settings.insert("engine.name".into(), "mariadb".into());
        condition.settings.insert("engine.options.init_connect".into(), r##"SET @a = "#\""##.into());
        condition.settings.insert("engine.options.innodb_numa_interleave".into(), "ON".into());
        let lines: Vec<String> = paste(&condition).into_iter().flat_map(|paste| paste.lines).collect();
        for line in [
            "AllowedMemoryNodes=0-1",
            "# --weighted-interleave needs numactl 2.0.19 or later",
            "numactl --physcpubind=0-3 --weighted-interleave=0-1 mariadbd ...",
            r##"init_connect = "SET @a = \"#\\\"""##,
        ] {
            assert!(lines.iter().any(|found| found == line), "{lines:#?}");
        }
    }
}
