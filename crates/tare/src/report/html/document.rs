//! What every page of tare is wrapped in: no script, nothing loaded, one style.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// A whole document with this title and body.
pub(super) fn document(title: &str, body: &Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="color-scheme" content="light dark";
                // Nothing is ever loaded, whatever a results directory holds.
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (title) " - tare" }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body { (body) }
        }
    }
    .into_string()
}
