//! Pages in a real browser (headless Chromium), at the widths of a phone, a small window and a large one, light and
//! dark: nothing sticks out, no text is cut or lies on another, the script runs and says no error. A page is laid out
//! in a frame of that width, measured by a script of the test, and the findings are read from the document.

use crate::fake::{self, Fake};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tare::report::write_report;

const WIDTHS: [u32; 3] = [360, 800, 1600];

/// Measures what is laid out; every finding is a line.
const MEASURE: &str = r#"
const findings = [], shown = e => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length;
const root = document.documentElement;
if (root.scrollWidth > innerWidth + 1) findings.push(`the page is ${root.scrollWidth} wide in a window of ${innerWidth}`);
for (const e of document.querySelectorAll("body *")) {
  if (!shown(e) || e.closest("svg") || e.closest(".scroll") || e.closest("pre")) continue;
  const box = e.getBoundingClientRect();
  if (box.right > innerWidth + 1 || box.left < -1) findings.push(`${e.tagName}.${e.className} sticks out: ${e.textContent.slice(0, 60)}`);
}
for (const svg of document.querySelectorAll("svg[role=img]")) {
  if (!shown(svg)) continue;
  const frame = svg.getBoundingClientRect(), title = svg.querySelector("title")?.textContent;
  const texts = [...svg.querySelectorAll("text")].filter(t => shown(t) && t.textContent.trim());
  const boxes = texts.map(t => t.getBoundingClientRect());
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

/// Uses what the script of the page adds.
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
buttons("CSV")[0].click(); buttons("SVG")[0].click();
used.push(`types ${saved.map(b => b.type).sort().join(" ")}`);
"#;

fn chromium(page: &Path, dark: bool) -> (String, String) {
    let name = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success()));
    let name = name.expect("chromium is not installed: apt-get install chromium, or scripts/setup test");
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(name);
    command
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"])
        .args([
            "--enable-logging=stderr",
            "--v=0",
            "--virtual-time-budget=8000",
            "--window-size=1700,1000",
            "--dump-dom",
        ])
        .arg(format!("--blink-settings=preferredColorScheme={}", if dark { 0 } else { 1 }))
        .arg(format!("--user-data-dir={}", home.path().display()))
        .env("HOME", home.path())
        .arg(format!("file://{}", page.display()));
    let out = assert_cmd::Command::from_std(command).timeout(Duration::from_secs(120)).output().unwrap();
    (String::from_utf8_lossy(&out.stdout).into_owned(), String::from_utf8_lossy(&out.stderr).into_owned())
}

/// The page in frames of every width, each measured; what the frames found.
fn findings(dir: &Path, page: &str, extra: &str, dark: bool) -> Vec<String> {
    // Scripts of the test may run in it; that the page's own policy lets its own script run has a test of its own.
    let (head, rest) = page.split_once("<meta http-equiv=\"Content-Security-Policy\"").unwrap();
    let page = format!("{head}{}", rest.split_once('>').unwrap().1);
    let probe = format!(
        "<script>addEventListener('error', e => parent.found('error: ' + e.message));\
         addEventListener('load', () => {{ try {{ {MEASURE} {extra} findings.forEach(parent.found); \
         (typeof used === 'undefined' ? [] : used).forEach(u => parent.found('used ' + u)); }} \
         catch (e) {{ parent.found('broken: ' + e) }} parent.found('measured ' + innerWidth) }})</script>"
    );
    let page = page.replacen("<head>", &format!("<head>{probe}"), 1).replace('&', "&amp;").replace('"', "&quot;");
    let mut outer = "<!DOCTYPE html><ul id=found></ul><script>function found(text) { const li = document.createElement('li'); \
                     li.textContent = 'FOUND ' + text.replaceAll('\\n', ' '); document.querySelector('#found').append(li) }</script>"
        .to_owned();
    for width in WIDTHS {
        let _ = write!(outer, "<iframe width={width} height=900 style='border:0' srcdoc=\"{page}\"></iframe>");
    }
    let file = dir.join("frames.html");
    std::fs::write(&file, outer).unwrap();
    let (dom, _) = chromium(&file, dark);
    let found = dom.split("<li>FOUND ").skip(1).map(|rest| rest.split("</li>").next().unwrap().to_owned());
    let found: Vec<String> = found.collect();
    for width in WIDTHS {
        assert!(
            found.contains(&format!("measured {width}")),
            "the frame of {width} was not measured: {found:?}\n{dom:.2000}"
        );
    }
    found.into_iter().filter(|line| !line.starts_with("measured")).collect()
}

fn page_of(study: &fake::Study) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    fake::write(study, dir.path());
    let text = std::fs::read_to_string(write_report(dir.path()).unwrap()).unwrap();
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

#[test]
fn pages_fit_phones_and_screens_light_and_dark() {
    for study in [fake::bimodal(), fake::eight()] {
        let (dir, page) = page_of(&study);
        for dark in [false, true] {
            let found = findings(dir.path(), &page, "", dark);
            assert!(found.is_empty(), "{} dark {dark}:\n{}", study.name, found.join("\n"));
        }
    }
}

#[test]
fn five_hundred_conditions_fit_too() {
    let (dir, page) = page_of(&many());
    let found = findings(dir.path(), &page, "", false);
    assert!(found.is_empty(), "{} findings:\n{}", found.len(), found[..found.len().min(20)].join("\n"));
}

#[test]
fn tables_sort_conditions_filter_and_both_can_be_saved() {
    let (dir, page) = page_of(&fake::eight());
    let found = findings(dir.path(), &page, USE, false);
    for used in ["used sorted true true", "used left 4", "used saves true true", "used types image/svg+xml text/csv"] {
        assert_eq!(found.iter().filter(|line| *line == used).count(), 3, "{used}: {found:?}");
    }
}

#[test]
fn the_pages_own_policy_lets_its_own_script_run_and_no_other() {
    let (dir, page) = page_of(&fake::eight());
    let intruder = page.replacen("<main>", "<main><script>document.title = 'INTRUDED'</script>", 1);
    let file = dir.path().join("intruder.html");
    std::fs::write(&file, intruder).unwrap();
    let (dom, log) = chromium(&file, false);
    assert!(dom.contains("class=\"filter\""), "the page's script did not run: {log}");
    assert!(!dom.contains("<title>INTRUDED"), "a foreign script ran");
    std::fs::write(&file, page).unwrap();
    let (_, log) = chromium(&file, false);
    let said: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(said.is_empty(), "{said:?}");
}
