//! The rows of a table as text, made by several threads and handed on in their order.

use super::{Scale, Table};
use std::fmt::{Display, Write};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::Builder;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

/// Text of one piece, roughly: large enough that handing it on costs nothing, small enough to keep a few.
const PIECE_BYTES: f64 = 4e6;

/// Some consecutive rows: columns separated by `|`, each row ended by a line break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub text: String,
    pub rows: u64,
}

/// Makes the rows of `table` with `threads` threads and gives them to `take` piece by piece, in order. The first use in
/// a process also makes the 300 MiB of text that comments are cut from.
pub fn generate<E>(
    table: &Table,
    scale: Scale,
    threads: usize,
    mut take: impl FnMut(Piece) -> Result<(), E>,
) -> Result<u64, E> {
    let pieces = pieces(table, scale);
    let threads = threads.clamp(1, pieces);
    let mut rows = 0;
    std::thread::scope(|scope| {
        // Thread t makes pieces t, t + threads ...; reading the threads in turn gives the order back.
        let makers: Vec<Option<Receiver<Piece>>> = (0..threads)
            .map(|first| {
                let (sender, receiver) = sync_channel(1);
                let maker = move || {
                    for piece in (first..pieces).step_by(threads) {
                        // No one listens any more: the taker failed.
                        if sender.send(make(table, scale, piece, pieces)).is_err() {
                            return;
                        }
                    }
                };
                Builder::new().spawn_scoped(scope, maker).ok().map(|_| receiver)
            })
            .collect();
        for piece in 0..pieces {
            let made = match &makers[piece % threads] {
                Some(maker) => maker.recv().ok(),
                // The system started no thread for it: this one makes what it would have.
                None => Some(make(table, scale, piece, pieces)),
            };
            // A maker that panicked sends nothing; the scope passes its panic on.
            let Some(piece) = made else { break };
            rows += piece.rows;
            take(piece)?;
        }
        Ok(rows)
    })
}

fn pieces(table: &Table, scale: Scale) -> usize {
    // Bytes of text at scale 1.
    let bytes = match table.name {
        "lineitem" => 7.6e8,
        "orders" => 1.7e8,
        "partsupp" => 1.2e8,
        "part" | "customer" => 2.4e7,
        // nation and region know no parts, and supplier is small.
        _ => 0.0,
    };
    ((bytes * scale.factor() / PIECE_BYTES).ceil() as usize).max(1)
}

fn make(table: &Table, scale: Scale, piece: usize, pieces: usize) -> Piece {
    let scale = scale.factor();
    // The generator counts parts from 1, in i32: 57,000 pieces at the largest scale.
    let (part, parts) = (piece as i32 + 1, pieces as i32);
    match table.name {
        "region" => lines(RegionGenerator::new(scale, part, parts).iter()),
        "nation" => lines(NationGenerator::new(scale, part, parts).iter()),
        "supplier" => lines(SupplierGenerator::new(scale, part, parts).iter()),
        "customer" => lines(CustomerGenerator::new(scale, part, parts).iter()),
        "part" => lines(PartGenerator::new(scale, part, parts).iter()),
        "partsupp" => lines(PartSuppGenerator::new(scale, part, parts).iter()),
        "orders" => lines(OrderGenerator::new(scale, part, parts).iter()),
        _ => lines(LineItemGenerator::new(scale, part, parts).iter()),
    }
}

fn lines<T: Display>(all: impl Iterator<Item = T>) -> Piece {
    let mut piece = Piece { text: String::new(), rows: 0 };
    for row in all {
        // Writing to a String does not fail. The format ends each row with a separator that no column follows.
        let _ = write!(piece.text, "{row}");
        piece.text.pop();
        piece.text.push('\n');
        piece.rows += 1;
    }
    piece
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::dbt3::TABLES;

    fn text(table: &Table, scale: f64, threads: usize) -> (String, u64) {
        let mut all = String::new();
        let rows = generate(table, Scale::new(scale).unwrap(), threads, |piece| {
            all.push_str(&piece.text);
            Ok::<(), ()>(())
        });
        (all, rows.unwrap())
    }

    #[test]
    fn rows_come_complete_and_in_order_whatever_the_number_of_threads() {
        // TPC-H specification 4.2.5 for scale 0.02; lineitem as its own generator makes it.
        let counts = [120_515, 30_000, 16_000, 4_000, 3_000, 200, 25, 5];
        for (table, count) in TABLES.iter().zip(counts) {
            let (one, rows) = text(table, 0.02, 1);
            assert_eq!((rows, one.lines().count() as u64), (count, count), "{}", table.name);
            assert!(one.lines().all(|line| line.split('|').count() == table.width), "{}", table.name);
            assert_eq!(text(table, 0.02, 3).0, one, "{}", table.name);
        }
        assert!(pieces(&TABLES[0], Scale::new(0.02).unwrap()) > 3, "nothing was put together");
    }

    #[test]
    fn a_taker_that_fails_ends_it() {
        let mut taken = 0;
        let result = generate(&TABLES[0], Scale::new(0.02).unwrap(), 2, |_| {
            taken += 1;
            if taken == 2 { Err("full") } else { Ok(()) }
        });
        assert_eq!((result, taken), (Err("full"), 2));
    }
}
