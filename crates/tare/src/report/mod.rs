//! Results as tables and as one HTML file. Reads results only.
