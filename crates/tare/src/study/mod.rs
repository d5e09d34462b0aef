//! From a study file to finished trials.
