//! Where the threads of `tare load` ran: CPUs of each client and of the server thread that serves it.

use tare_cpuset::CpuSet;
use tare_results::schema::{ThreadClass, ThreadRecord};

/// Pairs that are printed; `--json` lists all of them.
const SHOWN: usize = 16;

/// One line per connection; empty if no thread was watched.
pub(crate) fn words(threads: &[ThreadRecord]) -> String {
    let clients: Vec<_> = threads.iter().filter(|thread| thread.class == ThreadClass::Client).collect();
    let mut text = String::new();
    for client in clients.iter().take(SHOWN) {
        let number = client.pair.map_or(String::new(), |pair| format!(" {pair}"));
        text += &format!("client{number:<8}thread {}", place(client));
        let serves = |thread: &&ThreadRecord| thread.class == ThreadClass::Connection && thread.pair == client.pair;
        match threads.iter().find(serves) {
            Some(server) => text += &format!("; served by {} {}\n", server.name, place(server)),
            None => text += "; its server thread is not visible from here\n",
        }
    }
    if clients.len() > SHOWN {
        text += &format!("... and {} more: --json has them all\n", tare_text::count(clients.len() - SHOWN, "client"));
    }
    text
}

fn place(thread: &ThreadRecord) -> String {
    let seen: CpuSet = thread.seen_cpus.keys().map(|cpu| *cpu as u32).collect();
    let moves = tare_text::count(thread.migrations as usize, "move");
    format!("{}: CPUs allowed {}, seen {seen}, {moves}", thread.tid, thread.allowed_cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(class: ThreadClass, pair: usize, allowed: &str, seen: &[usize]) -> ThreadRecord {
        ThreadRecord {
            class,
            pair: Some(pair),
            pid: 1,
            tid: 100 + pair as u32,
            name: "mariadbd".into(),
            allowed_cpus: allowed.parse().unwrap(),
            seen_cpus: seen.iter().map(|cpu| (*cpu, 5)).collect(),
            migrations: 2,
            ..ThreadRecord::default()
        }
    }

    #[test]
    fn every_client_is_printed_next_to_its_server_thread() {
        let threads = [
            thread(ThreadClass::Client, 0, "0-1", &[0, 1]),
            thread(ThreadClass::Client, 1, "1", &[1]),
            thread(ThreadClass::Connection, 0, "2", &[2]),
        ];
        let text = words(&threads);
        let lines: Vec<&str> = text.lines().collect();
        let first = "client 0      thread 100: CPUs allowed 0-1, seen 0-1, 2 moves; served by mariadbd 100: CPUs allowed 2, \
                     seen 2, 2 moves";
        assert_eq!(lines[0], first);
        assert!(lines[1].ends_with("; its server thread is not visible from here"), "{text}");
        assert_eq!(words(&[]), "");
    }

    #[test]
    fn the_first_of_many_clients_are_shown_and_the_rest_counted() {
        let many: Vec<_> = (0..40).map(|pair| thread(ThreadClass::Client, pair, "0", &[0])).collect();
        assert!(words(&many).ends_with("... and 24 clients more: --json has them all\n"));
    }
}
