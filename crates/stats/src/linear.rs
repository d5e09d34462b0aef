//! Least squares for the few columns of a design or a scaling law.
//!
//! Implemented here rather than taken from a linear algebra crate because designs must drop aliased terms by name, and
//! because at most a few dozen columns are ever solved.

/// Inverse of a symmetric positive definite matrix by Gauss-Jordan with diagonal pivots, scaled to a unit diagonal
/// first so that the units of the columns do not matter. `None` when it is singular to working precision.
pub(crate) fn inverse_spd(a: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let n = a.len();
    let scale: Vec<f64> = (0..n).map(|i| a[i][i].sqrt()).collect();
    if scale.iter().any(|s| !(s.is_finite() && *s > 0.0)) {
        return None;
    }
    let mut m: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| a[i][j] / (scale[i] * scale[j])).collect()).collect();
    for k in 0..n {
        let pivot = m[k][k];
        // The remainder of a unit diagonal is 1 - R^2 of this column on those before it.
        if !(pivot.is_finite() && pivot > 1e-12) {
            return None;
        }
        m[k][k] = 1.0;
        m[k].iter_mut().for_each(|v| *v /= pivot);
        let row = m[k].clone();
        for (i, other) in m.iter_mut().enumerate() {
            if i != k {
                let factor = other[k];
                other[k] = 0.0;
                other.iter_mut().zip(&row).for_each(|(v, r)| *v -= factor * r);
            }
        }
    }
    Some((0..n).map(|i| (0..n).map(|j| m[i][j] / (scale[i] * scale[j])).collect()).collect())
}

/// X'WX for rows `x` and weights `w`.
pub(crate) fn gram(x: &[Vec<f64>], w: &[f64]) -> Vec<Vec<f64>> {
    let p = x.first().map_or(0, Vec::len);
    let mut g = vec![vec![0.0; p]; p];
    for (row, &weight) in x.iter().zip(w) {
        for i in 0..p {
            for j in 0..p {
                g[i][j] += weight * row[i] * row[j];
            }
        }
    }
    g
}

/// X'Wy for rows `x`, weights `w` and responses `y`.
pub(crate) fn moment(x: &[Vec<f64>], w: &[f64], y: &[f64]) -> Vec<f64> {
    let p = x.first().map_or(0, Vec::len);
    (0..p).map(|j| x.iter().zip(w).zip(y).map(|((row, w), y)| row[j] * w * y).sum()).collect()
}

/// The product of a matrix, row by row, with a vector.
pub(crate) fn times(a: &[Vec<f64>], v: &[f64]) -> Vec<f64> {
    a.iter().map(|row| dot(row, v)).collect()
}

/// The inner product of two vectors of equal length.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// The columns, from the left, that are linearly independent of those kept before them (modified Gram-Schmidt).
pub(crate) fn independent_columns(x: &[Vec<f64>]) -> Vec<usize> {
    let p = x.first().map_or(0, Vec::len);
    let mut kept = Vec::new();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for j in 0..p {
        let mut column: Vec<f64> = x.iter().map(|row| row[j]).collect();
        let before = dot(&column, &column);
        for b in &basis {
            let along = dot(&column, b);
            column.iter_mut().zip(b).for_each(|(c, b)| *c -= along * b);
        }
        let left = dot(&column, &column);
        if left > 1e-9 * before {
            let norm = left.sqrt();
            basis.push(column.iter().map(|c| c / norm).collect());
            kept.push(j);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_times_matrix_is_the_identity_whatever_the_units() {
        let x = vec![vec![1.0, 2e6, 3e-6], vec![1.0, -1e6, 5e-6], vec![1.0, 4e6, -2e-6], vec![1.0, 0.5e6, 1e-6]];
        let g = gram(&x, &[1.0, 2.0, 0.5, 1.0]);
        let inverse = inverse_spd(&g).unwrap();
        for (i, row) in inverse.iter().enumerate() {
            for j in 0..3 {
                let column: Vec<f64> = g.iter().map(|r| r[j]).collect();
                let expected = if i == j { 1.0 } else { 0.0 };
                let scale = (g[j][j] / g[i][i]).sqrt();
                assert!((dot(row, &column) - expected).abs() < 1e-9 * scale.max(1.0));
            }
        }
    }

    #[test]
    fn aliased_columns_are_found() {
        let x = vec![vec![1.0, 1.0, 1.0], vec![1.0, -1.0, -1.0], vec![1.0, 1.0, 1.0]];
        assert_eq!(independent_columns(&x), [0, 1]);
        assert!(inverse_spd(&gram(&x, &[1.0; 3])).is_none());
    }
}
