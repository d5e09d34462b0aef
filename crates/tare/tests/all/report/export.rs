//! Every export is read back by an independent reader, with equal values: pyarrow, duckdb, prometheus-client and
//! junitparser (`scripts/get-readers`), benchstat if installed, pulldown-cmark for Markdown. There is no LaTeX: its
//! table is checked against the rules of a `tabular`, and Bencher's format against its published format.

use crate::report::commands::{path, tare};
use crate::report::{fake, latencies};
use crate::support::{World, json, target};
use clap::ValueEnum;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::path::Path;
use std::process::Command;
use tare_report::export::tables::Table;
use tare_report::export::write::Format;

/// A study with failed and disturbed attempts, and reasons that need escaping in every format.
fn results() -> tempfile::TempDir {
    fake::dir(&fake::bimodal())
}

pub(super) fn export(dir: &Path, arguments: &[&str]) -> String {
    let (code, out, err) = tare(&[&["export", path(dir)], arguments].concat());
    assert_eq!(code, 0, "{arguments:?}: {err}");
    out
}

fn shown(dir: &Path) -> serde_json::Value {
    serde_json::from_str(&tare(&["show", path(dir), "--json"]).1).unwrap()
}

/// Runs a script of `readers.py` on files; it fails if values differ.
fn read_by(script: &str, files: &[&Path]) {
    let python = target().join("readers/bin/python");
    assert!(python.exists(), "{} is not here: run scripts/get-readers", python.display());
    let readers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/report/readers.py");
    let out = Command::new(python).arg(readers).arg(script).args(files).output().unwrap();
    assert!(
        out.status.success(),
        "{script}: {}{}",
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    );
}

#[test]
fn exported_tables_read_by_pyarrow_and_duckdb_equal_the_records() {
    let dir = results();
    let mut files = Vec::new();
    // A study of one load has no rows of other loads.
    for table in
        Table::value_variants().iter().filter(|table| **table != Table::Relative).map(|table| table.to_string())
    {
        for format in ["csv", "parquet"] {
            let file = dir.path().join(format!("{table}.{format}"));
            export(dir.path(), &["--format", format, "--table", &table, "--out", path(&file)]);
            files.push(file);
        }
    }
    read_by("same", &files.iter().map(|file| file.as_path()).collect::<Vec<_>>());
    let file = |name: &str| dir.path().join(name);
    read_by(
        "records",
        &[
            &file("trials.jsonl"),
            &file("samples.parquet"),
            &file("trials.parquet"),
            &file("threads.parquet"),
            &file("covariates.parquet"),
        ],
    );
}

#[test]
fn exported_values_can_be_read_back_as_results() {
    let dir = results();
    let values = dir.path().join("again.csv");
    export(dir.path(), &["--format", "csv", "--table", "values", "--out", path(&values)]);
    let (before, after) = (shown(dir.path()), shown(&values));
    for (before, after) in before["conditions"].as_array().unwrap().iter().zip(after["conditions"].as_array().unwrap())
    {
        assert_eq!((&before["name"], &before["metrics"][0]["mean"]), (&after["name"], &after["metrics"][0]["mean"]));
        for counted in ["disturbed_trials", "failed_trials", "failed_attempts"] {
            assert_eq!(before[counted], after[counted], "{counted}");
        }
    }
    // Blocks are kept, so a comparison removes their effect again.
    let ratio = |results: &Path| {
        let sides = ["placement=same-pu", "placement=other-node"].map(|side| format!("{}:{side}", path(results)));
        let (_, out, _) = tare(&["compare", &sides[0], &sides[1], "--metric", "tps", "--json"]);
        let json = json(&out);
        assert_eq!(json["metrics"][0]["paired"], true, "{json}");
        json["metrics"][0]["ci_low"].clone()
    };
    assert_eq!(ratio(dir.path()), ratio(&values));
}

/// A side that lost half of its trials passed the gate once it was exported, because lost trials have no values.
#[test]
fn exported_values_keep_the_trials_that_a_side_lost() {
    let dir = tempfile::tempdir().unwrap();
    let sides = [("a.csv", 0), ("b.csv", 5)].map(|(name, dead)| {
        let rows: String = (0..10)
            .map(|i| match i < dead {
                true => format!("c,{i},,,,{i},,server died\n"),
                false => format!("c,{i},0,tps,{},{i},,\n", 1000 + (7 * i) % 11),
            })
            .collect();
        let (given, again) = (dir.path().join(name), dir.path().join(format!("again-{name}")));
        std::fs::write(&given, format!("condition,trial,sample,metric,value,block,disturbed,failed\n{rows}")).unwrap();
        export(&given, &["--format", "csv", "--table", "values", "--out", path(&again)]);
        again
    });
    let (code, out, _) = tare(&["compare", path(&sides[0]), path(&sides[1]), "--fail-if-slower", "5"]);
    assert_eq!(code, 1, "{out}");
    assert!(out.starts_with("B fails more often than A: 5 of 10 trials against 0 of 10."), "{out}");
}

/// Comparisons use the percentile of all transactions of a trial, not the mean of its samples' percentiles.
#[test]
fn exported_percentiles_are_those_of_the_tables() {
    let dir = tempfile::tempdir().unwrap();
    latencies::with_histograms(dir.path());
    let values = dir.path().join("again.csv");
    export(dir.path(), &["--format", "csv", "--table", "values", "--out", path(&values)]);
    let p99 = |results: &Path| -> Vec<f64> {
        let all = shown(results)["conditions"].as_array().unwrap().clone();
        let metrics = all.iter().flat_map(|condition| condition["metrics"].as_array().unwrap());
        let named = metrics.filter(|metric| metric["name"] == "latency_ms_p99");
        named.map(|metric| metric["mean"].as_f64().unwrap()).collect()
    };
    let (before, after) = (p99(dir.path()), p99(&values));
    assert!(before.len() > 1 && before == after, "{before:?} {after:?}");
}

#[test]
fn the_reason_of_a_trial_cannot_control_the_terminal_of_an_export() {
    let dir = results();
    fake::each_record(dir.path(), |record| record["reason"] = "a\n::stop-commands::x\u{1b}[2J".into());
    let table = export(dir.path(), &["--format", "csv", "--table", "trials"]);
    assert!(table.contains("\\u{3a}:stop-commands::x\\u{1b}[2J"), "{table:?}");
    assert!(!table.contains('\u{1b}'), "{table:?}");
}

/// Names that a spreadsheet would evaluate, and one that is a number.
#[test]
fn no_cell_of_an_exported_csv_is_a_formula_and_names_are_read_back_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let (given, values, otava) = (dir.path().join("=g.csv"), dir.path().join("v.csv"), dir.path().join("o.csv"));
    let names = ["=1+1", "@SUM(1)", "-O2", "+x", "-5", "plain"];
    let rows: String = names.iter().map(|name| format!("{name},0,0,=m,1.5\n{name},1,0,=m,2.5\n")).collect();
    std::fs::write(&given, format!("condition,trial,sample,metric,value\n{rows}")).unwrap();
    export(&given, &["--format", "csv", "--table", "values", "--out", path(&values)]);
    export(&given, &["--format", "otava", "--out", path(&otava)]);
    let (compared, again) = (dir.path().join("c.csv"), dir.path().join("again.csv"));
    std::fs::copy(&given, &again).unwrap();
    let (_, _, err) = tare(&["compare", path(&given), path(&again), "--csv", path(&compared)]);
    for file in [&values, &otava, &compared] {
        let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}: {err}", file.display()));
        for cell in text.lines().flat_map(|line| line.split(',')).map(|cell| cell.trim_matches('"')) {
            assert!(cell.parse::<f64>().is_ok() || !cell.starts_with(['=', '+', '-', '@']), "{cell} in {text}");
        }
    }
    let found = |file: &Path| -> Vec<String> {
        let conditions = shown(file)["conditions"].as_array().unwrap().clone();
        conditions.iter().map(|condition| condition["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(found(&values), found(&given));
}

#[test]
fn exported_metrics_are_readable_by_the_prometheus_parser() {
    let dir = results();
    let (metrics, summary) = (dir.path().join("metrics.txt"), dir.path().join("summary.json"));
    export(dir.path(), &["--format", "openmetrics", "--out", path(&metrics)]);
    std::fs::write(&summary, shown(dir.path()).to_string()).unwrap();
    read_by("openmetrics", &[&metrics, &summary]);
}

#[test]
fn junitparser_reads_a_failed_trial_as_a_failure_with_its_full_reason() {
    let dir = results();
    let xml = dir.path().join("junit.xml");
    export(dir.path(), &["--format", "junit", "--out", path(&xml)]);
    read_by("junit", &[&xml, &dir.path().join("trials.jsonl")]);
}

#[test]
fn an_exported_svg_chart_is_readable_as_xml() {
    let dir = results();
    let svg = dir.path().join("chart.svg");
    export(dir.path(), &["--format", "svg", "--metric", "latency_ms_p99", "--out", path(&svg)]);
    read_by("svg", &[&svg]);
}

#[test]
fn an_exported_png_has_the_size_colours_and_labels_of_the_chart() {
    let dir = results();
    let file = dir.path().join("chart.png");
    export(dir.path(), &["--format", "png", "--metric", "tps", "--out", path(&file)]);
    let mut reader =
        png::Decoder::new(std::io::BufReader::new(std::fs::File::open(&file).unwrap())).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    let svg = export(dir.path(), &["--format", "svg", "--metric", "tps"]);
    let size = |name: &str| {
        svg.split_once(&format!(" {name}=\"")).unwrap().1.split('"').next().unwrap().parse::<u32>().unwrap()
    };
    assert_eq!((info.width, info.height), (2 * size("width"), 2 * size("height")));
    let colour = |rgb: [u8; 3]| pixels.chunks_exact(4).filter(|pixel| pixel[..3] == rgb).count();
    let all = (info.width * info.height) as usize;
    assert!(colour([255, 255, 255]) > all / 2, "white ground");
    assert!(colour([0x0b, 0x68, 0xb3]) > 100, "the colour of the first condition");
    // Labels are left of the marks, dark on white: a picture without a font has no dark pixels there.
    let row = info.width as usize * 4;
    let dark = pixels.chunks_exact(row).flat_map(|line| line[..row / 8].chunks_exact(4)).filter(|pixel| pixel[0] < 100);
    assert!(dark.count() > 200, "labels");
}

#[test]
fn benchmark_lines_have_one_value_per_trial_and_are_accepted_by_benchstat() {
    let dir = results();
    let file = dir.path().join("bench.txt");
    export(dir.path(), &["--format", "benchstat", "--metric", "tps", "--out", path(&file)]);
    let text = std::fs::read_to_string(&file).unwrap();
    // The grammar of the format: name, iterations, then pairs of value and unit.
    let lines: Vec<Vec<&str>> =
        text.lines().filter(|l| l.starts_with("Benchmark")).map(|l| l.split(' ').collect()).collect();
    assert_eq!(lines.len(), 30, "one line an analysed trial:\n{text}");
    for line in &lines {
        assert!(line[0].starts_with("BenchmarkMind-your-core/placement="), "{line:?}");
        assert!(line[1].parse::<u64>().is_ok() && line.len() == 4 && line[3] == "tps", "{line:?}");
    }
    let pu: Vec<f64> = lines.iter().filter(|l| l[0].ends_with("=same-pu")).map(|l| l[2].parse().unwrap()).collect();
    let mean = pu.iter().sum::<f64>() / pu.len() as f64;
    let summary = shown(dir.path());
    let condition =
        summary["conditions"].as_array().unwrap().iter().find(|c| c["name"] == "placement=same-pu").unwrap();
    assert!((mean / condition["metrics"][0]["mean"].as_f64().unwrap() - 1.0).abs() < 1e-12);
    if let Ok(out) = Command::new("benchstat").args(["-format", "csv"]).arg(&file).output() {
        let out = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        assert!(out.contains("placement=same-pu") && !out.contains("bench.txt:"), "{out}");
    }
    // The configuration that holds for each line.
    fake::disturb(dir.path(), &|trial| trial % 3 == 0, 1.0);
    let text = export(dir.path(), &["--format", "benchstat", "--metric", "tps"]);
    let (mut disturbed, mut lines) = (None, [0, 0]);
    for line in text.lines() {
        match line.strip_prefix("disturbed: ") {
            Some(how) => disturbed = Some(how == "yes"),
            None if line.starts_with("Benchmark") => lines[usize::from(disturbed.unwrap())] += 1,
            None => {}
        }
    }
    let of = |state: &str| {
        let conditions = shown(dir.path())["conditions"].clone();
        conditions.as_array().unwrap().iter().map(|c| c[state].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(lines, ["clean_trials", "disturbed_trials"].map(of), "{text}");
    assert!(lines[0] > 0 && lines[1] > 0, "{lines:?}");
}

#[test]
fn bencher_measures_are_means_with_intervals_except_for_several_modes() {
    let dir = results();
    let mut of_modes = 0;
    let bmf: serde_json::Value = serde_json::from_str(&export(dir.path(), &["--format", "bmf"])).unwrap();
    for condition in shown(dir.path())["conditions"].as_array().unwrap() {
        let benchmark = &bmf[format!("mind-your-core {}", condition["name"].as_str().unwrap())];
        for metric in condition["metrics"].as_array().unwrap() {
            let measure = &benchmark[metric["name"].as_str().unwrap()];
            let has_modes = !metric["modes"].as_array().unwrap().is_empty();
            let [low, high] =
                ["ci_low", "ci_high"].map(|end| if has_modes { &serde_json::Value::Null } else { &metric[end] });
            assert_eq!(measure["value"], metric["mean"]);
            assert_eq!((&measure["lower_value"], &measure["upper_value"]), (low, high), "{metric}");
            of_modes += usize::from(has_modes);
        }
    }
    assert!(of_modes > 0, "{bmf}");
    let gauges = export(dir.path(), &["--format", "openmetrics", "--metric", "tps"]);
    let stats = |level: &str| gauges.lines().filter(|line| line.contains(level) && line.contains(",stat=")).count();
    assert_eq!((stats("\"placement=float\""), stats("\"placement=same-pu\"")), (1, 3), "{gauges}");
}

#[test]
fn an_exported_history_has_a_row_per_run_and_a_column_per_condition() {
    let (one, other) = (results(), results());
    let text = export(one.path(), &[path(other.path()), "--format", "otava"]);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!((rows.len(), rows[0].len()), (3, 6), "{text}");
    assert_eq!(rows[0][..3], ["time", "study", "tare_version"]);
    assert!(rows[1][0].starts_with("2026-11-20T09:00"), "{text}");
    let mean = shown(one.path())["conditions"][0]["metrics"][0]["mean"].as_f64().unwrap();
    let column = rows[0].iter().position(|name| *name == "placement=float tps").unwrap();
    assert_eq!(rows[1][column].parse::<f64>().unwrap(), mean);
    let (code, _, err) = tare(&["export", path(one.path()), path(other.path()), "--format", "bmf"]);
    assert!(code == 2 && err.contains("one RESULTS"), "{err}");
}

#[test]
fn every_row_of_the_latex_table_has_the_same_number_of_cells() {
    let dir = results();
    let text = export(dir.path(), &["--format", "latex", "--metric", "tps", "--metric", "latency_ms_p99"]);
    let body: Vec<&str> = text.lines().filter(|line| line.ends_with("\\\\")).collect();
    assert_eq!(body.len(), 4, "{text}");
    for line in body {
        assert_eq!(line.replace("\\&", "").matches('&').count(), 4, "{line}");
        let plain = line.replace("\\_", "").replace("\\%", "").replace("$\\pm$", "").replace("$\\mu$", "");
        assert!(!plain.contains(['_', '%', '#', '$', '^', '~']), "not escaped: {line}");
    }
    assert!(text.contains("\\begin{tabular}{lrrrr}") && text.contains("latency\\_ms\\_p99"), "{text}");
}

#[test]
fn the_markdown_summary_has_a_row_per_condition_and_no_foreign_markup() {
    let dir = results();
    let text = export(dir.path(), &["--format", "markdown"]);
    let (mut rows, mut cells, mut html) = (0, 0, String::new());
    for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::TableRow) => rows += 1,
            Event::End(TagEnd::TableCell) => cells += 1,
            Event::Html(markup) | Event::InlineHtml(markup) => html.push_str(&markup),
            _ => {}
        }
    }
    assert_eq!((rows, cells % (rows + 1)), (3, 0), "{text}");
    assert!(html.contains("<details>") && !html.contains("<b>"), "{html}");
}

/// Generated results and those of a real run must conform to the published schemas.
#[test]
fn results_conform_to_the_published_schemas() {
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let dir = results();
    read_by("schema", &[&schemas, dir.path()]);
    let world = World::new();
    world.exits(0, &["run", "first-look", "--quick", "--out", "out", "--set", "factors.placement=float,same-pu"]);
    read_by("schema", &[&schemas, &world.path("out")]);
}

#[test]
fn an_export_replaces_a_link_but_not_its_target_and_writes_to_devices_in_place() {
    let dir = results();
    let precious = dir.path().join("precious");
    std::fs::write(&precious, "precious").unwrap();
    let link = dir.path().join("link.csv");
    std::os::unix::fs::symlink(&precious, &link).unwrap();
    export(dir.path(), &["--format", "csv", "--out", path(&link)]);
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    assert!(link.symlink_metadata().unwrap().is_file());
    let to_standard_output = export(dir.path(), &["--format", "csv", "--out", "/dev/stdout"]);
    assert_eq!(to_standard_output, std::fs::read_to_string(&link).unwrap());
    assert!(Path::new("/dev/stdout").is_symlink());
    let (code, _, err) = tare(&["export", path(dir.path()), "--format", "csv", "--out", "/dev/full"]);
    assert!(code == 3 && err.contains("No space left") && err.contains("do now: free some space"), "{code} {err}");
    assert!(Path::new("/dev/full").exists());
    // As `| head` does, the reader ends before the writer.
    for format in Format::value_variants().iter().filter_map(Format::to_possible_value) {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_tare"));
        command.args(["export", path(dir.path()), "--format", format.get_name()]).stdout(writer);
        let err = command.output().unwrap().stderr;
        let err = String::from_utf8_lossy(&err);
        assert!(!err.contains("Broken pipe"), "{}: {err}", format.get_name());
    }
}

#[test]
fn an_unmeasured_metric_is_refused_with_the_nearest_name() {
    let dir = results();
    let (code, _, err) = tare(&["export", path(dir.path()), "--format", "csv", "--metric", "tsp"]);
    assert!(code == 2 && err.contains("did you mean `tps`?"), "{err}");
    let missing = dir.path().join("no/such.csv");
    let (code, _, err) = tare(&["export", path(dir.path()), "--format", "csv", "--out", path(&missing)]);
    assert!(code == 3 && err.contains("a directory that exists"), "{err}");
}

/// Every table with its columns, as in `docs/export.md`.
#[test]
fn the_page_of_exports_names_every_format() {
    let text = include_str!("../../../../../docs/export.md");
    let named: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(name, _)| name).collect();
    let formats: Vec<String> = Format::value_variants().iter().map(ToString::to_string).collect();
    assert_eq!(named[..formats.len()], formats);
}

#[test]
fn the_page_of_exports_names_every_column() {
    let mut made = String::new();
    for table in Table::value_variants() {
        made.push_str(&format!("### {table}\n\n| column | type | what |\n| --- | --- | --- |\n"));
        for field in table.fields(&["FACTOR".to_owned()]) {
            made.push_str(&format!("| `{}` | {} | {} |\n", field.name, field.kind, field.help));
        }
        made.push('\n');
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/export.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let (head, found) = text.split_once("<!-- made by a test -->\n\n").unwrap();
    if std::env::var_os("TARE_UPDATE_DOCS").is_some() {
        std::fs::write(&file, format!("{head}<!-- made by a test -->\n\n{}\n", made.trim_end())).unwrap();
    } else {
        assert_eq!(found.trim_end(), made.trim_end(), "TARE_UPDATE_DOCS=1 cargo nextest run -p tare report::export");
    }
}

#[test]
fn no_output_contains_a_mean_of_several_modes() {
    let dir = results();
    let of_float = |text: &str| {
        let row = |line: &&str| line.trim_start_matches("| ").starts_with("placement=float ");
        text.lines().find(row).unwrap_or_default().to_owned()
    };
    for (format, plus_minus) in [("latex", "\\pm"), ("markdown", "±")] {
        let text = export(dir.path(), &["--format", format, "--metric", "tps"]);
        let row = of_float(&text);
        assert!(text.contains(plus_minus) && !row.contains(plus_minus), "{text}");
        assert!(row.contains(" or ") && row.matches(" in ").count() == 2, "{row}");
    }
    let side = |condition: &str| format!("{}:{condition}", path(dir.path()));
    let (a, b) = (side("placement=same-pu"), side("placement=float"));
    let (_, out, err) = tare(&["compare", &a, &b, "--markdown", path(&dir.path().join("table.md"))]);
    // This includes metrics that are not judged.
    for (metric, unit) in [("tps", "k/s"), ("latency_ms_mean", "ms")] {
        let row = out.lines().skip_while(|line| !line.starts_with(metric)).take(2).collect::<Vec<_>>().join(" ");
        assert_eq!(row.matches(&format!(" {unit} in ")).count(), 2, "{metric}: {out}{err}");
    }
    let table = std::fs::read_to_string(dir.path().join("table.md")).unwrap();
    let row = table.lines().find(|line| line.contains("| tps |")).unwrap();
    assert_eq!(row.matches(" k/s in ").count(), 2, "{table}");
}

#[test]
fn every_chart_of_the_report_is_exported_as_its_own_picture() {
    let dir = results();
    let folder = dir.path().join("charts");
    export(dir.path(), &["--format", "svg", "--charts", "--out", path(&folder)]);
    let names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned())
        .collect();
    tare(&["report", path(dir.path())]);
    let page = std::fs::read_to_string(dir.path().join("report.html")).unwrap();
    let on_page = page.split("<svg").skip(1).map(|svg| svg.split('>').next().unwrap());
    let on_page = on_page.filter(|head| head.contains("role=\"img\"") && !head.contains("slim")).count();
    assert_eq!(names.len(), on_page, "{names:?}");
    for name in ["trials-1.svg", "order-1.svg", "machine-1.svg"] {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let head = text.split('>').next().unwrap();
        assert!(head.contains("xmlns=") && head.matches(" width=").count() == 1, "{name}: {head}");
    }
    for name in &names {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let used = text.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap());
        let missing: Vec<&str> = used.filter(|id| !text.contains(&format!("id=\"{id}\""))).collect();
        assert!(missing.is_empty(), "{name} lacks what it uses: {missing:?}");
    }
    // A picture that cannot be written does not prevent the others.
    let other = dir.path().join("other");
    std::fs::create_dir_all(other.join("trials-1.svg")).unwrap();
    let blocked = tare(&["export", path(dir.path()), "--format", "svg", "--charts", "--out", path(&other)]);
    assert!(blocked.0 == 3 && blocked.2.contains("trials-1.svg"), "{}", blocked.2);
    assert!(names.iter().all(|name| other.join(name).exists()), "{names:?}");
    let refused = tare(&["export", path(dir.path()), "--format", "csv", "--charts", "--out", path(&folder)]);
    assert!(refused.0 == 2 && refused.2.contains("csv has no charts"), "{}", refused.2);
}
