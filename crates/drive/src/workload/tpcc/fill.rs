//! Creation of the tables: definitions, rows, indexes, statistics. The initial content (clause 4.3.3) is made in pieces
//! that sessions fill at the same time, by INSERTs of many rows, some thousand rows per transaction.

use super::random::{Constants, between, data, decimal, digits, last_name, letters};
use super::settings::{DISTRICTS, NAMES, Table};
use super::{SessionError, Sizes, TABLES, TpccError};
use crate::workload::error::{reads, run, shown};
use crate::workload::fill::{in_parallel, rows_of_placeholders};
use std::collections::HashMap;
use std::error::Error;
use std::ops::ControlFlow;
use tare_engine::{Dialect, Param, Session, StatementId};
use tare_load::{Purpose, Random};

#[derive(Debug, Clone, Copy)]
pub struct Fill {
    pub sizes: Sizes,
    /// The only input of the random rows: they depend neither on `sessions` nor on the engine.
    pub seed: u64,
    /// Sessions that fill at the same time; a database with a single writer uses one.
    pub sessions: usize,
    pub dialect: &'static dyn Dialect,
}

/// Creates and fills all tables, builds their indexes and their statistics. `connect` is called once in every filling
/// thread; `progress` receives the number of added rows and can stop the work.
///
/// # Errors
/// The first failure; an existing table is one. Tables that this call created are dropped.
pub fn prepare<E: Into<Box<dyn Error + Send + Sync>>>(
    fill: &Fill,
    connect: &(dyn Fn() -> Result<Box<dyn Session>, E> + Sync),
    progress: &(dyn Fn(u64) -> ControlFlow<()> + Sync),
) -> Result<(), TpccError> {
    let mut session = connect().map_err(SessionError::connect)?;
    let mut made = 0;
    let result = TABLES
        .iter()
        .try_for_each(|table| {
            let sql = table.create(fill.dialect);
            session.run(&sql).map_err(|source| SessionError::Create { sql: shown(&sql), source })?;
            made += 1;
            Ok(())
        })
        .and_then(|()| rows(fill, connect, progress))
        .and_then(|()| finish(fill, connect, progress));
    if result.is_err() {
        // The caller needs the original failure, not one of the clean-up after it.
        for table in TABLES[..made].iter().rev() {
            let _ = run(session.as_mut(), &format!("DROP TABLE IF EXISTS {}", table.name));
        }
    }
    result
}

fn sessions(fill: &Fill, work: usize) -> usize {
    if fill.dialect.fills_in_parallel() { fill.sessions.clamp(1, work) } else { 1 }
}

fn rows<E: Into<Box<dyn Error + Send + Sync>>>(
    fill: &Fill,
    connect: &(dyn Fn() -> Result<Box<dyn Session>, E> + Sync),
    progress: &(dyn Fn(u64) -> ControlFlow<()> + Sync),
) -> Result<(), TpccError> {
    let pieces = Piece::all(fill.sizes);
    let interrupted = || TpccError::Interrupted;
    in_parallel(sessions(fill, pieces.len()), pieces.len(), progress, interrupted, |shared| {
        let mut session = connect().map_err(SessionError::connect)?;
        shared.fills(session.as_mut(), Some(fill.sizes.all_rows()))?;
        let added = |rows| shared.added(rows);
        let mut out = Out::new(session.as_mut(), fill.dialect, &added);
        while let Some(piece) = shared.take() {
            pieces[piece].write(piece, fill.sizes, fill.seed, &mut out)?;
            out.commit()?;
        }
        Ok(())
    })
}

/// Creates indexes and statistics, table by table.
fn finish<E: Into<Box<dyn Error + Send + Sync>>>(
    fill: &Fill,
    connect: &(dyn Fn() -> Result<Box<dyn Session>, E> + Sync),
    progress: &(dyn Fn(u64) -> ControlFlow<()> + Sync),
) -> Result<(), TpccError> {
    let interrupted = || TpccError::Interrupted;
    in_parallel(sessions(fill, TABLES.len()), TABLES.len(), progress, interrupted, |shared| {
        let mut session = connect().map_err(SessionError::connect)?;
        shared.fills(session.as_mut(), Some(fill.sizes.all_rows()))?;
        while let Some(table) = shared.take() {
            let table = &TABLES[table];
            for sql in table.create_index(fill.dialect).into_iter().chain([fill.dialect.analyze(table.name)]) {
                run(session.as_mut(), &sql)?;
            }
            shared.added(0)?;
        }
        Ok(())
    })
}

/// Drops those of the nine tables that exist, and returns their number.
///
/// # Errors
/// [`TpccError::NotOurs`], before anything is dropped, if a table of such a name has other columns; the server's
/// refusal.
pub fn cleanup(session: &mut dyn Session) -> Result<usize, TpccError> {
    let mut there = Vec::new();
    // Tables that refer to others are dropped first.
    for table in TABLES.iter().rev() {
        if reads(session, "1", table.name)? {
            let columns: Vec<_> = table.columns().collect();
            if !reads(session, &columns.join(", "), table.name)? {
                return Err(TpccError::NotOurs { table: table.name });
            }
            there.push(table.name);
        }
    }
    for name in &there {
        run(session, &format!("DROP TABLE {name}"))?;
    }
    Ok(there.len())
}

/// The timestamp of all initial rows.
const BEFORE: &str = "2026-01-01 00:00:00";

/// A part of the rows that depends only on the seed and its own number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    Items,
    /// A warehouse with its districts, customers and their history.
    People(i64),
    Stock(i64),
    Orders(i64),
}

impl Piece {
    pub(crate) fn all(sizes: Sizes) -> Vec<Self> {
        let of_one = |warehouse| [Self::Orders(warehouse), Self::Stock(warehouse), Self::People(warehouse)];
        let warehouses = (1..=sizes.warehouses).flat_map(of_one);
        warehouses.chain([Self::Items]).collect()
    }

    /// Draws its rows and sends them, table by table.
    pub(crate) fn write(self, number: usize, sizes: Sizes, seed: u64, out: &mut Out<'_>) -> Result<(), TpccError> {
        let random = &mut Random::new(seed, Purpose::Rows, number);
        match self {
            Self::Items => items(sizes, random, out),
            Self::People(warehouse) => people(warehouse, sizes, random, out),
            Self::Stock(warehouse) => stock(warehouse, sizes, random, out),
            Self::Orders(warehouse) => orders(warehouse, sizes, random, out),
        }
    }
}

fn items(sizes: Sizes, random: &mut Random, out: &mut Out<'_>) -> Result<(), TpccError> {
    let mut item = Batch::whole("item");
    for id in 1..=sizes.items {
        let row = [
            Cell::Int(id),
            Cell::Int(between(random, 1, 10_000)),
            Cell::Text(letters(random, 14, 24)),
            Cell::Text(decimal(between(random, 100, 10_000), 2)),
            Cell::Text(data(random)),
        ];
        item.add(row, out)?;
    }
    item.end(out)
}

/// Two streets, city, state, zip code.
fn address(random: &mut Random) -> [Cell; 5] {
    let mut text = |least, most| Cell::Text(letters(random, least, most));
    let [street_1, street_2, city] = [text(10, 20), text(10, 20), text(10, 20)];
    let state = (0..2).map(|_| char::from(b'A' + random.below(26) as u8)).collect();
    [street_1, street_2, city, Cell::Text(state), Cell::Text(digits(random, 4) + "11111")]
}

fn people(warehouse: i64, sizes: Sizes, random: &mut Random, out: &mut Out<'_>) -> Result<(), TpccError> {
    let tax = |random: &mut Random| Cell::Text(decimal(between(random, 0, 2000), 4));
    // Ten dollars per customer.
    let paid = |customers: i64| Cell::Text(decimal(1000 * customers, 2));
    let mut place = vec![Cell::Int(warehouse), Cell::Text(letters(random, 6, 10))];
    place.extend(address(random));
    place.extend([tax(random), paid(DISTRICTS * sizes.customers)]);
    let mut warehouses = Batch::whole("warehouse");
    warehouses.add(place, out)?;
    warehouses.end(out)?;
    let mut districts = Batch::whole("district");
    for district in 1..=DISTRICTS {
        let mut row = vec![Cell::Int(district), Cell::Int(warehouse), Cell::Text(letters(random, 6, 10))];
        row.extend(address(random));
        row.extend([tax(random), paid(sizes.customers), Cell::Int(sizes.customers + 1)]);
        districts.add(row, out)?;
    }
    districts.end(out)?;
    let (mut customers, mut history) = (Batch::whole("customer"), Batch::whole("history"));
    for district in 1..=DISTRICTS {
        for id in 1..=sizes.customers {
            customers.add(customer(warehouse, district, id, sizes, random), out)?;
            let mut row = [id, district, warehouse, district, warehouse].map(Cell::Int).to_vec();
            row.extend([Cell::text(BEFORE), Cell::text("10.00"), Cell::Text(letters(random, 12, 24))]);
            history.add(row, out)?;
        }
    }
    customers.end(out)?;
    history.end(out)
}

fn customer(warehouse: i64, district: i64, id: i64, sizes: Sizes, random: &mut Random) -> Vec<Cell> {
    // The first thousand customers have all names in turn.
    let name = if id <= NAMES { id - 1 } else { Constants::FILLED.a_name(random, sizes.names()) };
    let mut row = [id, district, warehouse].map(Cell::Int).to_vec();
    row.extend([Cell::Text(letters(random, 8, 16)), Cell::text("OE"), Cell::Text(last_name(name))]);
    row.extend(address(random));
    let credit = if random.below(10) == 0 { "BC" } else { "GC" };
    row.extend([
        Cell::Text(digits(random, 16)),
        Cell::text(BEFORE),
        Cell::text(credit),
        Cell::text("50000.00"),
        Cell::Text(decimal(between(random, 0, 5000), 4)),
        Cell::text("-10.00"),
        Cell::text("10.00"),
        Cell::Int(1),
        Cell::Int(0),
        Cell::Text(letters(random, 300, 500)),
    ]);
    row
}

fn stock(warehouse: i64, sizes: Sizes, random: &mut Random, out: &mut Out<'_>) -> Result<(), TpccError> {
    let mut stock = Batch::whole("stock");
    for item in 1..=sizes.items {
        let mut row = [item, warehouse, between(random, 10, 100)].map(Cell::Int).to_vec();
        row.extend((0..DISTRICTS).map(|_| Cell::Text(letters(random, 24, 24))));
        row.extend([0, 0, 0].map(Cell::Int));
        row.push(Cell::Text(data(random)));
        stock.add(row, out)?;
    }
    stock.end(out)
}

fn orders(warehouse: i64, sizes: Sizes, random: &mut Random, out: &mut Out<'_>) -> Result<(), TpccError> {
    // Orders that are not delivered have neither carrier nor date: these columns are left out.
    let mut delivered = (Batch::whole("orders"), Batch::whole("order_line"));
    let mut open = (Batch::without("orders", "o_carrier_id"), Batch::without("order_line", "ol_delivery_d"));
    let mut new = Batch::whole("new_order");
    for district in 1..=DISTRICTS {
        for (id, customer) in (1..).zip(shuffled(sizes.customers, random)) {
            let (is_open, lines) = (id > sizes.delivered(), between(random, 5, 15));
            let (order, line) = if is_open { &mut open } else { &mut delivered };
            let mut row = [id, district, warehouse, customer].map(Cell::Int).to_vec();
            row.push(Cell::text(BEFORE));
            row.extend((!is_open).then(|| Cell::Int(between(random, 1, 10))));
            row.extend([lines, 1].map(Cell::Int));
            order.add(row, out)?;
            for number in 1..=lines {
                let item = between(random, 1, sizes.items);
                let mut row = [id, district, warehouse, number, item, warehouse].map(Cell::Int).to_vec();
                let amount = if is_open { between(random, 1, 999_999) } else { 0 };
                row.extend((!is_open).then(|| Cell::text(BEFORE)));
                row.extend([Cell::Int(5), Cell::Text(decimal(amount, 2)), Cell::Text(letters(random, 24, 24))]);
                line.add(row, out)?;
            }
            if is_open {
                new.add([id, district, warehouse].map(Cell::Int), out)?;
            }
        }
    }
    for mut batch in [delivered.0, delivered.1, open.0, open.1, new] {
        batch.end(out)?;
    }
    Ok(())
}

/// The numbers from 1 in random order.
fn shuffled(count: i64, random: &mut Random) -> Vec<i64> {
    let mut all: Vec<i64> = (1..=count).collect();
    for last in (1..all.len()).rev() {
        all.swap(last, random.below(last as u64 + 1) as usize);
    }
    all
}

/// Rows per INSERT: chosen by the measurement in `oltp/fill.rs`.
const ROWS_PER_INSERT: usize = 100;
/// INSERTs per transaction: about a megabyte.
const INSERTS_PER_TRANSACTION: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    Int(i64),
    Text(String),
}

impl Cell {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// Rows of one table that have not been sent yet.
struct Batch {
    table: &'static str,
    columns: String,
    width: usize,
    cells: Vec<Cell>,
}

impl Batch {
    pub(crate) fn whole(table: &'static str) -> Self {
        Self::without(table, "")
    }

    /// Rows in which one column is NULL and left out.
    pub(crate) fn without(table: &'static str, null: &str) -> Self {
        let of = TABLES.iter().find(|known| known.name == table);
        let columns: Vec<&str> = of.into_iter().flat_map(Table::columns).filter(|column| *column != null).collect();
        Self { table, width: columns.len(), columns: columns.join(", "), cells: Vec::new() }
    }

    /// Adds a row, and sends the collected rows if they fill an INSERT.
    pub(crate) fn add(&mut self, row: impl IntoIterator<Item = Cell>, out: &mut Out<'_>) -> Result<(), TpccError> {
        self.cells.extend(row);
        if self.cells.len() < ROWS_PER_INSERT * self.width { Ok(()) } else { self.end(out) }
    }

    pub(crate) fn end(&mut self, out: &mut Out<'_>) -> Result<(), TpccError> {
        if self.cells.is_empty() {
            return Ok(());
        }
        out.insert(self)?;
        self.cells.clear();
        Ok(())
    }
}

/// The session to which rows are sent.
pub(super) struct Out<'a> {
    session: &'a mut dyn Session,
    dialect: &'a dyn Dialect,
    /// Receives the number of added rows, and returns an error to stop.
    added: &'a dyn Fn(u64) -> Result<(), TpccError>,
    prepared: HashMap<String, StatementId>,
    inserts: usize,
}

impl<'a> Out<'a> {
    pub(crate) fn new(
        session: &'a mut dyn Session,
        dialect: &'a dyn Dialect,
        added: &'a dyn Fn(u64) -> Result<(), TpccError>,
    ) -> Self {
        Self { session, dialect, added, prepared: HashMap::new(), inserts: 0 }
    }

    fn insert(&mut self, batch: &Batch) -> Result<(), TpccError> {
        let rows = batch.cells.len() / batch.width;
        let values = rows_of_placeholders(self.dialect, batch.width, rows);
        let sql = format!("INSERT INTO {} ({}) VALUES {values}", batch.table, batch.columns);
        if self.inserts == 0 {
            run(self.session, self.dialect.begin(true))?;
        }
        let failed = |sql: &str, source| SessionError::statement(sql, source);
        let statement = match self.prepared.get(&sql) {
            Some(statement) => *statement,
            None => {
                let statement = self.session.prepare(&sql).map_err(|e| failed(&sql, e))?;
                self.prepared.insert(sql.clone(), statement);
                statement
            }
        };
        let cells = batch.cells.iter().map(|cell| match cell {
            Cell::Int(number) => Param::Int(*number),
            Cell::Text(text) => Param::Text(text),
        });
        let cells: Vec<Param<'_>> = cells.collect();
        self.session.execute(statement, &cells).map_err(|e| failed(&sql, e))?;
        self.inserts += 1;
        if self.inserts == INSERTS_PER_TRANSACTION {
            self.commit()?;
        }
        (self.added)(rows as u64)
    }

    /// Commits the transaction, if one is open.
    pub(crate) fn commit(&mut self) -> Result<(), TpccError> {
        if std::mem::take(&mut self.inserts) > 0 {
            run(self.session, "COMMIT")?;
        }
        Ok(())
    }
}
