//! Files that other users leave are not trusted: attacks of an ordinary user on root, in a mount namespace.

use crate::support::text;
use std::path::Path;
use std::process::Command;

/// A study of one short trial, for both users.
const STUDY: &str = "name = \"attacked\"\n[workload]\nrows = 20\n[sampling]\ntrials = 1\nwarmup_s = 0\nsample_s = 0.05\n\
                     steal_limit = \"off\"\nforeign_cpu_limit = \"off\"\n";

/// The beginning of every script: empty system directories that vanish with the namespace; the program where everyone
/// can run it; `as` and `user` to run it as root and as an ordinary user, without the environment of this test.
const BEGIN: &str = r#"set -eu
mount --make-rprivate /
mount -t tmpfs none /mnt
touch /mnt/tare && mount --bind "$0" /mnt/tare
printf '%s' "$1" >/mnt/study.toml
for place in /tmp /run /var/lib /var/cache; do mount -t tmpfs -o mode=755 none "$place"; done
chmod 1777 /tmp && mkdir -m 1777 /run/lock
mkdir /tmp/root && cd /tmp/root
as() { env -i PATH="$PATH" "$@"; }
user() { (cd /tmp && setpriv --reuid=65534 --regid=65534 --clear-groups env -i PATH="$PATH" "$@"); }
"#;

/// Runs a script as root in a namespace of its own; `None` for ordinary users, who cannot.
fn as_root(script: &str) -> Option<(i32, String)> {
    if !rustix::process::geteuid().is_root() {
        println!("not root: no one to be attacked");
        return None;
    }
    let tare = Path::new(env!("CARGO_BIN_EXE_tare"));
    let tare = std::env::var_os("TARE_TEST_PROGRAM").map_or_else(|| tare.to_owned(), Into::into);
    let output = Command::new("timeout")
        .args(["90", "unshare"])
        .args(["--mount", "sh", "-c", &format!("{BEGIN}{script}")])
        .arg(tare)
        .arg(STUDY)
        .output()
        .expect("unshare (Debian package util-linux)");
    let printed = format!("{}{}", text(&output.stdout), text(&output.stderr));
    println!("{printed}");
    Some((output.status.code().unwrap_or(-1), printed))
}

/// A program that exchanges pairs of paths from its input until told to end, as fast as the kernel can.
pub const EXCHANGER: &str = r#"
cat >/mnt/exchange.py <<'END'
import ctypes, os, random, sys
renameat2 = ctypes.CDLL(None).renameat2
pairs = [[os.fsencode(path) for path in line.split()] for line in sys.stdin]
while not os.path.exists("/mnt/enough"):
    for a, b in random.choices(pairs, k=1000):
        renameat2(-100, a, -100, b, 2)
END
"#;

/// Runs a script that must succeed.
pub fn holds(script: &str) {
    if let Some((code, printed)) = as_root(script) {
        assert_eq!(code, 0, "{printed}");
    }
}

#[test]
fn a_link_planted_in_place_of_a_lock_does_not_truncate_a_file_of_root() {
    holds(
        r#"
        # The attacker learns the names from a cache of its own.
        user mkdir -m 755 /tmp/mine
        user TARE_CACHE_DIR=/tmp/mine/cache TARE_STATE_DIR=/tmp/mine/state /mnt/tare run /mnt/study.toml --out /tmp/mine/out
        echo precious >/mnt/victim
        user mkdir /tmp/tare-cache-0
        for lock in /tmp/mine/cache/*.lock; do user ln -s /mnt/victim "/tmp/tare-cache-0/${lock##*/}"; done
        as /mnt/tare run /mnt/study.toml --out out
        grep precious /mnt/victim
        "#,
    );
}

#[test]
fn no_server_is_started_on_prepared_data_that_another_user_planted() {
    holds(
        r#"
        user mkdir -m 755 /tmp/mine
        user TARE_CACHE_DIR=/tmp/mine/cache TARE_STATE_DIR=/tmp/mine/state /mnt/tare run /mnt/study.toml --out /tmp/mine/out
        # With this in its data, a server that is started on it fails; a cleverer attacker has a trigger there.
        for file in /tmp/mine/cache/*/data/*; do user sh -c "echo evil >$file"; done
        user cp -a /tmp/mine/cache /tmp/tare-cache-0
        as /mnt/tare run /mnt/study.toml --out out
        test "$(ls /var/cache/tare | wc -l)" -ge 1
        # Named outright, it is refused, and nothing is written there.
        if as TARE_CACHE_DIR=/tmp/mine/cache /mnt/tare run /mnt/study.toml --out named 2>err; then exit 1; fi
        cat err; grep 'belongs to user 65534' err
        "#,
    );
}

#[test]
fn restore_with_a_state_directory_writable_by_others_kills_and_removes_nothing() {
    holds(
        r#"
        sleep 60 >/dev/null 2>&1 & victim=$!
        mkdir -m 700 /mnt/precious
        mkdir -m 777 /var/lib/tare
        start=$(cut -d' ' -f22 /proc/$victim/stat)
        user sh -c "printf '{\"boot_id\":\"%s\",\"owner\":{\"pid\":1,\"start_ticks\":999},\"server\":{\"pid\":$victim,\"start_ticks\":$start},\
\"behind\":null,\"directories\":[\"/mnt/precious\"]}' \
            \"\$(cat /proc/sys/kernel/random/boot_id)\" >/var/lib/tare/server-1-1-0.json"
        if as /mnt/tare restore 2>err; then cat err; fi
        kill -0 $victim && kill $victim
        test -d /mnt/precious
        cat err; grep 'others may write' err
        "#,
    );
}

#[test]
fn state_and_cache_permissions_are_restrictive_for_any_umask() {
    holds(
        r#"
        umask 000
        as /mnt/tare run /mnt/study.toml --out out
        stat -c '%a %n' /var/lib/tare /var/cache/tare /var/cache/tare/* /run/tare
        test "$(stat -c %a /var/cache/tare)" = 700
        case "$(stat -c %a /var/lib/tare)" in 700|711) ;; *) exit 1;; esac
        test "$(stat -c %a /run/tare)" = 711
        test "$(stat -c %a /run/tare/tare-host.lock)" = 600
        "#,
    );
}

#[test]
fn root_writes_nothing_into_the_home_of_the_user_who_called_sudo() {
    holds(
        r#"
        mkdir -m 700 /tmp/home && chown 65534 /tmp/home
        as HOME=/tmp/home SUDO_UID=65534 XDG_CACHE_HOME=/tmp/home/.cache /mnt/tare run /mnt/study.toml --out out
        find /tmp/home -mindepth 1 | (! grep .)
        "#,
    );
}

#[test]
fn a_user_who_holds_the_lock_does_not_block_root_and_is_reported() {
    holds(
        r#"
        # Both the file of runs and that of trials, in every place where an ordinary user can make one.
        for place in /run/lock /tmp; do
            for lock in tare-host.lock tare-trials.lock; do
                user sh -c "umask 222; : >$place/$lock"
                (exec >/dev/null 2>&1; user flock --exclusive "$place/$lock" sleep 15) &
            done
        done
        sleep 0.5
        timeout 30 env -i PATH="$PATH" /mnt/tare run /mnt/study.toml --out out 2>err || { cat err; exit 1; }
        cat err; grep "another user's run uses this machine too" err; grep 'flock\|sleep' err
        # The other way round an ordinary user is told that root has it.
        if user flock --nonblock /run/tare/tare-host.lock true; then exit 1; fi
        "#,
    );
}

#[test]
fn a_lock_held_by_another_user_is_reported_with_its_holder_within_seconds() {
    holds(
        r#"
        user mkdir -m 755 /tmp/mine
        other() { (cd /tmp && setpriv --reuid=65533 --regid=65533 --clear-groups env -i PATH="$PATH" "$@"); }
        mine() { user TARE_CACHE_DIR=/tmp/mine/cache TARE_STATE_DIR=/tmp/mine/state "$@" 2>err; }
        user sh -c 'umask 222; : >/run/lock/tare-trials.lock; : >/run/lock/tare-host.lock'
        # The lock of trials, for some seconds: it is said who has it, and then the run goes on.
        (exec >/dev/null 2>&1; other flock --exclusive /run/lock/tare-trials.lock sleep 6) &
        sleep 0.5
        mine timeout 60 /mnt/tare run /mnt/study.toml --out /tmp/mine/out || { cat err; exit 1; }
        cat err; grep 'waiting for the last trial of an earlier run' err; grep 'of user 65533' err; grep 'sleep' err
        # The host lock: refused at once.
        (exec >/dev/null 2>&1; other flock --exclusive /run/lock/tare-host.lock sleep 20) &
        sleep 0.5
        if mine timeout 5 /mnt/tare run /mnt/study.toml --out /tmp/mine/out2; then exit 1; fi
        cat err; grep 'in use by another run' err; grep 'of user 65533' err
        "#,
    );
}

#[test]
fn a_report_on_another_users_directory_does_not_write_through_links() {
    holds(
        r#"
        user mkdir -m 755 /tmp/mine
        user TARE_CACHE_DIR=/tmp/mine/cache TARE_STATE_DIR=/tmp/mine/state /mnt/tare run /mnt/study.toml --out /tmp/mine/out
        echo precious >/mnt/victim
        rm -f /tmp/mine/out/report.html
        for name in report.html report.html.part report.tmp; do user ln -s /mnt/victim "/tmp/mine/out/$name"; done
        as /mnt/tare report /tmp/mine/out
        grep precious /mnt/victim
        "#,
    );
}

#[test]
fn a_study_or_results_of_another_user_run_only_with_trust() {
    holds(
        r#"
        user mkdir -m 755 /tmp/mine
        user cp /mnt/study.toml /tmp/mine/study.toml
        user TARE_CACHE_DIR=/tmp/mine/cache TARE_STATE_DIR=/tmp/mine/state /mnt/tare run /tmp/mine/study.toml --out /tmp/mine/out
        # A program of the attacker's in the study, and a trial still to be done.
        user sh -c ': >/tmp/mine/out/trials.jsonl'
        user rm -rf /tmp/mine/out/logs && user ln -s /mnt /tmp/mine/out/logs
        for what in '/tmp/mine/study.toml --out mine' '--resume /tmp/mine/out'; do
            code=0; as /mnt/tare run $what 2>err || code=$?
            cat err; test $code = 2; grep 'belongs to user 65534' err; grep -- --trust err
        done
        ls /mnt | (! grep trial)
        # A study of who called sudo is theirs to run; and what is trusted is run.
        as SUDO_UID=65534 /mnt/tare run /tmp/mine/study.toml --out sudo
        as /mnt/tare run --trust /tmp/mine/study.toml --out trusted
        "#,
    );
}

/// A study of commands, the attacker's command, and the step that puts it in place after a trial has ended.
const PROGRAMS: &str = r#"
cat >/mnt/programs.toml <<'END'
name = "programs"
[workload]
name = "command"
command = "sleep 0.2"
needs_server = false
[sampling]
trials = 4
samples = 1
warmup_s = 0
steal_limit = "off"
foreign_cpu_limit = "off"
END
printf '#!/bin/sh\n: >/mnt/owned\n' >/mnt/evil && chmod 755 /mnt/evil
user mkdir -m 755 /tmp/mine
not_owned() { if test -e /mnt/owned; then echo "the attacker's program ran"; exit 1; fi; }
put_in_place() {
    # Again until it is done: the folder is opened before the plan in it.
    user sh -c "for i in \$(seq 150); do
        test -s $1/trials.jsonl && sed 's#sleep 0.2#/mnt/evil#' $1/plan.json >/tmp/mine/plan.json &&
            cat /tmp/mine/plan.json >$1/plan.json && break; sleep 0.02; done" >/dev/null 2>&1 &
}
"#;

#[test]
fn another_user_cannot_change_what_the_next_trial_of_root_runs() {
    holds(&format!(
        "{PROGRAMS}{}",
        r#"
        umask 000
        put_in_place /tmp/root/out
        as /mnt/tare run /mnt/programs.toml --out out
        wait
        ls -la out; not_owned
        # Nor afterwards: no file of it can be written to, and none be read.
        find out -perm /077 | (! grep .)
        test "$(stat -c %a out)" = 700 && test "$(stat -c %a out/plan.json)" = 600
        # Nor where root itself opened it: what a trial is to do, it has from its run.
        (for i in $(seq 150); do test -s shared/trials.jsonl && break; sleep 0.02; done; chmod -R a+rwX shared) &
        put_in_place /tmp/root/shared
        as /mnt/tare run /mnt/programs.toml --out shared 2>err || cat err
        wait
        grep evil shared/plan.json; not_owned
        if as /mnt/tare run --resume shared 2>err; then exit 1; fi
        cat err; grep 'others may write' err; not_owned
        "#
    ));
}

#[test]
fn a_trial_does_what_its_run_planned_even_if_root_edits_the_files_meanwhile() {
    holds(&format!(
        "{PROGRAMS}{}",
        r#"
        as /mnt/tare run /mnt/programs.toml --out out & run=$!
        for i in $(seq 150); do test -s out/trials.jsonl && break; sleep 0.02; done
        sed -i 's#sleep 0.2#/mnt/evil#' out/plan.json out/study.toml
        wait $run
        grep evil out/plan.json; grep evil out/study.toml; not_owned
        test $(wc -l <out/trials.jsonl) = 4
        "#
    ));
}

#[test]
fn results_and_studies_that_other_users_could_replace_are_refused() {
    holds(&format!(
        "{PROGRAMS}{}",
        r#"
        as /mnt/tare run /mnt/programs.toml --out out
        refused() {
            code=0; as /mnt/tare "$@" 2>err || code=$?
            cat err; test $code = 2; grep "$said" err; grep -- --trust err
        }
        # A folder above it that others may write to, without the sticky bit.
        mkdir -m 777 /mnt/open
        said='others may write to /mnt/open'
        refused run /mnt/programs.toml --out /mnt/open/new/out
        ls -A /mnt/open | (! grep .)
        cp -a out /mnt/open/out && cp /mnt/programs.toml /mnt/open
        refused run /mnt/open/programs.toml --out elsewhere
        refused run --resume /mnt/open/out
        refused reproduce --resume /mnt/open/out
        refused trial --directory /mnt/open/out --trial 0 --attempt 9
        refused shard /mnt/programs.toml --into 2 --out /mnt/open/shards
        # One that is another user's, who exchanges what root put there.
        cp -a out /tmp/mine/out && cp /mnt/programs.toml /tmp/mine
        said='belongs to user 65534'
        refused run /tmp/mine/programs.toml --out elsewhere
        refused run /mnt/programs.toml --out /tmp/mine/new
        refused run --resume /tmp/mine/out
        refused trial --directory /tmp/mine/out --trial 0 --attempt 9
        refused shard /tmp/mine/programs.toml --into 2 --out shards
        refused slurm /mnt/programs.toml --nodes 2 --out /tmp/mine/shards
        # A link of another's leads where he wants.
        user ln -s /mnt/programs.toml /tmp/linked.toml
        refused run /tmp/linked.toml --out elsewhere
        # A sticky one is what /tmp is; and who is trusted is trusted.
        chmod 1777 /mnt/open
        as /mnt/tare run --resume /mnt/open/out
        as /mnt/tare run --trust --resume /tmp/mine/out
        as /mnt/tare trial --trust --directory /tmp/mine/out --trial 0 --attempt 9 --writer w
        as SUDO_UID=65534 /mnt/tare run /tmp/mine/programs.toml --out sudo
        "#
    ));
}

#[test]
fn a_study_that_is_repeatedly_replaced_runs_as_it_was_checked_or_not_at_all() {
    holds(&format!(
        "{PROGRAMS}{EXCHANGER}{}",
        r#"
        sed 's#sleep 0.2#/mnt/evil#' /mnt/programs.toml >/tmp/evil.toml
        mkdir -m 777 /mnt/open && cp /mnt/programs.toml /mnt/open/study.toml
        user cp /tmp/evil.toml /mnt/open/other.toml
        printf '/mnt/open/study.toml /mnt/open/other.toml\n' >/mnt/pairs
        user python3 /mnt/exchange.py </mnt/pairs &
        for i in $(seq 100); do
            as /mnt/tare run /mnt/open/study.toml --set sampling.trials=1 --out "out$i" 2>/dev/null || :
            if test -e /mnt/owned; then break; fi
        done
        touch /mnt/enough; wait
        not_owned
        "#
    ));
}

#[test]
fn merging_results_of_another_user_follows_no_links_and_discloses_nothing_of_root() {
    holds(
        r#"
        mkdir -m 700 /mnt/secret && echo precious >/mnt/secret/shadow && cp /mnt/secret/shadow /mnt/secret/trial-00000-1.log
        user mkdir -m 755 /tmp/mine
        user TARE_CACHE_DIR=/tmp/mine/cache TARE_STATE_DIR=/tmp/mine/state /mnt/tare run /mnt/study.toml --out /tmp/mine/out
        user mkdir -p /tmp/mine/out/captures
        user ln -s /mnt/secret /tmp/mine/out/captures/trial-00000-1
        as /mnt/tare merge /tmp/mine/out --out merged
        test -e merged/logs/trial-00000-1.log
        user rm -rf /tmp/mine/out/logs /tmp/mine/out/captures
        for name in logs captures; do user ln -s /mnt/secret "/tmp/mine/out/$name"; done
        as /mnt/tare merge /tmp/mine/out --out again
        if grep -r precious merged again; then exit 1; fi
        find merged again -perm /077 | (! grep .)
        # A link in the place of a part is refused.
        user mkdir -p /tmp/mine/shards && user cp /tmp/mine/out/plan.json /tmp/mine/out/study.toml /tmp/mine/shards
        echo '{"schema":1,"shards":1}' >/mnt/shards.json && user cp /mnt/shards.json /tmp/mine/shards
        user mkdir /tmp/mine/shards/shard-0000
        cp -a merged /mnt/private && chmod 700 /mnt/private
        user ln -s /mnt/private /tmp/mine/shards/shard-0000/host
        if as /mnt/tare merge /tmp/mine/shards --out third 2>refused; then exit 1; fi
        grep -q shard-0000/host refused && test ! -s third/trials.jsonl
        "#,
    );
}

/// A program that has another user replace a results directory once by a link to one of root's, which must not change.
const EXCHANGED: &str = r#"
mkdir -m 700 /mnt/secret && mkdir /mnt/secret/logs /mnt/secret/captures
for name in client-1-00000-1 client-0-00001-1 server-00000-1 server-00001-1 trial-00001-1 prepare; do
    echo precious >"/mnt/secret/logs/$name.log"
done
# It looks like results, so that only its handle tells.
: >/mnt/secret/study.toml && : >/mnt/secret/plan.json
echo precious >/mnt/secret/report.html
find /mnt/secret | sort >/mnt/before
cat >/mnt/exchange <<'END'
#!/bin/sh
test -e /tmp/mine/moved && exit
setpriv --reuid=65534 --regid=65534 --clear-groups sh -c \
    'mv /tmp/mine/out /tmp/mine/moved && ln -s /mnt/secret /tmp/mine/out'
END
chmod 755 /mnt/exchange
user mkdir -m 755 /tmp/mine
# A study of $2 trials, each with as many runs of the command $1 without a server.
client() {
    cat >/mnt/client.toml <<END
name = "client"
[workload]
name = "command"
command = "$1"
needs_server = false
[sampling]
trials = $2
samples = $2
warmup_s = 0
steal_limit = "off"
foreign_cpu_limit = "off"
END
}
untouched() {
    cat err; test -L /tmp/mine/out
    find /mnt/secret | sort | diff /mnt/before -
    test "$(cat /mnt/secret/report.html /mnt/secret/logs/* | sort -u)" = precious
}
"#;

#[test]
fn results_swapped_while_root_writes_them_do_not_redirect_its_writes() {
    holds(&format!(
        "{EXCHANGED}{}",
        r#"
        # Between two runs of a client: its second log, and all that comes after its trial.
        client "sh -c 'sleep 0.1; /mnt/exchange'" 2
        code=0; as /mnt/tare run --trust /mnt/client.toml --out /tmp/mine/out 2>err || code=$?
        untouched
        test $code = 3 && grep 'was replaced' err
        test -e /tmp/mine/moved/logs/client-1-00000-1.log
        test "$(wc -l </tmp/mine/moved/trials.jsonl)" = 1
        "#
    ));
}

#[test]
fn results_swapped_after_the_server_start_still_receive_its_log_and_captures() {
    holds(&format!(
        "{EXCHANGED}{}",
        r#"
        printf '#!/bin/sh\n/mnt/exchange\nexec /mnt/tare "$@"\n' >/mnt/server && chmod 755 /mnt/server
        sed 's#^rows = 20#rows = 20\n[engine]\nname = "sqlite"\nbinary = "/mnt/server"\n[capture]\nstatus = true#' \
            /mnt/study.toml >/mnt/served.toml
        # Its data are made where no one exchanges anything.
        touch /tmp/mine/moved && chown 65534 /tmp/mine/moved
        as /mnt/tare run --trust /mnt/served.toml --out first
        rm /tmp/mine/moved
        as /mnt/tare run --trust /mnt/served.toml --out /tmp/mine/out 2>err || :
        untouched
        test -e /tmp/mine/moved/logs/server-00000-1.log && test -d /tmp/mine/moved/captures
        "#
    ));
}

#[test]
fn results_swapped_during_the_last_trial_still_receive_the_report() {
    holds(&format!(
        "{EXCHANGED}{}",
        r#"
        client /mnt/exchange 1
        as /mnt/tare run --trust /mnt/client.toml --out /tmp/mine/out 2>err || :
        untouched
        grep -q '<!DOCTYPE html>' /tmp/mine/moved/report.html
        "#
    ));
}

#[test]
fn files_made_from_results_of_root_are_readable_by_root_alone() {
    holds(
        r#"
        as /mnt/tare run /mnt/study.toml --out out
        mkdir -m 755 /mnt/shown
        made=/mnt/shown/made
        as /mnt/tare export out --format csv --out $made.csv
        as /mnt/tare export out --format svg --charts --out /mnt/shown
        as /mnt/tare report out --out $made.html
        as /mnt/tare run /mnt/study.toml --out second
        as /mnt/tare compare out second --html $made-compared.html
        as /mnt/tare history out --out $made-history.html
        test "$(ls /mnt/shown | wc -l)" -ge 5
        find /mnt/shown -type f -perm /077 | (! grep .)
        # A pipe that another user put at the name gets nothing, and is not waited for.
        mkdir -m 777 /mnt/open && user mkfifo -m 666 /mnt/open/made.csv
        (exec >/dev/null 2>&1; user timeout 20 sh -c 'cat /mnt/open/made.csv >/tmp/stolen') &
        as timeout 10 /mnt/tare export out --format csv --out /mnt/open/made.csv
        test -f /mnt/open/made.csv && test ! -s /tmp/stolen
        # It is a file now, so that the reader of the pipe that was there waits in vain.
        "#,
    );
}

#[test]
fn a_program_is_not_copied_into_a_folder_of_another_user() {
    holds(
        r#"
        user mkdir -m 755 -p /tmp/mine/out/a-copy-of-the-same-program-at-a-path-of-another-length
        echo precious >/mnt/victim
        user ln -s /mnt/victim /tmp/mine/out/a-copy-of-the-same-program-at-a-path-of-another-length/tare
        code=0; as timeout 30 /mnt/tare ab --certify --a 'command=/mnt/tare --version' --budget 1s --out /tmp/mine/out 2>err || code=$?
        cat err; test "$(cat /mnt/victim)" = precious
        test $code = 2; grep 'belongs to user 65534' err
        "#,
    );
}

#[test]
fn servers_that_another_user_left_in_a_shared_folder_are_not_run() {
    holds(
        r#"
        printf '#!/bin/sh\n: >/mnt/owned\n' >/mnt/evil && chmod 755 /mnt/evil
        for build in postgresql-17.6 postgresql-18.1; do
            user mkdir -p /tmp/target/servers/$build/bin
            for program in postgres initdb pg_ctl; do user ln -s /mnt/evil /tmp/target/servers/$build/bin/$program; done
        done
        cd /tmp
        code=0; as timeout 60 /mnt/tare reproduce postgresql-18-ranges --within 1min --out /tmp/root/out 2>err || code=$?
        cat err; test ! -e /mnt/owned
        test $code = 2; grep 'belongs to user 65534' err
        "#,
    );
}
