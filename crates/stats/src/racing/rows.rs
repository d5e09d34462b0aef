//! The values of a race, block by block, with the servers of the trials.

/// The trials so far, by block and candidate.
#[derive(Debug, Clone, Copy)]
pub struct Blocks<'a> {
    /// y = ln(metric), oriented so that larger is better; `None` when a candidate did not run in the block or gave no
    /// value.
    pub values: &'a [Vec<Option<f64>>],
    /// Whether the trial was disturbed; in blocks that are missing here no trial was.
    pub disturbed: &'a [Vec<bool>],
    /// A number that identifies the server of the trial; in blocks that are missing here each trial had its own.
    pub servers: &'a [Vec<usize>],
}

impl<'a> Blocks<'a> {
    /// Blocks in which every trial had a server of its own and was not disturbed.
    pub fn of(values: &'a [Vec<Option<f64>>]) -> Self {
        Self { values, disturbed: &[], servers: &[] }
    }

    pub(super) fn until(self, count: usize) -> Self {
        Self { values: &self.values[..count], ..self }
    }

    pub(super) fn is_disturbed(self, block: usize, candidate: usize) -> bool {
        self.disturbed.get(block).is_some_and(|of| of[candidate])
    }

    pub(super) fn rows(self) -> Rows<'a> {
        Rows { values: self.values, servers: self.servers }
    }
}

/// Values by block, with the servers of the trials.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'a> {
    pub values: &'a [Vec<Option<f64>>],
    pub servers: &'a [Vec<usize>],
}

/// The values of one block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    pub values: &'a [Option<f64>],
    servers: Option<&'a [usize]>,
}

impl<'a> Rows<'a> {
    pub fn iter(self) -> impl Iterator<Item = Row<'a>> {
        let row = move |(block, values): (usize, &'a Vec<Option<f64>>)| Row {
            values,
            servers: self.servers.get(block).map(Vec::as_slice),
        };
        self.values.iter().enumerate().map(row)
    }

    /// The values by block and server; `None` when no two candidates of a block shared a server.
    pub fn by_server(self) -> Option<Vec<Vec<Option<f64>>>> {
        let all: Vec<Vec<Option<f64>>> = self.iter().flat_map(Row::servers).collect();
        all.iter().any(|own| own.iter().flatten().count() > 1).then_some(all)
    }

    /// The effective number of trials per server, on average (Searle's n0, for each block separately).
    pub fn trials_of_a_server(self) -> f64 {
        let (mut trials, mut servers) = (0.0, 0.0);
        for row in self.iter() {
            let own = row.servers();
            let sizes = own.iter().map(|of| of.iter().flatten().count() as f64).filter(|size| *size > 0.0);
            let (count, all, squares) =
                sizes.fold((0.0, 0.0, 0.0), |(count, all, squares), n| (count + 1.0, all + n, squares + n * n));
            if count > 1.0 {
                trials += all - squares / all;
                servers += count - 1.0;
            }
        }
        if servers > 0.0 { trials / servers } else { 1.0 }
    }
}

impl Row<'_> {
    pub fn share_a_server(&self, i: usize, j: usize) -> bool {
        self.servers.is_some_and(|servers| servers[i] == servers[j])
    }

    fn servers(self) -> Vec<Vec<Option<f64>>> {
        let Some(servers) = self.servers else { return Vec::new() };
        let mut known: Vec<usize> = servers.to_vec();
        known.sort_unstable();
        known.dedup();
        let own = |server: usize| {
            let is_own = |(value, of): (&Option<f64>, &usize)| value.filter(|_| *of == server);
            self.values.iter().zip(servers).map(is_own).collect()
        };
        known.into_iter().map(own).collect()
    }

    /// The sum over servers of the squared sum of their candidates' weights.
    pub fn by_server(&self, weights: &[f64]) -> f64 {
        let Some(servers) = self.servers else { return weights.iter().map(|weight| weight * weight).sum() };
        let mut sums: std::collections::BTreeMap<usize, f64> = std::collections::BTreeMap::new();
        servers.iter().zip(weights).for_each(|(server, weight)| *sums.entry(*server).or_default() += weight);
        sums.into_values().map(|sum| sum * sum).sum()
    }
}
