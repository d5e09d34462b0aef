//! The HTML report.

use crate::fake;
use std::fs;
use tare::report::write_report;

fn report_of(study: &fake::Study) -> String {
    let dir = tempfile::tempdir().unwrap();
    fake::write(study, dir.path());
    let path = write_report(dir.path()).unwrap();
    let text = fs::read_to_string(path).unwrap();
    // For a look with a browser.
    if let Ok(out) = std::env::var("TARE_TEST_REPORTS") {
        fs::write(std::path::Path::new(&out).join(format!("{}.html", study.name)), &text).unwrap();
    }
    text
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    for study in [fake::bimodal(), fake::eight()] {
        let text = report_of(&study);
        assert!(!text.contains("http://") && !text.contains("https://"), "a network address");
        for tag in ["<script", "<link", "<img", "<iframe", "@import", "url("] {
            assert!(!text.contains(tag), "{tag} in the report");
        }
    }
}
