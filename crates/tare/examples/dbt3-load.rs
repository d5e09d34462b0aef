//! For `benches/dbt3-load`: writes dbt3's rows as files and its definitions as SQL, and loads them in tare's own way.

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use tare_drive::workload::dbt3::{Fill, Scale, TABLES, generate, prepare};
use tare_engine::{Address, BulkLoad, ConnectTarget, DEFAULT_DATABASE, Engine, engine_by_name};

const USAGE: &str = "usage: dbt3-load files ENGINE SCALE DIRECTORY | dbt3-load load ENGINE SCALE SOCKET DIRECTORY";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["files", engine, scale, directory] => files(engine_by_name(engine)?, scale.parse()?, Path::new(directory)),
        ["load", engine, scale, socket, directory] => {
            load(engine_by_name(engine)?, scale.parse()?, socket.into(), Path::new(directory))
        }
        _ => Err(USAGE.into()),
    }
}

/// Writes `TABLE.tbl` for every table, and `plain.sql`, which loads the tables one after the other in the usual way.
fn files(engine: &dyn Engine, scale: Scale, directory: &Path) -> Result<(), Box<dyn Error>> {
    let mut sql = File::create(directory.join("plain.sql"))?;
    for table in &TABLES {
        let path = directory.join(format!("{}.tbl", table.name));
        let mut file = File::create(&path)?;
        generate(table, scale, 2, |piece| file.write_all(piece.text.as_bytes()))?;
        writeln!(sql, "{};", table.create(engine.dialect()))?;
        let (path, name) = (path.display(), table.name);
        match engine.dialect().bulk_load() {
            BulkLoad::Stream => writeln!(sql, "\\copy {name} FROM '{path}' WITH (DELIMITER '|')")?,
            _ => writeln!(sql, "LOAD DATA LOCAL INFILE '{path}' INTO TABLE {name} FIELDS TERMINATED BY '|';")?,
        }
        for statement in table.create_indexes(engine.dialect(), Default::default()) {
            writeln!(sql, "{statement};")?;
        }
        writeln!(sql, "{};", engine.dialect().analyze(table.name))?;
    }
    Ok(())
}

fn load(engine: &dyn Engine, scale: Scale, socket: PathBuf, directory: &Path) -> Result<(), Box<dyn Error>> {
    let target = ConnectTarget::to(Address::Socket(socket), engine.default_user());
    let target = ConnectTarget { database: Some(DEFAULT_DATABASE.into()), ..target };
    let parallel = std::thread::available_parallelism().map_or(1, usize::from);
    let fill = Fill { scale, indexes: Default::default(), dialect: engine.dialect(), parallel, directory };
    Ok(prepare(&fill, &|| engine.connect(&target), &|_| ControlFlow::Continue(()))?)
}
