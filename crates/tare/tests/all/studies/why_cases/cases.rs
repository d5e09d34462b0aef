//! The known causes: each is a difference between two conditions or two runs.

/// A known cause between two sides.
pub struct Case {
    pub planted: &'static str,
    /// The engine, the lines below `[workload]`, and further lines of the study.
    pub engine: &'static str,
    pub workload: &'static str,
    pub more: &'static str,
    /// Prefixes of the names of the two conditions.
    pub sides: [&'static str; 2],
    /// Kinds of suspects that count as the known cause, all together if there are several.
    pub kinds: &'static [&'static str],
    /// Part of the suspect's name: which lock it is.
    pub lock: &'static str,
    pub size: Size,
    pub other: Other,
}

/// The size of a known cause.
#[derive(Clone, Copy)]
pub enum Size {
    /// Nothing else was changed, so it is most of the difference B - A.
    Most,
    /// Microseconds per transaction.
    Us(f64),
    /// A fraction of B's time: of threads that take turns at one lock, all but one wait at any time, on any machine.
    OfTime(f64),
    /// A fraction of the difference B - A: in A, the threads take turns at the same lock.
    OfDifference(f64),
    /// A lock that every transaction holds for this many microseconds on average. Only its holder neither waits nor
    /// does what A does too, so the wait is B's time without A's time and without this time.
    Held(f64),
}

/// A cause that is not a factor of the study.
#[derive(Clone, Copy)]
pub enum Other {
    None,
    /// Two runs, the second in a control group with half a CPU.
    Quota,
    /// Two runs with these contents of the file of statements, `mix.toml`.
    Statements([&'static str; 2]),
    /// Without what the server reports of its locks.
    NoLocks,
    /// The engine's program as `slow/sbin/mariadbd`, whose flushes of files take 5 ms longer.
    SlowFile,
}

/// Two conditions of a study that differ by an unknown amount.
pub const TWO_CONDITIONS: Case = Case {
    planted: "",
    engine: "",
    workload: "",
    more: "",
    sides: [""; 2],
    kinds: &[],
    lock: "",
    size: Size::Most,
    other: Other::None,
};

const ADVISORY_OF_MANY: &str = "[parameters]\nkey = { range = [1, 1000000000] }\n[[transaction]]\nname = \"hold\"\n\
     statements = [\"SELECT pg_advisory_xact_lock(:key)\", \"SELECT pg_sleep(0.002)\"]\n";
const ADVISORY_OF_ONE: &str = "[parameters]\nkey = { range = [1, 1] }\n[[transaction]]\nname = \"hold\"\n\
     statements = [\"SELECT pg_advisory_xact_lock(:key)\", \"SELECT pg_sleep(0.002)\"]\n";
const POINT: &str = "name = \"point_select\"\nrows = 1000";
const POINT_2: &str = "name = \"point_select\"\nrows = 1000\nthreads = 2";
pub const UPDATE: &str = "name = \"update_non_index\"\nrows = 1000\nthreads = 1";
const HOT: &str = "name = \"update_non_index\"\ntables = 1\nthreads = 16";
const ROWS: &str = "[factors]\nrows = [20000, 2]";
const HOT_SIDES: [&str; 2] = ["rows=20000", "rows=2"];
const NOT_DURABLE: &str = "[engine.options]\ninnodb_flush_log_at_trx_commit = \"0\"\n[factors]\nrows = [20000, 2]";

/// An option of the embedded engine with a cause of `us` microseconds.
const fn embedded(
    planted: &'static str,
    more: &'static str,
    sides: [&'static str; 2],
    kinds: &'static [&'static str],
    us: f64,
) -> Case {
    Case { planted, engine: "sqlite", workload: UPDATE, more, sides, kinds, size: Size::Us(us), ..TWO_CONDITIONS }
}

const MUTEX: Case = Case {
    planted: "SQLite: a lock held for 2000 us, asleep, by one statement in 4",
    engine: "sqlite",
    workload: "name = \"point_select\"\nrows = 1000\nthreads = 8",
    more: "[factors.option]\ntare_planted_mutex_us = [0, 2000]",
    sides: ["option.tare_planted_mutex_us=0", "option.tare_planted_mutex_us=2000"],
    kinds: &["global_lock"],
    lock: "tare_planted_mutex",
    size: Size::Held(500.0),
    ..TWO_CONDITIONS
};

pub const CASES: [Case; 26] = [
    embedded(
        "SQLite: 100 us more in one function of the server",
        "[factors.option]\ntare_planted_work_us = [0, 100]",
        ["option.tare_planted_work_us=0", "option.tare_planted_work_us=100"],
        &["server_work"],
        100.0,
    ),
    embedded(
        "SQLite: 300 us more in one function of the server",
        "[factors.option]\ntare_planted_work_us = [0, 300]",
        ["option.tare_planted_work_us=0", "option.tare_planted_work_us=300"],
        &["server_work"],
        300.0,
    ),
    embedded(
        "SQLite: 200 us more in calls of the kernel",
        "[factors.option]\ntare_planted_kernel_us = [0, 200]",
        ["option.tare_planted_kernel_us=0", "option.tare_planted_kernel_us=200"],
        &["kernel_time"],
        200.0,
    ),
    embedded(
        "SQLite: a client that works 200 us longer",
        "[factors.option]\ntare_planted_client_us = [0, 200]",
        ["option.tare_planted_client_us=0", "option.tare_planted_client_us=200"],
        &["client_bound"],
        200.0,
    ),
    embedded(
        "SQLite: a sleep of 3000 us at commit",
        "[factors.option]\ntare_planted_commit_us = [0, 3000]",
        ["option.tare_planted_commit_us=0", "option.tare_planted_commit_us=3000"],
        &["pauses"],
        3000.0,
    ),
    MUTEX,
    Case { planted: "SQLite: the same, known only by what threads sleep in", other: Other::NoLocks, ..MUTEX },
    Case {
        planted: "SQLite: 4 writers, the write lock held for 4 x 1000 us",
        engine: "sqlite",
        workload: "name = \"write_only\"\nrows = 1000\nthreads = 4",
        // A checkpoint runs after the lock was released, and during that time no thread would wait for the lock.
        more: "[engine.options]\nwal_autocheckpoint = \"0\"\n[factors.option]\ntare_planted_held_us = [0, 1000]",
        sides: ["option.tare_planted_held_us=0", "option.tare_planted_held_us=1000"],
        kinds: &["global_lock"],
        lock: "sqlite/busy",
        size: Size::OfDifference(3.0 / 4.0),
        ..TWO_CONDITIONS
    },
    Case {
        planted: "SQLite: a cache line that 2 threads write to",
        engine: "sqlite",
        // More threads than CPUs would also wait for a CPU, in proportion to the work.
        workload: POINT_2,
        more: "[factors.option]\ntare_planted_shared_line = [0, 20000]",
        sides: ["option.tare_planted_shared_line=0", "option.tare_planted_shared_line=20000"],
        kinds: &["server_work"],
        ..TWO_CONDITIONS
    },
    embedded(
        "SQLite: requests that are 3000 us on the way",
        "[factors.option]\ntare_planted_way_us = [0, 3000]",
        ["option.tare_planted_way_us=0", "option.tare_planted_way_us=3000"],
        &["network"],
        3000.0,
    ),
    Case {
        planted: "SQLite: clients and server throttled to half a CPU by a cgroup",
        engine: "sqlite",
        workload: POINT_2,
        kinds: &["throttled"],
        size: Size::OfDifference(1.0),
        other: Other::Quota,
        ..TWO_CONDITIONS
    },
    Case {
        planted: "SQLite: flushed at every commit (synchronous=FULL)",
        engine: "sqlite",
        workload: UPDATE,
        more: "[factors.option]\nsynchronous = [\"OFF\", \"FULL\"]",
        sides: ["option.synchronous=OFF", "option.synchronous=FULL"],
        kinds: &["commit"],
        ..TWO_CONDITIONS
    },
    Case {
        // A single client would sleep while its server works, and with 16 this time becomes less.
        planted: "SQLite: 16 threads on this machine's CPUs, against 4",
        engine: "sqlite",
        workload: POINT,
        more: "[factors]\nthreads = [4, 16]",
        sides: ["threads=4", "threads=16"],
        kinds: &["cpu_shortage"],
        ..TWO_CONDITIONS
    },
    Case {
        planted: "SQLite: client and server on two PUs, against one",
        engine: "sqlite",
        workload: POINT,
        more: "[factors]\nplacement = [\"same-pu\", \"same-cache\"]\n[placements.same-pu]\nclient = \"all\"\n\
               server = \"all\"\nbind = \"thread\"\npairing = \"same-pu\"\n[placements.same-cache]\nclient = \"all\"\n\
               server = \"all\"\nbind = \"thread\"\npairing = \"same-cache\"",
        sides: ["placement=same-pu", "placement=same-cache"],
        kinds: &["wake_ups"],
        ..TWO_CONDITIONS
    },
    Case {
        planted: "MariaDB: a hot row",
        engine: "mariadb",
        workload: HOT,
        more: NOT_DURABLE,
        sides: HOT_SIDES,
        kinds: &["row_lock"],
        ..TWO_CONDITIONS
    },
    Case {
        planted: "MariaDB: the log flushed at every commit",
        engine: "mariadb",
        workload: UPDATE,
        more: "[factors.option]\ninnodb_flush_log_at_trx_commit = [\"0\", \"1\"]",
        sides: ["option.innodb_flush_log_at_trx_commit=0", "option.innodb_flush_log_at_trx_commit=1"],
        kinds: &["commit"],
        ..TWO_CONDITIONS
    },
    Case {
        planted: "MariaDB: 16 threads on this machine's CPUs, against 4",
        engine: "mariadb",
        workload: POINT,
        more: "[factors]\nthreads = [4, 16]",
        sides: ["threads=4", "threads=16"],
        kinds: &["cpu_shortage"],
        ..TWO_CONDITIONS
    },
    Case {
        planted: "MySQL: a hot row",
        engine: "mysql",
        workload: HOT,
        more: NOT_DURABLE,
        sides: HOT_SIDES,
        kinds: &["row_lock"],
        ..TWO_CONDITIONS
    },
    Case {
        planted: "MySQL: the log flushed at every commit",
        engine: "mysql",
        workload: UPDATE,
        more: "[factors.option]\ninnodb_flush_log_at_trx_commit = [\"0\", \"1\"]",
        sides: ["option.innodb_flush_log_at_trx_commit=0", "option.innodb_flush_log_at_trx_commit=1"],
        kinds: &["commit"],
        ..TWO_CONDITIONS
    },
    Case {
        planted: "PostgreSQL: a hot row",
        engine: "postgresql",
        workload: HOT,
        more: ROWS,
        sides: HOT_SIDES,
        kinds: &["row_lock"],
        ..TWO_CONDITIONS
    },
    Case {
        planted: "PostgreSQL: synchronous_commit",
        engine: "postgresql",
        workload: UPDATE,
        more: "[factors.option]\nsynchronous_commit = [\"off\", \"on\"]",
        sides: ["option.synchronous_commit=off", "option.synchronous_commit=on"],
        kinds: &["commit"],
        ..TWO_CONDITIONS
    },
    Case {
        planted: "PostgreSQL: commit_delay of 4000 us",
        engine: "postgresql",
        workload: UPDATE,
        more: "[engine.options]\ncommit_siblings = \"0\"\n[factors.option]\ncommit_delay = [\"0\", \"4000\"]",
        sides: ["option.commit_delay=0", "option.commit_delay=4000"],
        kinds: &["pauses"],
        size: Size::Us(4000.0),
        ..TWO_CONDITIONS
    },
    Case {
        planted: "PostgreSQL: one advisory lock, held for 2 ms by one of 4",
        engine: "postgresql",
        workload: "name = \"sql\"\nfile = \"mix.toml\"\nthreads = 4",
        kinds: &["global_lock"],
        lock: "advisory",
        size: Size::OfTime(3.0 / 4.0),
        other: Other::Statements([ADVISORY_OF_MANY, ADVISORY_OF_ONE]),
        ..TWO_CONDITIONS
    },
    Case {
        planted: "MariaDB: fdatasync of a slow file, 5000 us each",
        engine: "mariadb",
        workload: UPDATE,
        more: "[factors]\nbuild = [\"plain\", \"slow\"]\n[builds.plain]\n[builds.slow]\nbinary = \"slow/sbin/mariadbd\"",
        sides: ["build=plain", "build=slow"],
        // The delay is a sleep of the committing thread.
        kinds: &["pauses"],
        size: Size::Us(5000.0),
        other: Other::SlowFile,
        ..TWO_CONDITIONS
    },
    Case {
        planted: "MariaDB: a buffer pool of 8 MiB for 80 MB",
        engine: "mariadb",
        workload: "name = \"select_random_points\"\nrows = 400000\nthreads = 1",
        more: "[engine.options]\ninnodb_flush_method = \"O_DIRECT\"\n[factors.option]\ninnodb_buffer_pool_size = [\"256M\", \"8M\"]",
        sides: ["option.innodb_buffer_pool_size=256M", "option.innodb_buffer_pool_size=8M"],
        kinds: &["storage", "server_work"],
        ..TWO_CONDITIONS
    },
    Case {
        planted: "MariaDB: spinning (innodb_sync_spin_loops, spin_wait_delay)",
        engine: "mariadb",
        workload: "name = \"update_index\"\nrows = 1000\nthreads = 8",
        more: "[engine.options]\ninnodb_flush_log_at_trx_commit = \"0\"\n[factors.option]\ninnodb_spin_wait_delay = [\"0\", \"6000\"]",
        sides: ["option.innodb_spin_wait_delay=0", "option.innodb_spin_wait_delay=6000"],
        // Threads that spin for longer hold up those that wait for the lock of the index.
        kinds: &["server_work", "global_lock", "index_lock", "cpu_shortage"],
        ..TWO_CONDITIONS
    },
];
