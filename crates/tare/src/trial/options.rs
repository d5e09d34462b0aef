//! Options that were requested of the server and its connections, verified with the server.

use super::TrialError;
use tare_drive::workload::Settle;
use tare_engine::{EngineError, Server};
use tare_results::factor;
use tare_results::schema::AppliedSetting;
use tare_results::server::SettledRecord;
use tare_study::language::settings::EngineSettings;

/// Verifies an option that the server was started with. The server accepted the option, or it would not have started;
/// the value is verified only if the server has a variable of that name.
pub(crate) fn option(server: &dyn Server, option: &str, level: &str) -> Result<AppliedSetting, TrialError> {
    let verified = match server.setting(option)? {
        Some(value) => format!("the server reports {value}"),
        None => "not verified: the server was started with it, but has no variable of this name".to_owned(),
    };
    Ok(AppliedSetting::new(factor::of_option(option), level, verified))
}

/// How the trial waited for the server to settle before the first sample; not settling is not an error.
pub(crate) fn settled(requested: &Settle, found: &SettledRecord) -> AppliedSetting {
    let level = format!("{} s, {} statements", requested.limit_s, requested.statements.len());
    let left: Vec<String> = found.left.iter().map(|(what, amount)| format!("{what} {amount}")).collect();
    let left = if left.is_empty() { String::new() } else { format!("; then {}", left.join(", ")) };
    let verified = format!(
        "{} after {:.1} s of waiting, statements {:.1} s{left}",
        if found.settled { "settled" } else { "not settled" },
        found.waited_s,
        found.statements_s
    );
    AppliedSetting::new("settle_s", level, verified)
}

/// Verifies the character set of the connections that the load opens; `None` if the engine has no choice.
pub(crate) fn charset(requested: &EngineSettings, server: &dyn Server) -> Result<Option<AppliedSetting>, TrialError> {
    let Some(question) = requested.kind.charset_question() else { return Ok(None) };
    let failed = |source| EngineError::Sql { statement: question.to_owned(), source };
    let rows = server.connect()?.query(question).map_err(failed)?;
    let found = rows.into_iter().flatten().flatten().next().unwrap_or_default();
    if !requested.charset.is(&found) {
        return Err(
            EngineError::NotInEffect { setting: "charset", requested: requested.charset.to_string(), found }.into()
        );
    }
    Ok(Some(AppliedSetting::new("charset", requested.charset, format!("the server reports {found}"))))
}
