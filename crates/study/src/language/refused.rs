//! Keys that are refused with a hint: passwords, and login paths.

/// What is wrong with a refused key, and what to do instead; none for any other key.
pub(crate) fn key(section: &str, key: &str) -> Option<(String, &'static str)> {
    let plain = key.to_lowercase().replace(['-', '_'], "");
    if section == "engine" && plain == "loginpath" {
        return Some((
            "login paths (~/.mylogin.cnf of mysql_config_editor) are not read".to_owned(),
            "option_file = \"/path/of/my.cnf\" with user and password under [client], readable by you alone",
        ));
    }
    let secret =
        ["password", "passwd", "pwd", "pass", "secret"].contains(&plain.as_str()) || plain.ends_with("password");
    secret.then(|| {
        (
            format!("a study must not contain a password ([{section}] {key}): it is shared and kept with results"),
            "no such key; the password comes from ~/.my.cnf ([client] password=...) or option_file, from ~/.pgpass, from \
             the environment (TARE_PASSWORD) or from a prompt (tare run --ask-password)",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_for_a_password_says_what_to_do_instead() {
        for name in ["password", "Password", "db_password", "passwd", "pwd"] {
            let (what, expected) = key("engine", name).unwrap();
            assert!(what.contains("must not contain a password") && expected.contains("TARE_PASSWORD"), "{name}");
        }
        assert!(key("engine", "login_path").unwrap().0.contains("mylogin"));
        assert_eq!(key("engine", "passage"), None);
    }
}
