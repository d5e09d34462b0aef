//! The TLS layer: encrypts what a protocol writes, and decrypts what arrives before the protocol reads it.

use super::settings;
use crate::Tls;
use rustls::{AlertDescription, CertificateError, ClientConnection, Error};
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};

/// Limit on one read of the socket, bytes: more than any answer of the OLTP queries.
const RECEIVED_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct Layer {
    connection: ClientConnection,
    /// Bytes from the socket; those from `start` to `end` are not processed yet.
    received: Vec<u8>,
    start: usize,
    end: usize,
}

impl Layer {
    /// Performs the TLS handshake. The socket's own time limits apply.
    ///
    /// # Errors
    /// The error of the socket; otherwise why the server, or a file that `tls` names, is not trusted.
    pub(crate) fn over(socket: &mut (impl Read + Write), tls: &Tls, host: &str) -> io::Result<Self> {
        let connection = settings::connection(tls, host).map_err(|why| io::Error::other(NotTried(why)))?;
        let mut layer = Self { connection, received: vec![0; RECEIVED_BYTES], start: 0, end: 0 };
        while layer.connection.is_handshaking() {
            layer.send(socket)?;
            if layer.connection.is_handshaking() {
                layer.receive(socket)?;
            }
        }
        layer.send(socket)?;
        Ok(layer)
    }

    /// Version and cipher suite, in their usual spelling.
    pub(crate) fn words(&self) -> String {
        let version = self.connection.protocol_version().and_then(|version| version.as_str());
        let suite = self.connection.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str());
        format!("{}, {}", version.unwrap_or("TLS").replace('_', "."), suite.unwrap_or("a suite without a name"))
    }

    pub(crate) fn read(&mut self, socket: &mut (impl Read + Write), buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(buffer) {
                // No complete record has arrived yet.
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.receive(socket)?,
                read => return read,
            }
        }
    }

    pub(crate) fn write(&mut self, socket: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.connection.writer().write(bytes)?;
        self.send(socket)?;
        Ok(taken)
    }

    /// Waits for the socket only if everything that it delivered has been processed.
    fn receive(&mut self, socket: &mut (impl Read + Write)) -> io::Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, socket.read(&mut self.received)?);
            if self.end == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        self.start += self.connection.read_tls(&mut &self.received[self.start..self.end])?;
        if let Err(error) = self.connection.process_new_packets() {
            // Sends an alert with the reason, if the other side still listens.
            let _ = self.send(socket);
            return Err(io::Error::new(ErrorKind::InvalidData, error));
        }
        // Sends what the layer itself produces, such as new keys.
        self.send(socket)
    }

    fn send(&mut self, socket: &mut impl Write) -> io::Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(socket) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                sent => drop(sent?),
            }
        }
        Ok(())
    }
}

/// An error before any attempt to connect: a file that cannot be used.
#[derive(Debug)]
pub(super) struct NotTried(pub String);

impl fmt::Display for NotTried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotTried {}

/// The reason if TLS itself failed; none for other errors.
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
        // BadSignature is the result for another authority with the same name.
        Error::InvalidCertificate(Certificate::UnknownIssuer | Certificate::BadSignature) => {
            "the server's certificate is not signed by a trusted authority: give the authority's certificate as \
             tls_ca (ssl-ca, sslrootcert)"
                .to_owned()
        }
        Error::InvalidCertificate(
            wrong @ (Certificate::NotValidForName | Certificate::NotValidForNameContext { .. }),
        ) => format!(
            "the server's certificate is for another host: {wrong}; connect by a name in its subjectAltName (the \
             common name is not used), or use verify-ca"
        ),
        Error::InvalidCertificate(wrong) => format!(
            "the server's certificate cannot be trusted: {wrong}; expected one of version 3 that is valid now, with a \
             subjectAltName where the host is checked"
        ),
        Error::AlertReceived(
            alert @ (AlertDescription::CertificateRequired
            | AlertDescription::HandshakeFailure
            | AlertDescription::UnknownCA
            | AlertDescription::BadCertificate),
        ) => {
            format!("the server refused ({alert:?}): it may require a client certificate: set tls_cert and tls_key")
        }
        Error::InvalidMessage(_) => format!("{error}: check that the server at this address supports TLS"),
        other => other.to_string(),
    }
}
