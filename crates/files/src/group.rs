//! Whether this user is the only member of their group. Many distributions create a group per user and set umask 002.

use std::sync::OnceLock;

/// Whether the group of this process has no other member except root; always false for root. Only the local files are
/// read, because a directory service on the network may not answer: a group that they do not list may have any member,
/// and the result is false.
pub(crate) fn is_own() -> bool {
    static OWN: OnceLock<bool> = OnceLock::new();
    *OWN.get_or_init(|| {
        let read = |path: &str| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned();
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        !user.is_root() && is_alone(&read("/etc/passwd"), &read("/etc/group"), user.as_raw(), group.as_raw())
    })
}

/// The decision, from the lines of passwd(5) and group(5).
fn is_alone(users: &str, groups: &str, user: u32, group: u32) -> bool {
    let number = |line: &str, field: usize| line.split(':').nth(field)?.parse::<u32>().ok();
    let is_root = |line: &str| number(line, 2) == Some(0);
    let is_me = |line: &str| number(line, 2) == Some(user);
    let name = |line: &'_ str| line.split(':').next().unwrap_or_default().to_owned();
    let believed: Vec<String> = users.lines().filter(|line| is_me(line) || is_root(line)).map(name).collect();
    let begins_with_it = |line: &str| number(line, 3) == Some(group) && !is_me(line) && !is_root(line);
    let mut same = groups.lines().filter(|line| number(line, 2) == Some(group)).peekable();
    let is_listed = same.peek().is_some();
    let mut members = same.flat_map(|line| line.split(':').nth(3).unwrap_or_default().split(','));
    is_listed
        && !users.lines().any(begins_with_it)
        && members.all(|member| member.is_empty() || believed.iter().any(|known| known == member))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_with_another_member_is_not_private() {
        let users = "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/:/bin/sh\nben:x:1001:100::/:/bin/sh\n\
                     carl:x:1002:100::/:/bin/sh\n";
        let groups = "ann:x:1000:\nusers:x:100:\nteam:x:2000:ben,ann\nalone:x:2001:root,ann\n";
        let of = |user, group| is_alone(users, groups, user, group);
        assert!(of(1000, 1000) && of(1000, 2001));
        assert!(!of(1001, 100), "it is also the first group of another user");
        assert!(!of(1000, 2000), "another user is in it");
        assert!(!of(1000, 3000), "not listed");
        assert!(!is_alone(users, &format!("{groups}other:x:1000:ben\n"), 1000, 1000), "under another name");
        assert!(!is_alone("", "", 1000, 1000));
    }
}
