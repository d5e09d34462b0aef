//! `tare export`: writes results for other tools.

use super::{Exit, Problem, output};
use clap::Args;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use tare_files::Audience;
#[cfg(feature = "png")]
use tare_report::export::png;
use tare_report::export::source::{NoSuchMetric, Source};
use tare_report::export::svg;
use tare_report::export::tables::Table;
use tare_report::export::write::{Format, write};
use tare_results::Results;
use tare_text::object;

/// Write results for other tools: tables, pictures, and files for CI systems
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// A results directory, or a CSV file with the columns condition,trial,sample,metric,value; several for otava
    #[arg(required = true)]
    results: Vec<PathBuf>,
    /// What to write (HTML: `tare report`; JSON: `tare show --json`)
    #[arg(long, value_name = "FORMAT")]
    format: Format,
    /// Where to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// With --format csv or parquet: which tidy table [default: samples]
    #[arg(long, value_name = "NAME")]
    table: Option<Table>,
    /// Write only this metric (may be repeated) [default: all; in formats for readers the study's main ones]
    #[arg(long = "metric", value_name = "NAME")]
    metrics: Vec<String>,
    /// Write every chart of the page (svg, png), one file each, to the folder given with --out
    #[arg(long, requires = "out")]
    charts: bool,
    /// Print one JSON document: the path of the file that was written (with --out)
    #[arg(long, requires = "out")]
    json: bool,
}

/// Writes the export; with `--json`, prints its path.
pub(crate) fn run(args: Export) -> Result<Exit, Problem> {
    if let Some(feature) = args.format.missing_feature() {
        return Err(Problem::new(Exit::Machine, format!("this build of tare does not write {}", args.format))
            .advice(format!("build one that does: cargo build --release --features {feature}")));
    }
    if args.table.is_some() && !matches!(args.format, Format::Csv | Format::Parquet) {
        return Err(Problem::new(Exit::Usage, format!("--table has no effect on {}", args.format))
            .expected("--format csv or --format parquet"));
    }
    let table = args.table.unwrap_or(Table::Samples);
    if args.results.len() > 1 && args.format != Format::Otava {
        return Err(Problem::new(Exit::Usage, format!("{} needs one set of results", args.format))
            .expected("one RESULTS; only otava takes several, one row each")
            .advice("export each to a file of its own"));
    }
    let opened: Vec<Results> =
        args.results.iter().map(|path| super::results_problem::open(path)).collect::<Result<_, _>>()?;
    let sources: Vec<Source<'_>> =
        opened.iter().map(|results| Source::new(results, args.metrics.clone())).collect::<Result<_, _>>()?;
    let audience = Audience::of_all(opened.iter().map(|results| results.audience));
    match &args.out {
        Some(folder) if args.charts => charts(&sources, args.format, folder, audience)?,
        Some(path) => to_file(path, audience, |out| write(&sources, args.format, table, out))?,
        None if args.format.is_binary() && io::stdout().is_terminal() => {
            return Err(Problem::new(
                Exit::Usage,
                format!("{} is binary, and standard output is a terminal", args.format),
            )
            .advice(format!("name a file: --out results.{}", args.format)));
        }
        None => to_stdout(|out| write(&sources, args.format, table, out))?,
    }
    if let (true, Some(export)) = (args.json, args.out) {
        output::document("tare-export", &object! { export, format: args.format.to_string() })?;
    }
    Ok(Exit::Done)
}

/// Writes every chart of the page into a directory, which is created if missing.
fn charts(sources: &[Source<'_>], format: Format, folder: &Path, audience: Audience) -> Result<(), Problem> {
    if !matches!(format, Format::Svg | Format::Png) {
        return Err(Problem::new(Exit::Usage, format!("{format} has no charts")).expected("--format svg or png"));
    }
    std::fs::create_dir_all(folder).map_err(|error| {
        Problem::new(Exit::Machine, format!("cannot make the folder of charts: {error}"))
            .at(folder.display().to_string())
            .advice("name another one with --out")
    })?;
    // A chart that cannot be drawn does not prevent the others.
    let mut first_problem = None;
    for (name, svg) in sources.iter().flat_map(svg::charts) {
        let path = folder.join(format!("{name}.{format}"));
        if let Err(problem) = to_file(&path, audience, |out| write_chart(&svg, format, out)) {
            first_problem.get_or_insert(problem);
        }
    }
    first_problem.map_or(Ok(()), Err)
}

pub(super) fn write_chart(svg: &str, format: Format, out: Sink<'_>) -> io::Result<()> {
    #[cfg(feature = "png")]
    if format == Format::Png {
        let pixels = png::draw(svg).map_err(|error| io::Error::new(ErrorKind::Unsupported, error))?;
        return out.write_all(&pixels);
    }
    let _ = format;
    out.write_all(svg.as_bytes())
}

pub(super) type Sink<'a> = &'a mut (dyn Write + Send);

pub(super) fn to_file(
    path: &Path,
    audience: Audience,
    write: impl FnOnce(Sink<'_>) -> io::Result<()>,
) -> Result<(), Problem> {
    tare_files::write_named(audience, path, write).map_err(|error| not_written(path, &error.into()))
}

fn not_written(path: &Path, error: &io::Error) -> Problem {
    let problem =
        Problem::new(Exit::Machine, format!("cannot write the export: {error}")).at(path.display().to_string());
    match kind(error) {
        ErrorKind::NotFound => problem.expected("a directory that exists"),
        // The error itself says what to do.
        ErrorKind::Unsupported => problem,
        ErrorKind::PermissionDenied => problem.advice("write it elsewhere with --out"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            problem.advice("free some space, or write it elsewhere with --out")
        }
        _ => problem.expected("a file that can be written"),
    }
}

fn to_stdout(write: impl FnOnce(Sink<'_>) -> io::Result<()>) -> Result<(), Problem> {
    let mut out = BufWriter::new(io::stdout());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if kind(&error) != ErrorKind::BrokenPipe => {
            Err(Problem::new(Exit::Machine, format!("cannot write the export to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// The kind of an error, also of one that the CSV writer has within its own.
fn kind(error: &io::Error) -> ErrorKind {
    let of_csv = error.get_ref().and_then(|inner| inner.downcast_ref::<csv::Error>());
    match of_csv.map(csv::Error::kind) {
        Some(csv::ErrorKind::Io(error)) => error.kind(),
        _ => error.kind(),
    }
}

impl From<NoSuchMetric> for Problem {
    fn from(error: NoSuchMetric) -> Self {
        super::compare::nearest(Self::new(Exit::Usage, error.to_string()), &error.name, &error.known)
    }
}
