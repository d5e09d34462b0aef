//! What went wrong with an encrypted connection, in words that say what to do.

use rustls::{AlertDescription, CertificateError, Error};
use std::fmt;
use std::io;

/// What keeps this side from even trying: a file that cannot be used.
#[derive(Debug)]
pub(super) struct NotTried(pub String);

impl fmt::Display for NotTried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotTried {}

/// What TLS itself did not like; none where it was something else.
#[cold]
pub(crate) fn tls_words(error: &io::Error) -> Option<String> {
    let inner = error.get_ref()?;
    match inner.downcast_ref::<Error>() {
        Some(error) => Some(format!("TLS: {}", of(error))),
        None => inner.downcast_ref::<NotTried>().map(|why| format!("TLS: {why}")),
    }
}

fn of(error: &Error) -> String {
    use CertificateError as Certificate;
    match error {
        // The second is what comes of another authority with the same name.
        Error::InvalidCertificate(Certificate::UnknownIssuer | Certificate::BadSignature) => {
            "the server's certificate is signed by no one who is believed: give its authority's own as tls_ca (ssl-ca, \
             sslrootcert)"
                .to_owned()
        }
        Error::InvalidCertificate(
            wrong @ (Certificate::NotValidForName | Certificate::NotValidForNameContext { .. }),
        ) => format!(
            "the server's certificate is for another host: {wrong}; connect by a name that stands in its subjectAltName \
             (a common name does not count), or ask for verify-ca"
        ),
        Error::InvalidCertificate(wrong) => format!(
            "the server's certificate cannot be believed: {wrong}; expected one of version 3 that is valid now, with a \
             subjectAltName where the host is checked"
        ),
        Error::AlertReceived(
            alert @ (AlertDescription::CertificateRequired
            | AlertDescription::HandshakeFailure
            | AlertDescription::UnknownCA
            | AlertDescription::BadCertificate),
        ) => {
            format!("the server refused ({alert:?}): it may ask for a certificate of the client: tls_cert and tls_key")
        }
        Error::InvalidMessage(_) => format!("{error}: is this a server that speaks TLS here?"),
        other => other.to_string(),
    }
}
