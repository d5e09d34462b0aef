//! Pages in a real browser (headless Chromium), at the widths of a phone, a small and a large window, light and dark:
//! nothing may exceed the page, no text may be cut or overlap another, and the script must run without errors. A script
//! of the test measures each page in a frame of the width; the findings are read from the document. axe-core checks
//! accessibility without sight or mouse (`scripts/get-readers` stores it next to the build).

use crate::report::fake::{self, Fake};
use crate::report::{command_sentences, distance};
use crate::report::{first_lines, latencies};
use crate::support::{QUIET, World, target};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tare_findings::compare::{Options, Side, compare_many};
use tare_findings::history::History;
use tare_report::html::{changes, history_page};
use tare_results::schema::Levels;
use tare_study::language::builtin::BUILTIN;

/// A phone, a small and a large window.
static WIDTHS: [u32; 3] = [360, 800, 1600];

/// The colour scheme of pages. It is the same at every width and does not change the layout.
#[derive(Clone, Copy, PartialEq)]
enum Colours {
    Light,
    Dark,
}

impl Colours {
    /// Additional options of axe-core, and the least number of rules that it must pass.
    fn requested(self) -> (&'static str, usize) {
        if self == Self::Light { ("{}", 6) } else { ("{runOnly: [\"color-contrast\"]}", 1) }
    }
}

/// Measures the layout; every finding is a line.
const MEASURE: &str = r#"
const findings = [], shown = e => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length;
const root = document.documentElement;
if (root.scrollWidth > innerWidth + 1) findings.push(`the page is ${root.scrollWidth} wide in a window of ${innerWidth}`);
for (const e of document.querySelectorAll("body *")) {
  if (e.closest("svg, .scroll, pre") || !shown(e)) continue;
  const box = e.getBoundingClientRect();
  if (box.right > innerWidth + 1 || box.left < -1) findings.push(`${e.tagName}.${e.className} sticks out: ${e.textContent.slice(0, 60)}`);
}
if (innerWidth <= 800) for (const e of document.querySelectorAll(".scroll:has(>table)"))
  if (shown(e) && e.scrollWidth > e.clientWidth + 1) findings.push(`a table of ${e.scrollWidth} in ${e.clientWidth}: ${e.getAttribute("aria-label")}`);
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
const lines = () => new Set([...range.getClientRects()].map(box => box.top)).size;
while (walk.nextNode()) {
  const text = walk.currentNode, parent = text.parentElement;
  if (parent.closest("svg, pre, script, style") || !shown(parent)) continue;
  range.selectNodeContents(text);
  if (lines() < 2) continue;
  for (const word of text.data.matchAll(/\w+/g)) {
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    if (lines() > 1) findings.push(`broken within a word at ${innerWidth}: ${word[0]}`);
  }
}
const charts = [...document.querySelectorAll("svg.chart")].filter(shown).map(svg => svg.getBoundingClientRect().width);
if (innerWidth >= 1400 && charts.length && Math.max(...charts) < 0.7 * innerWidth)
  findings.push(`the widest chart has ${Math.max(...charts)} of ${innerWidth}`);
for (const svg of document.querySelectorAll("svg[role=img]")) {
  if (!shown(svg)) continue;
  if (innerWidth < 400 && ["curves", "trials", "order", "latencies", "effects", "queries", "pairs"].includes(svg.closest("section")?.id) && !svg.classList.contains("slim"))
    findings.push(`a small screen shows the wide "${svg.querySelector("title")?.textContent}"`);
  const marks = new Set([...svg.querySelectorAll("path")].flatMap(p => [...p.classList].filter(c => /^m\d$/.test(c))));
  if (marks.size > 8) findings.push(`${marks.size} marks`);
  const frame = svg.getBoundingClientRect(), title = svg.querySelector("title")?.textContent;
  const texts = [...svg.querySelectorAll("text")].filter(t => shown(t) && t.textContent.trim());
  // Numbers: each look at one of a rectangle is a call.
  const boxes = texts.map(t => t.getBoundingClientRect()).map(({left, right, top, bottom}) => ({left, right, top, bottom}));
  boxes.forEach((box, i) => {
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
      findings.push(`cut in "${title}": ${texts[i].textContent}`);
    for (let j = i + 1; j < boxes.length && texts.length < 400; j++) {
      const w = Math.min(box.right, boxes[j].right) - Math.max(box.left, boxes[j].left);
      const h = Math.min(box.bottom, boxes[j].bottom) - Math.max(box.top, boxes[j].top);
      if (w > 1.5 && h > 3) findings.push(`overlap in "${title}": ${texts[i].textContent} | ${texts[j].textContent}`);
    }
  });
}
"#;

/// Uses the functions that the page's script adds.
const USE: &str = r#"
const used = [];
const table = document.querySelector("table"), head = table.tHead.rows[0].cells[2];
head.click();
const numbers = () => [...table.tBodies[0].rows].map(r => parseFloat(r.cells[2].textContent)).filter(n => !isNaN(n));
const down = numbers().every((n, i, all) => !i || all[i - 1] >= n);
head.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter"}));
const up = numbers().every((n, i, all) => !i || all[i - 1] <= n);
used.push(`sorted ${down} ${up}`);
const box = document.querySelector("form.filter select");
box.value = box.options[1].value; box.dispatchEvent(new Event("input", {bubbles: true}));
const rows = [...document.querySelectorAll("svg.chart g.row")].filter(g => g.style.display !== "none");
used.push(`left ${new Set(rows.map(g => g.dataset.c)).size}`);
const buttons = text => [...document.querySelectorAll("button")].filter(b => b.textContent === text);
used.push(`saves ${buttons("CSV").length > 0} ${buttons("SVG").length > 0}`);
const saved = []; URL.createObjectURL = blob => { saved.push(blob); return "data:,"; };
[...table.tBodies[0].rows].find(r => !r.hidden).cells[0].textContent = "=cmd|' /C calc'!A0";
buttons("CSV")[0].click(); buttons("SVG")[0].click();
used.push(`types ${saved.map(b => b.type).sort().join(" ")}`);
buttons("SVG").forEach(b => b.click());
Promise.all(saved.filter(b => b.type.startsWith("image")).map(b => b.text())).then(all => {
  const whole = t => {
    const saved = new DOMParser().parseFromString(t, "image/svg+xml");
    return !saved.querySelector("parsererror") && t.includes("<style") &&
      [...saved.querySelectorAll("use")].every(e => saved.querySelector(e.getAttribute("href")));
  };
  parent.found(`used drawings ${all.length > 1 && all.every(whole)}`);
});
saved.find(b => b.type === "text/csv").text().then(text => parent.found(`used plain ${/^'=cmd/m.test(text)}`));
used.push(`hover ${document.querySelectorAll("svg.chart .trial > title").length > 9}`);
const stops = [...document.querySelectorAll("a[href], button, select, input, summary, th.sorts, .scroll[tabindex]")].filter(shown);
used.push(`keyboard ${stops.every(e => { e.focus(); return document.activeElement === e; })}`);
const folds = [...document.querySelectorAll("details:not([open])")].filter(d => !d.closest(".screen-only"));
dispatchEvent(new Event("beforeprint")); const opened = folds.length > 0 && folds.every(d => d.open);
dispatchEvent(new Event("afterprint")); used.push(`prints ${opened && folds.every(d => !d.open)}`);
"#;

/// Pages whose colours axe-core checks, five seconds each: together they have every kind of drawing, table and note.
const COLOURS: [&str; 3] = ["everything", "searches", "mind-your-core"];

/// Rehearsals that axe-core judges: those of other built-in studies have the same parts.
const JUDGED: [&str; 4] = ["mind-your-core", "node-matrix", "numa-scaling", "microbenchmarks"];

/// Checks one of the frames with axe-core: problems that prevent or impede use of the page.
const JUDGE: &str = r#"
if (innerWidth === 800 && JUDGED.includes(page)) {
  parent.found("judging");
  const colours = {enabled: COLOURS.includes(page)}, rules = {"color-contrast": colours, "link-in-text-block": colours};
  axe.run(document, {resultTypes: ["violations"], selectors: false, rules, ...ASKED}).then(result => {
    for (const v of result.violations) if (v.impact === "serious" || v.impact === "critical")
      for (const n of v.nodes.slice(0, 3)) parent.found(`axe: ${v.id}: ${v.help}: ${n.html.slice(0, 120)}`);
    parent.found(`judged by ${result.passes.length} rules`);
  }).catch(e => parent.found("broken: axe " + e));
}
"#;

fn chromium(page: &Path, colours: Colours) -> (String, String) {
    chromium_with(page, colours, &["--dump-dom"])
}

fn chromium_with(page: &Path, colours: Colours, further: &[&str]) -> (String, String) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_program = |name: &&str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    let name = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(is_program);
    let name = name.expect("chromium is not installed: apt-get install chromium, or scripts/setup test");
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(name);
    command
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"])
        .args(["--enable-logging=stderr", "--v=0", "--virtual-time-budget=8000", "--window-size=1700,1000"])
        .args(further)
        .arg(format!("--blink-settings=preferredColorScheme={}", if colours == Colours::Dark { 0 } else { 1 }))
        .arg(format!("--user-data-dir={}", home.path().display()))
        .env("HOME", home.path())
        .arg(format!("file://{}", page.display()));
    let out = assert_cmd::Command::from_std(command).timeout(Duration::from_secs(300)).output().unwrap();
    (String::from_utf8_lossy(&out.stdout).into_owned(), String::from_utf8_lossy(&out.stderr).into_owned())
}

/// axe-core, as stored by `scripts/get-readers`.
fn axe() -> String {
    let file = target().join("readers/axe.min.js");
    std::fs::read_to_string(&file).unwrap_or_else(|_| panic!("{} is not here: run scripts/get-readers", file.display()))
}

/// Measures each page in frames of these widths and returns the findings. `script` is shared by all frames.
fn findings(
    dir: &Path,
    pages: &[(&str, String)],
    (script, extra): (&str, &str),
    colours: Colours,
    widths: impl Fn(&str) -> &'static [u32],
) -> Vec<String> {
    // Without a declared encoding, Chromium guesses it from the part of the file that it has read so far.
    let mut outer = "<!DOCTYPE html><meta charset=utf-8><ul id=found></ul><script>\
                     function found(text) { const li = document.createElement('li'); \
                     li.textContent = 'FOUND ' + text.replaceAll('\\n', ' '); \
                     document.querySelector('#found').append(li) }</script>"
        .to_owned();
    // The script is a separate file: otherwise the document that is read back would contain it once per frame.
    std::fs::write(dir.join("frames.js"), script).unwrap();
    for (name, page) in pages {
        let page = framed(name, page, extra, !script.is_empty());
        for width in widths(name) {
            let _ = write!(outer, "<iframe width={width} height=900 style='border:0' srcdoc=\"{page}\"></iframe>");
        }
    }
    let file = dir.join("frames.html");
    std::fs::write(&file, outer).unwrap();
    let (dom, _) = chromium(&file, colours);
    let found = dom.split("<li>FOUND ").skip(1).map(|rest| rest.split("</li>").next().unwrap().to_owned());
    let found: Vec<String> = found.collect();
    for (name, _) in pages {
        for width in widths(name) {
            assert!(
                found.contains(&format!("measured {name} {width}")),
                "the frame of {name} at {width} was not measured: {found:?}\n{dom:.2000}"
            );
        }
    }
    found.into_iter().filter(|line| !line.starts_with("measured")).collect()
}

/// A page as the content of a frame, with the scripts of the test.
fn framed(name: &str, page: &str, extra: &str, script: bool) -> String {
    // Without its content security policy, so that the test's scripts may run; another test checks the policy.
    let (head, rest) = page.split_once("<meta http-equiv=\"Content-Security-Policy\"").unwrap();
    let page = format!("{head}{}", rest.split_once('>').unwrap().1);
    let own = if script { "<script src=\"frames.js\"></script>" } else { "" };
    let probe = format!(
        "{own}<script>addEventListener('error', e => parent.found('error: ' + e.message));\
         addEventListener('load', () => {{ try {{ const page = '{name}'; {MEASURE} {extra} findings.forEach(parent.found); \
         (typeof used === 'undefined' ? [] : used).forEach(u => parent.found('used ' + u)); }} \
         catch (e) {{ parent.found('broken: ' + e) }} parent.found('measured {name} ' + innerWidth) }})</script>"
    );
    page.replacen("<head>", &format!("<head>{probe}"), 1).replace('&', "&amp;").replace('"', "&quot;")
}

fn page_of(study: &fake::Study) -> (tempfile::TempDir, String) {
    let dir = fake::dir(study);
    let text = fake::page(dir.path());
    (dir, text)
}

/// Five hundred conditions with long names.
fn many() -> fake::Study {
    let mut conditions = Vec::new();
    for (placement, pool, threads) in (0..500_u32).map(|i| (i % 5, i / 5 % 10, i / 50)) {
        let placement = ["float", "same-pu", "smt-sibling", "same-last-level-cache", "other-node"][placement as usize];
        let name = format!("placement={placement} option.buffer_pool_instances={pool} threads={}", threads + 1);
        let tps = 10_000.0 * (1.0 + f64::from(pool) / 20.0) + f64::from(threads) * 700.0;
        conditions.push(Fake { name: name.leak(), tps: vec![tps], between: 0.02, cpus: vec![[0, 16, 12, 4]] });
    }
    fake::Study { name: "many", conditions, trials: 2, samples: 1, bad: Vec::new(), missing: 0 }
}

/// A page of a study whose trials searched for the highest rate that meets an objective.
fn searched() -> String {
    let dir = fake::dir(&fake::bimodal());
    let client = json!({"client": {"cpu_used_fraction": 0.97}});
    let steps =
        [(500.0, 1.2, json!(null)), (1000.0, 300.5, json!("server")), (707.0, 8.5, client), (595.0, 4.9, json!(null))];
    let steps = steps.map(|(requested, value, limit)| {
        json!({"asked_tps": requested, "done_tps": 0.99 * requested, "value": value, "value_of_prompt_client": value,
            "met": limit.is_null(), "limit": limit, "repeated": false})
    });
    let search = json!([{"search": 0, "objective": "latency_ms_p99 <= 5", "closed_loop_tps": 1000.0, "found_tps": 595.0,
        "limit": "server", "steps": steps}]);
    fake::each_record(dir.path(), |record| record["searches"] = search.clone());
    let page = fake::page(dir.path());
    // A trial that failed has no search to show.
    assert!(page.contains("595 /s in 4 steps") && page.contains("the client's limit: its threads used 97%"), "{page}");
    page
}

/// The page of a paired comparison of two commands whose names differ in one digit.
fn paired() -> String {
    let world = World::new();
    let sides = ["--a", "command=sleep 0.01", "--b", "command=sleep 0.03", "--minimum-effect", "20%", "--seed", "5"];
    let words = [&["ab", "--budget", "1min", "--out", "results"], &sides[..], &QUIET].concat();
    let out = world.output(&words);
    assert!(matches!(out.status.code(), Some(1 | 5)), "{}", String::from_utf8_lossy(&out.stderr));
    fake::page(&world.path("results"))
}

/// The page of `tare compare --html`: one side against the first, or every condition.
fn compared(conditions: &[&str]) -> String {
    let results = fake::results(&fake::eight());
    let side = |condition| (format!("results:{condition}"), Side { results: &results, condition: Some(condition) });
    let sides: Vec<(String, Side<'_>)> = conditions.iter().copied().map(side).collect();
    let options = Options { min_effect: 0.01, fail_if_slower: None, judged: Vec::new() };
    changes(&compare_many(&sides, &options).unwrap(), options.min_effect)
}

/// A history whose runs have a date and a commit in their names.
fn nightly() -> History {
    let mut found = command_sentences::uncertain(command_sentences::history(Some(0.979), None, 12));
    for line in &mut found.lines {
        line.points.iter_mut().for_each(|point| point.run = format!("2026-11-01-abcdef-{}", point.run));
    }
    found
}

const SIDES: [&str; 4] = [
    "ahi=off aslr=off preload=off",
    "ahi=on aslr=off preload=off",
    "ahi=off aslr=off preload=on",
    "ahi=on aslr=on preload=off",
];

/// Pages of every built-in study as a rehearsal makes them, and of special studies, for instance with failed and
/// disturbed trials and modes; only the wanted ones are made.
fn built_in(is_wanted: impl Fn(&str) -> bool) -> Vec<(&'static str, String)> {
    type Page = fn() -> String;
    let others: [(&str, Page); 8] = [
        ("everything", || page_of(&fake::bimodal()).1),
        ("searches", searched),
        ("latencies", latencies::page),
        ("distances", distance::page),
        ("history", || history_page(&nightly(), None)),
        ("pairs", paired),
        ("two sides", || compared(&SIDES[..2])),
        ("four sides", || compared(&SIDES)),
    ];
    let studies = BUILTIN.iter().map(|builtin| builtin.name).filter(|name| is_wanted(name));
    let rehearsals = studies.map(|name| (name, page_of(&first_lines::study(name, 1.3, 2)).1));
    let others = others.into_iter().filter(|(name, _)| is_wanted(name)).map(|(name, page)| (name, page()));
    rehearsals.chain(others).collect()
}

fn fit_and_serve(pages: &[(&str, String)], colours: Colours) {
    let (requested, rules) = colours.requested();
    let (dir, axe) = (tempfile::tempdir().unwrap(), axe());
    let is_rehearsal = |name: &str| BUILTIN.iter().any(|builtin| builtin.name == name);
    let names = pages.iter().map(|(name, _)| *name);
    let judged: Vec<&str> = names.filter(|&name| JUDGED.contains(&name) || !is_rehearsal(name)).collect();
    let judge = JUDGE.replace("JUDGED", &format!("{judged:?}")).replace("COLOURS", &format!("{COLOURS:?}"));
    let judge = judge.replace("ASKED", requested);
    // Rehearsals of built-in studies differ from "everything" in names alone, which are too long for small windows.
    let widths = |name: &str| -> &'static [u32] {
        match (colours, judged.contains(&name)) {
            (Colours::Dark, _) => &WIDTHS[1..2],
            (Colours::Light, false) => &WIDTHS[..1],
            (Colours::Light, true) if is_rehearsal(name) => &WIDTHS[..2],
            (Colours::Light, true) => &WIDTHS,
        }
    };
    let mut found = findings(dir.path(), pages, (&axe, &judge), colours, widths);
    assert_eq!(found.iter().filter(|line| *line == "judging").count(), judged.len(), "{found:?}");
    let ended = found.iter().filter_map(|line| line.strip_prefix("judged by ")?.strip_suffix(" rules")?.parse().ok());
    let ended: Vec<usize> = ended.filter(|count| *count >= rules).collect();
    assert_eq!(ended.len(), judged.len(), "axe-core did not come to an end: {found:?}");
    found.retain(|line| !line.starts_with("judg"));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn light_reports_of_all_built_in_studies_fit_any_screen_and_are_accessible() {
    fit_and_serve(&built_in(|_| true), Colours::Light);
}

#[test]
fn dark_reports_fit_any_screen_and_have_accessible_colours() {
    let pages = built_in(|name| COLOURS.contains(&name));
    assert_eq!(pages.len(), COLOURS.len());
    fit_and_serve(&pages, Colours::Dark);
}

#[test]
fn a_report_of_five_hundred_conditions_fits_any_screen() {
    let (dir, page) = page_of(&many());
    let found = findings(dir.path(), &[("many", page)], ("", ""), Colours::Light, |_| &[360, 1600]);
    assert!(found.is_empty(), "{} findings:\n{}", found.len(), found[..found.len().min(20)].join("\n"));
}

#[test]
fn a_report_can_be_sorted_filtered_inspected_saved_printed_and_used_by_keyboard() {
    let (dir, page) = page_of(&fake::eight());
    let found = findings(dir.path(), &[("eight", page)], ("", USE), Colours::Light, |_| &[800]);
    let uses = [
        "sorted true true",
        "left 4",
        "saves true true",
        "types image/svg+xml text/csv",
        "drawings true",
        "plain true",
        "hover true",
        "keyboard true",
        "prints true",
    ];
    for used in uses {
        assert_eq!(found.iter().filter(|line| **line == format!("used {used}")).count(), 1, "{used}: {found:?}");
    }
}

/// A level may have blanks, and words that look like further factors.
#[test]
fn a_report_is_filtered_by_levels_and_not_by_words_of_names() {
    let mut results = fake::results(&fake::eight());
    let renamed = |name: &mut String, levels: &mut Levels| {
        let Some(level) = levels.remove("preload") else { return };
        let command = format!("./{level} --threads=4");
        *name = name.replace(&format!("preload={level}"), &format!("command={command}"));
        levels.insert("command".to_owned(), command);
    };
    for trial in &mut results.trials {
        renamed(&mut trial.condition, &mut trial.levels);
    }
    let plan = results.plan.as_mut().unwrap();
    plan.conditions.iter_mut().for_each(|condition| renamed(&mut condition.name, &mut condition.levels));
    plan.factors = ["command", "ahi", "aslr"].map(str::to_owned).to_vec();
    let page = tare_report::html::render(&results, &tare_findings::summarize(&results));
    let script = r#"
        const boxes = [...document.querySelectorAll("form.filter select")];
        const used = [`factors ${boxes.map(box => box.name).join(" ")}`];
        boxes[0].value = "./on --threads=4"; boxes[0].dispatchEvent(new Event("input", {bubbles: true}));
        const rows = [...document.querySelectorAll("svg.chart g.row")].filter(g => g.style.display !== "none");
        used.push(`left ${new Set(rows.map(g => g.dataset.c)).size}`);
    "#;
    let dir = tempfile::tempdir().unwrap();
    let found = findings(dir.path(), &[("levels", page)], ("", script), Colours::Light, |_| &[800]);
    for used in ["factors command ahi aslr", "left 4"] {
        assert!(found.contains(&format!("used {used}")), "{used}: {found:?}");
    }
}

#[test]
fn the_content_security_policy_of_a_report_allows_only_its_own_script() {
    let (dir, page) = page_of(&fake::eight());
    let intruder = page.replacen("<header>", "<header><script>document.title = 'INTRUDED'</script>", 1);
    let file = dir.path().join("intruder.html");
    std::fs::write(&file, intruder).unwrap();
    let (dom, log) = chromium(&file, Colours::Light);
    assert!(dom.contains("class=\"filter\""), "the page's script did not run: {log}");
    assert!(!dom.contains("<title>INTRUDED"), "a foreign script ran");
    // The policy forbids that script and nothing of the page's own.
    assert_eq!(log.lines().filter(|line| line.contains("CONSOLE")).count(), 1, "{log}");
}

/// Nor does the page print anything on the browser's console.
#[test]
fn a_printed_report_of_three_conditions_has_at_most_six_pages() {
    let dir = fake::dir(&fake::bimodal());
    // As many settings as a real machine has.
    let environment = dir.path().join("environment.json");
    let mut found: Value = serde_json::from_str(&std::fs::read_to_string(&environment).unwrap()).unwrap();
    for setting in 0..240 {
        found["settings"][format!("/sys/devices/system/cpu/setting_{setting}")] = "Not affected".into();
    }
    std::fs::write(&environment, found.to_string()).unwrap();
    let page = fake::page(dir.path());
    let (file, paper) = (dir.path().join("page.html"), dir.path().join("page.pdf"));
    std::fs::write(&file, page).unwrap();
    let (_, log) = chromium_with(&file, Colours::Light, &[&format!("--print-to-pdf={}", paper.display())]);
    let printed: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(printed.is_empty(), "{printed:?}");
    let bytes = std::fs::read(&paper).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let pages = text.matches("/Type /Page").count() - text.matches("/Type /Pages").count();
    assert!((1..=6).contains(&pages), "{pages} pages");
}
