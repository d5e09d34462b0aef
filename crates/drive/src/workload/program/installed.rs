//! Whether a client is there, and the words of its options.

use std::path::Path;
use tare_text::Value;

/// Makes sure of it, for a client that a package brings.
pub fn installed(program: &str, package: &str) -> Result<(), String> {
    let how = || format!("{program} is not installed: apt-get install {package}, or name it with workload.program");
    if is_there(program) { Ok(()) } else { Err(how()) }
}

/// Whether there is a program of this name or path.
pub fn is_there(program: &str) -> bool {
    match program.contains('/') {
        true => Path::new(program).is_file(),
        false => std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file())),
    }
}

pub fn option_words(value: &Value) -> Result<Vec<String>, String> {
    shlex::split(&value.to_string()).ok_or_else(|| "words as on a command line, every quote closed".to_owned())
}

/// Words as one text, quoted as a shell reads them.
pub fn joined(words: &[String]) -> String {
    // Only a zero byte cannot be quoted, which no word has that was split.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default()
}
