//! The initial content of the tables (clause 4.3.3), in pieces that sessions fill at the same time.

use super::batch::{Batch, Cell, Out};
use super::random::{Constants, between, data, decimal, digits, last_name, letters};
use super::settings::{DISTRICTS, NAMES};
use super::{Sizes, TpccError};
use tare_load::{Purpose, Random};

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
