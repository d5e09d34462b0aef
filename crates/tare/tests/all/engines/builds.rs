//! Builds outside the system: unpacked, or still in their build tree. Copies of Debian's MariaDB stand in for them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::engines::support::{PATIENCE, Place, fill, one, prepared, prepared_here};
use tare_engine::{Engine, EngineError, Mariadb, Postgresql, PrepareRequest, StartRequest, StopOutcome};

const SHARE: &str = "/usr/share/mysql";

fn copy(from: &str, to: &Path) -> PathBuf {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(from, to).unwrap_or_else(|e| panic!("{from}: {e}: sudo apt-get install mariadb-server"));
    to.to_owned()
}

fn link(from: &str, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    symlink(from, to).unwrap();
}

/// Debian's server as unpacked from a zip file: the install script is not executable, a library exists only there.
fn unpacked(base: &Path) -> PathBuf {
    let server = copy("/usr/sbin/mariadbd", &base.join("sbin/mariadbd"));
    let script = copy("/usr/bin/mariadb-install-db", &base.join("bin/mariadb-install-db"));
    fs::set_permissions(script, fs::Permissions::from_mode(0o644)).unwrap();
    for name in ["my_print_defaults", "resolveip"] {
        copy(&format!("/usr/bin/{name}"), &base.join("bin").join(name));
    }
    link(SHARE, &base.join("share/mysql"));
    link("/usr/lib/mysql/plugin", &base.join("lib/mysql/plugin"));
    let needed = Command::new("ldd").arg(&server).output().unwrap();
    let needed = String::from_utf8(needed.stdout).unwrap();
    let library = needed.lines().find(|line| line.contains("libcrypt.so.1")).expect("a library of the server");
    let path = library.split_whitespace().nth(2).unwrap();
    copy(path, &base.join("lib/libtare-own.so.1"));
    let mut patch = Command::new("patchelf");
    patch.args(["--replace-needed", "libcrypt.so.1", "libtare-own.so.1"]).arg(&server);
    let patched = patch.status().expect("sudo apt-get install patchelf");
    assert!(patched.success());
    server
}

#[test]
fn an_unpacked_server_uses_the_files_unpacked_with_it() {
    let place = Place::new();
    let base = place.path("opt/maria");
    let server = unpacked(&base);
    let found = Mariadb.binary(Some(&server)).unwrap();
    assert_eq!((found.product, found.libraries.as_deref()), ("MariaDB", base.join("lib").to_str()));
    assert_eq!(found.build_id, Mariadb.binary(None).unwrap().build_id);
    assert!(Mariadb.knows_option("innodb_adaptive_hash_index", Some(&server)).unwrap());
    let data = prepared_here(&Mariadb, &place, Some(&server));
    let mut running = Mariadb.start(&place.start_request(&data, Some(&server))).unwrap();
    let mut session = running.connect().unwrap();
    for (name, at) in [("basedir", ""), ("lc_messages_dir", "share/mysql"), ("plugin_dir", "lib/mysql/plugin")] {
        let value = running.setting(name).unwrap().unwrap();
        assert_eq!(Path::new(&value), base.join(at), "{name}");
    }
    let accounts = "SELECT COUNT(*) FROM mysql.user WHERE User = '' OR (User = 'root' AND Host <> 'localhost')";
    assert_eq!(one(&mut *session, accounts).as_deref(), Some("0"));
    drop(session);
    assert_eq!(running.stop(PATIENCE).unwrap(), StopOutcome::Graceful);

    // Without its install script, the system's script must not be used instead.
    fs::remove_file(base.join("bin/mariadb-install-db")).unwrap();
    let options = [("innodb_page_size".to_owned(), "8k".to_owned())].into();
    let other = PrepareRequest { options, ..place.prepare_request(Some(&server)) };
    let error = Mariadb.prepare_data(&other, &mut fill).unwrap_err();
    assert!(matches!(error, EngineError::BinaryUnusable { .. }), "{error}");
    assert!(error.to_string().contains("has no mariadb-install-db or mysql_install_db next to it"), "{error}");
    // For a server that is not executable, the error says how to make it so.
    fs::set_permissions(&server, fs::Permissions::from_mode(0o644)).unwrap();
    let error = Mariadb.binary(Some(&server)).unwrap_err().to_string();
    assert!(error.contains("chmod +x"), "{error}");
}

#[test]
fn a_server_runs_from_the_tree_in_which_it_was_built() {
    let place = Place::new();
    let (build, source) = (place.path("build"), place.path("source"));
    let server = copy("/usr/sbin/mariadbd", &build.join("sql/mariadbd"));
    let cache = format!(
        "CMAKE_BUILD_TYPE:STRING=Debug\nCMAKE_CXX_FLAGS:STRING=-O0 -fsanitize=x\nCMAKE_HOME_DIRECTORY:INTERNAL={}\n",
        source.display()
    );
    fs::write(build.join("CMakeCache.txt"), cache).unwrap();
    for name in ["my_print_defaults", "resolveip"] {
        copy(&format!("/usr/bin/{name}"), &build.join("extra").join(name));
    }
    copy("/usr/bin/mariadb-install-db", &build.join("scripts/mariadb-install-db"));
    link(&format!("{SHARE}/english"), &build.join("sql/share/english"));
    link(&format!("{SHARE}/charsets"), &source.join("sql/share/charsets"));
    for name in ["maria_add_gis_sp_bootstrap.sql", "mysql_sys_schema.sql"] {
        link(&format!("{SHARE}/{name}"), &build.join("scripts").join(name));
    }
    let of_source = [
        "fill_help_tables",
        "mysql_system_tables",
        "mysql_performance_tables",
        "mysql_system_tables_data",
        "mysql_test_db",
    ];
    for name in of_source {
        link(&format!("{SHARE}/{name}.sql"), &source.join(format!("scripts/{name}.sql")));
    }
    let found = Mariadb.binary(Some(&server)).unwrap();
    assert_eq!(found.build["CMAKE_BUILD_TYPE"], "Debug");
    assert_eq!(found.build["CMAKE_CXX_FLAGS"], "-O0 -fsanitize=x");
    let data = prepared_here(&Mariadb, &place, Some(&server));
    let running = Mariadb.start(&place.start_request(&data, Some(&server))).unwrap();
    let of = |name: &str| PathBuf::from(running.setting(name).unwrap().unwrap());
    assert_eq!(of("lc_messages_dir"), build.join("sql/share"));
    assert_eq!(of("character_sets_dir"), source.join("sql/share/charsets"));
    assert_eq!(running.connect().unwrap().run("SELECT c FROM t WHERE id < 10"), Ok(9));
}

fn free_huge_pages() -> u64 {
    let memory = fs::read_to_string("/proc/meminfo").unwrap();
    let line = memory.lines().find_map(|line| line.strip_prefix("HugePages_Free:"));
    line.map_or(0, |count| count.trim().parse().unwrap())
}

#[test]
fn an_option_for_huge_pages_is_refused_if_the_server_falls_back_to_small_pages() {
    if free_huge_pages() > 0 {
        // With free huge pages the servers get them, and nothing is refused.
        return;
    }
    let started_with = |engine: &dyn Engine, place: &Place, data: &Path, name: &str, value: &str| {
        let options = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        engine.start(&StartRequest { options, ..place.start_request(data, None) }).map(drop)
    };
    let refused = |result: Result<(), EngineError>, name: &str| match result {
        Err(error @ EngineError::OptionRefused { .. }) => {
            assert!(error.to_string().contains("fell back"), "{error}");
        }
        other => panic!("{name}: {other:?}"),
    };
    let place = Place::new();
    let data = prepared(&Postgresql, &place, None);
    refused(started_with(&Postgresql, &place, &data, "huge_pages", "try"), "huge_pages");
    started_with(&Postgresql, &place, &data, "huge_pages", "off").unwrap();
    let place = Place::new();
    let data = prepared(&Mariadb, &place, None);
    refused(started_with(&Mariadb, &place, &data, "large_pages", "ON"), "large_pages");
}
