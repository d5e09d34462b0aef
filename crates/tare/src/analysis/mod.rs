//! From trial records to what they say: one summary that the terminal, the HTML report and --json share.
