//! One step measured on many ladders: its mean over all of them, and the ladders that are exceptions.

mod step;
mod variances;

pub use step::{Exception, LadderStep, PooledStep, StepOfLadders, pooled_steps, smallest_shown};
