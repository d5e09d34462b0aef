//! The statements of each transaction (clauses 2.4.2, 2.5.2, 2.6.2, 2.7.4, 2.8.2).

use super::input::{Customer, Input, OrderLine, Terminal, Who};
use super::prepared::{Failed, Prepared};
use super::random::decimal;
use super::settings::DISTRICTS;
use super::{Kind, Statement};
use tare_engine::Param::{Int, Text};

/// Characters of a customer's notes that are kept.
const DATA: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Committed,
    /// An order with an unknown item.
    RolledBack,
}

pub(super) fn run(terminal: &Terminal, kind: Kind, input: &Input, on: &mut Prepared) -> Result<Ended, Failed> {
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
