//! Another user exchanges its results again and again while root reads them: root must not mix two directories, must
//! not block, and must not disclose its own files.

use super::trust::{EXCHANGER, holds};

/// Two results directories of a user, and what reads them.
const BEGIN: &str = r#"
user mkdir -m 755 /tmp/mine
printf '[factors]\nthreads = [1, 2]\n' >>/mnt/study.toml
mine() { user TARE_CACHE_DIR=/tmp/mine/cache TARE_STATE_DIR=/tmp/mine/state /mnt/tare run /mnt/study.toml "$@"; }
mine --out /tmp/mine/out
tare() { code=0; as timeout 20 /mnt/tare "$@" >said 2>&1 || code=$?; cat said >>all; }
# Everything that reads them, into files of root's.
read_all() {
    for i in $(seq "$1"); do
        for command in "show /tmp/mine/out" "report /tmp/mine/out --out made$i.html" "why /tmp/mine/out" \
            "compare /tmp/mine/out:threads=1 /tmp/mine/out:threads=2" "merge /tmp/mine/out --out merged$i" \
            "history /tmp/mine/out" "export /tmp/mine/out --format csv --out made$i.csv"; do
            tare $command
            echo "$code $command" >>codes
        done
    done
    touch /mnt/enough; wait
    cat codes; test "$(wc -l <codes)" = $((7 * $1))
}
"#;

#[test]
fn root_never_mixes_two_results_directories_that_are_swapped_while_it_reads() {
    holds(&format!(
        "{EXCHANGER}{BEGIN}{}",
        r#"
        # Its trials are no trials of the first one's plan.
        mine --out /tmp/mine/other --set sampling.trials=3
        printf '/tmp/mine/out /tmp/mine/other\n' >/mnt/pairs
        user python3 /mnt/exchange.py </mnt/pairs &
        read_all 6
        if grep -v '^0 ' codes; then exit 1; fi
        if grep 'not analysed' all; then exit 1; fi
        for merged in merged*; do
            trials=$(grep -o '"trial": *[0-9]*' $merged/plan.json | wc -l)
            test "$(wc -l <$merged/trials.jsonl)" = "$trials"
        done
        "#
    ));
}

#[test]
fn links_and_pipes_swapped_into_results_neither_block_root_nor_disclose_its_files() {
    holds(&format!(
        "{EXCHANGER}{BEGIN}{}",
        r#"
        mkdir -m 700 /mnt/secret && echo precious >/mnt/secret/file
        for name in trial-00000-1 server-00000-1 trial-00001-1; do cp /mnt/secret/file /mnt/secret/$name.log; done
        user cp -a /tmp/mine/out /tmp/mine/links && user cp -a /tmp/mine/out /tmp/mine/pipes
        cd /tmp/mine/out
        for file in $(find . -type f ! -name .lock); do
            user ln -sf /mnt/secret/file /tmp/mine/links/$file
            user rm /tmp/mine/pipes/$file && user mkfifo /tmp/mine/pipes/$file
            for trap in links pipes; do echo /tmp/mine/out/$file /tmp/mine/$trap/$file; done
        done >/mnt/pairs
        user rm -rf /tmp/mine/links/logs && user ln -s /mnt/secret /tmp/mine/links/logs
        echo /tmp/mine/out/logs /tmp/mine/links/logs >>/mnt/pairs
        cd /tmp/root
        user python3 /mnt/exchange.py </mnt/pairs &
        read_all 6
        # Read, or refused in words: neither given up after its time nor ended by a signal or a panic.
        if grep -v '^[0-4] ' codes; then exit 1; fi
        if grep -r precious .; then exit 1; fi
        "#
    ));
}
