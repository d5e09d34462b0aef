//! One connection that runs the five transactions, and the statements of each (clauses 2.4.2, 2.5.2, 2.6.2, 2.7.4,
//! 2.8.2).

use super::input::{Customer, Deck, Input, OrderLine, Terminal, Who};
use super::random::decimal;
use super::settings::DISTRICTS;
use super::statements::{Failed, Prepared};
use super::{Constants, Kind, SessionError, Sizes, Statement, TpccError};
use crate::workload::LoadError;
use crate::workload::sessions::{Clock, Merge, Tallies};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tare_engine::Param::{Int, Text};
use tare_engine::{Dialect, Session};
use tare_load::{Attempt, Client, Latencies, Random};

/// A terminal of one warehouse with a connection of its own.
pub struct TpccClient {
    on: Prepared,
    dialect: &'static dyn Dialect,
    terminal: Terminal,
    deck: Deck,
    pub(super) keying: bool,
    chosen: Option<Kind>,
    last: Option<Kind>,
    /// The transaction that is being retried, and the time of its first attempt.
    again: Option<(Kind, Input, Instant)>,
    tally: Tally,
    tallies: Arc<Tallies<Tally>>,
    new_orders: u64,
}

impl TpccClient {
    /// Prepares all statements on the session, for the client thread of this number.
    pub fn new(
        session: Box<dyn Session>,
        dialect: &'static dyn Dialect,
        thread: usize,
        sizes: Sizes,
        constants: Constants,
        tallies: Arc<Tallies<Tally>>,
    ) -> Result<Self, TpccError> {
        let on = Prepared::new(session, dialect).map_err(|(sql, source)| SessionError::statement(&sql, source))?;
        let terminal = Terminal::of_thread(thread, sizes, constants);
        let (deck, keying) = (Deck::default(), false);
        let (tally, new_orders) = (tallies.empty(), 0);
        Ok(Self {
            on,
            dialect,
            terminal,
            deck,
            keying,
            chosen: None,
            last: None,
            again: None,
            tally,
            tallies,
            new_orders,
        })
    }

    fn error(&self, kind: Kind, failed: Failed) -> LoadError {
        LoadError::own(match failed {
            Failed::Border(sql, source) => SessionError::statement(sql, source).into(),
            Failed::Statement(of, source) => SessionError::statement(&of.sql(self.dialect, 1), source).into(),
            Failed::Answer(statement, expected, found) => {
                TpccError::Answer { kind: kind.to_string(), statement, expected, found }
            }
        })
    }
}

impl Client for TpccClient {
    type Error = LoadError;

    fn transaction(&mut self, random: &mut Random) -> Result<Attempt, LoadError> {
        let (kind, input, since) = self.again.take().unwrap_or_else(|| {
            let kind = self.chosen.take().unwrap_or_else(|| self.deck.draw(random));
            (kind, self.terminal.asks(kind, random), Instant::now())
        });
        match run_transaction(&self.terminal, kind, &input, &mut self.on) {
            Ok(ended) => {
                self.tally.done(kind, since.elapsed(), ended);
                self.new_orders += u64::from(kind == Kind::NewOrder);
                self.last = Some(kind);
                Ok(Attempt::Done(self.on.sent))
            }
            Err(failed) if failed.can_be_retried() => {
                let sent = self.on.sent;
                self.on.roll_back().map_err(|failed| self.error(kind, failed))?;
                self.tally.retried(kind);
                self.again = Some((kind, input, since));
                Ok(Attempt::Restart(sent))
            }
            Err(failed) => Err(self.error(kind, failed)),
        }
    }

    fn pause(&mut self, random: &mut Random) -> Duration {
        if !self.keying {
            return Duration::ZERO;
        }
        let thinking = self.last.map_or(Duration::ZERO, |last| last.thinking(random));
        let next = self.deck.draw(random);
        self.chosen = Some(next);
        thinking + next.keying()
    }

    fn counted(&self) -> u64 {
        self.new_orders
    }

    fn sample_begins(&mut self) {
        self.tally.clear();
        self.tally.clock.start();
    }

    fn sample_ended(&mut self, sample: usize) {
        self.tally.clock.stop();
        self.tallies.hand_over(sample, &mut self.tally);
    }
}

#[derive(Debug, Clone, Default)]
pub struct Tally {
    took: [Latencies; 5],
    /// New orders that ended with an unknown item: rolled back as the standard requires.
    pub(super) rolled_back: u64,
    /// By kind: attempts that the database asked to run again.
    pub(super) retries: [u64; 5],
    pub(super) clock: Clock,
}

impl Tally {
    pub(super) fn done(&mut self, kind: Kind, took: Duration, ended: Ended) {
        self.took[kind as usize].record(took.as_nanos() as u64);
        self.rolled_back += u64::from(ended == Ended::RolledBack);
    }

    pub(super) fn retried(&mut self, kind: Kind) {
        self.retries[kind as usize] += 1;
    }

    /// Latencies of transactions of a kind, including restarts.
    pub fn took(&self, kind: Kind) -> &Latencies {
        &self.took[kind as usize]
    }

    pub fn count(&self) -> u64 {
        self.took.iter().map(Latencies::count).sum()
    }

    /// New orders per minute at this number of transactions of all kinds per second.
    pub(crate) fn new_orders_a_minute(&self, tps: f64) -> f64 {
        60.0 * tps * self.took(Kind::NewOrder).count() as f64 / self.count().max(1) as f64
    }
}

impl Merge for Tally {
    fn merge(&mut self, other: &Self) {
        self.took.iter_mut().zip(&other.took).for_each(|(sum, other)| sum.merge(other));
        self.rolled_back += other.rolled_back;
        self.retries.iter_mut().zip(&other.retries).for_each(|(sum, other)| *sum += other);
        self.clock.merge(&other.clock);
    }

    fn clear(&mut self) {
        self.took.iter_mut().for_each(Latencies::clear);
        (self.rolled_back, self.retries) = (0, [0; 5]);
        self.clock.clear();
    }
}

/// Characters of a customer's notes that are kept.
const DATA: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Committed,
    /// An order with an unknown item.
    RolledBack,
}

fn run_transaction(terminal: &Terminal, kind: Kind, input: &Input, on: &mut Prepared) -> Result<Ended, Failed> {
    on.begin(kind)?;
    let home = terminal.warehouse;
    let is_complete = match input {
        Input::NewOrder { district, customer, lines } => new_order(home, *district, *customer, lines, on)?,
        Input::Payment { district, customer, cents } => payment(home, *district, customer, *cents, on)?,
        Input::OrderStatus { customer } => order_status(customer, on)?,
        Input::Delivery { carrier } => delivery(home, *carrier, on)?,
        Input::StockLevel { threshold } => stock_level(home, terminal.district, *threshold, on)?,
    };
    if is_complete {
        on.commit()?;
        Ok(Ended::Committed)
    } else {
        on.roll_back()?;
        Ok(Ended::RolledBack)
    }
}

fn new_order(home: i64, district: i64, customer: i64, lines: &[OrderLine], on: &mut Prepared) -> Result<bool, Failed> {
    // The district is read first: a transaction that waits for another order has read nothing that could be stale.
    let order = on.one(Statement::DistrictToOrder, &[Int(home), Int(district)])?.int(0)?;
    on.run_one(Statement::TakeOrderNumber, &[Int(home), Int(district)])?;
    on.run_one(Statement::WarehouseTax, &[Int(home)])?;
    on.run_one(Statement::CustomerDiscount, &[Int(home), Int(district), Int(customer)])?;
    let all_local = i64::from(lines.iter().all(|line| line.supply == home));
    let count = lines.len() as i64;
    let values = [order, district, home, customer, count, all_local].map(Int);
    on.run_one(Statement::AddOrder, &values)?;
    on.run_one(Statement::AddNewOrder, &[order, district, home].map(Int))?;
    for (number, line) in (1..).zip(lines) {
        let Some(item) = on.rows(Statement::Item, &[Int(line.item)])?.pop() else { return Ok(false) };
        let amount = decimal(line.quantity * item.cents(0)?, 2);
        let stock = on.stock(district, &[Int(line.supply), Int(line.item)])?;
        let quantity = stock.int(0)?;
        // If the stock would fall below ten, 91 items are added.
        let left =
            if quantity - line.quantity >= 10 { quantity - line.quantity } else { quantity - line.quantity + 91 };
        let remote = i64::from(line.supply != home);
        on.run_one(Statement::TakeStock, &[left, line.quantity, remote, line.supply, line.item].map(Int))?;
        let values = [
            Int(order),
            Int(district),
            Int(home),
            Int(number),
            Int(line.item),
            Int(line.supply),
            Int(line.quantity),
            Text(&amount),
            Text(stock.text(1)?),
        ];
        on.run_one(Statement::AddLine, &values)?;
    }
    Ok(true)
}

fn payment(home: i64, district: i64, customer: &Customer, cents: i64, on: &mut Prepared) -> Result<bool, Failed> {
    let amount = decimal(cents, 2);
    let amount = Text(&amount);
    on.run_one(Statement::PayWarehouse, &[amount, Int(home)])?;
    let warehouse = on.one(Statement::Warehouse, &[Int(home)])?;
    on.run_one(Statement::PayDistrict, &[amount, Int(home), Int(district)])?;
    let place = on.one(Statement::District, &[Int(home), Int(district)])?;
    let id = number_of(customer, on)?;
    let key @ [of_warehouse, of_district, id_value] = [customer.warehouse, customer.district, id].map(Int);
    let credit = on.one(Statement::CustomerToPay, &key)?;
    if credit.text(0)? == "BC" {
        let before = on.one(Statement::CustomerData, &key)?;
        let note = format!(
            "{id} {} {} {district} {home} {} {}",
            customer.district,
            customer.warehouse,
            decimal(cents, 2),
            before.text(0)?
        );
        let note: String = note.chars().take(DATA).collect();
        let values = [amount, amount, Text(&note), of_warehouse, of_district, id_value];
        on.run_one(Statement::PayCustomerWithData, &values)?;
    } else {
        on.run_one(Statement::PayCustomer, &[amount, amount, of_warehouse, of_district, id_value])?;
    }
    let data = format!("{}    {}", warehouse.text(0)?, place.text(0)?);
    let values = [id_value, of_district, of_warehouse, Int(district), Int(home), amount, Text(&data)];
    on.run_one(Statement::AddHistory, &values)?;
    Ok(true)
}

/// The number of a customer; of several with the name, the one in the middle, rounded up.
fn number_of(customer: &Customer, on: &mut Prepared) -> Result<i64, Failed> {
    let name = match &customer.who {
        Who::Id(id) => return Ok(*id),
        Who::LastName(name) => name,
    };
    let key = [Int(customer.warehouse), Int(customer.district), Text(name)];
    let all = on.rows(Statement::CustomersByName, &key)?;
    match all.get(all.len().saturating_sub(1) / 2) {
        Some(row) => row.int(0),
        None => Err(Failed::Answer(Statement::CustomersByName, "a customer of each name", format!("none of {name}"))),
    }
}

fn order_status(customer: &Customer, on: &mut Prepared) -> Result<bool, Failed> {
    let key = [customer.warehouse, customer.district, number_of(customer, on)?].map(Int);
    on.run_one(Statement::Customer, &key)?;
    let order = on.one(Statement::LastOrder, &key)?.int(0)?;
    on.run(Statement::Lines, &[key[0], key[1], Int(order)], 5..=15)?;
    Ok(true)
}

fn delivery(home: i64, carrier: i64, on: &mut Prepared) -> Result<bool, Failed> {
    for district in 1..=DISTRICTS {
        // A district without an undelivered order is skipped.
        let Some(oldest) = on.rows(Statement::OldestNewOrder, &[Int(home), Int(district)])?.pop() else { continue };
        let order = [home, district, oldest.int(0)?].map(Int);
        on.run_one(Statement::RemoveNewOrder, &order)?;
        let customer = on.one(Statement::OrderToDeliver, &order)?.int(0)?;
        on.run_one(Statement::SetCarrier, &[Int(carrier), order[0], order[1], order[2]])?;
        on.run(Statement::SetDelivered, &order, 5..=15)?;
        let total = decimal(on.one(Statement::LinesTotal, &order)?.cents(0)?, 2);
        on.run_one(Statement::CreditCustomer, &[Text(&total), Int(home), Int(district), Int(customer)])?;
    }
    Ok(true)
}

const RECENT: i64 = 20;

fn stock_level(home: i64, district: i64, threshold: i64, on: &mut Prepared) -> Result<bool, Failed> {
    let next = on.one(Statement::NextOrder, &[Int(home), Int(district)])?.int(0)?;
    on.run_one(Statement::LowStock, &[home, district, next - RECENT, next, home, threshold].map(Int))?;
    Ok(true)
}
