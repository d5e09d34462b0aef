//! TLS: the layer between a protocol and its socket, which encrypts what the protocol writes, and decrypts what arrives
//! before the protocol reads it; the user's settings: modes, authorities, the client's own certificate; and error
//! messages.

use crate::{Tls, TlsMode};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientConnection, WebPkiServerVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, aws_lc_rs, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

/// Bits of a key file's mode that let other users read or change it: any access for others, writing for the group.
const OPEN_TO_OTHERS: u32 = 0o027;

/// Limit on the size of a certificate or key file, bytes: all authorities of a system take a quarter of a megabyte.
const LARGEST: u64 = 4 << 20;

/// A connection before its handshake.
///
/// # Errors
/// In words: the file that cannot be used and why, or that no authority is known.
fn client_connection(tls: &Tls, host: &str) -> Result<ClientConnection, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let believe = Believe { chain: chain(tls, &provider)?, algorithms: provider.signature_verification_algorithms };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(believe));
    let config = match &tls.identity {
        None => builder.with_no_client_auth(),
        Some(own) => builder
            .with_client_auth_cert(certificates(&own.certificate)?, key(&own.key)?)
            .map_err(|error| format!("{}: {error}", own.certificate.display()))?,
    };
    let name =
        ServerName::try_from(host.to_owned()).map_err(|_| format!("{host} is not a valid name in a certificate"))?;
    ClientConnection::new(Arc::new(config), name).map_err(|error| error.to_string())
}

/// Whose signature the server's certificate needs; none if any server is accepted.
fn chain(tls: &Tls, provider: &Arc<CryptoProvider>) -> Result<Option<Chain>, String> {
    let names = match tls.mode {
        TlsMode::Off | TlsMode::Preferred | TlsMode::Required => return Ok(None),
        TlsMode::VerifyCa => false,
        TlsMode::VerifyFull => true,
    };
    let (mut roots, mut own) = (RootCertStore::empty(), Vec::new());
    match &tls.ca {
        Some(path) => {
            own = certificates(path)?;
            for certificate in &own {
                roots.add(certificate.clone()).map_err(|error| format!("{}: {error}", path.display()))?;
            }
        }
        // Without a check of the name, any certificate that a system authority ever signed would be accepted.
        None if !names => {
            let what = "verify-ca needs the certificate of the trusted authority";
            return Err(format!("{what}: give it as tls_ca (ssl-ca, sslrootcert)"));
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
    let verifier = verifier.map_err(|error| {
        format!(
            "this machine has no trusted authorities ({error}): install ca-certificates, or give tls_ca (ssl-ca, \
            sslrootcert)"
        )
    })?;
    Ok(Some(Chain { verifier, own, names }))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |what: String| format!("certificate file {}: {what}", path.display());
    let bytes = tare_files::read_named_file(path, LARGEST).map_err(|error| wrong(error.to_string()))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(wrong("holds no certificate; expected PEM (-----BEGIN CERTIFICATE-----)".to_owned())),
        Err(error) => Err(wrong(format!("not PEM: {error}"))),
    }
}

/// The client's private key, which other users must not be able to read.
fn key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let wrong = |what: String| format!("key file {}: {what}", path.display());
    let absent = || wrong("there is no such file".to_owned());
    let file = tare_files::open_named(path).map_err(|error| wrong(error.to_string()))?.ok_or_else(absent)?;
    let mode = file.metadata().map_err(|error| wrong(error.to_string()))?.mode();
    if mode & OPEN_TO_OTHERS != 0 {
        return Err(wrong(format!("others may read or change it: chmod 0600 {}", path.display())));
    }
    let bytes = tare_files::read_all(file, path, LARGEST).map_err(|error| wrong(error.to_string()))?;
    PrivateKeyDer::from_pem_slice(&bytes)
        .map_err(|error| wrong(format!("expected a PEM private key without a passphrase: {error}")))
}

#[derive(Debug)]
struct Believe {
    /// The authorities that must have signed the server's certificate; none: any certificate is accepted.
    pub chain: Option<Chain>,
    pub algorithms: WebPkiSupportedAlgorithms,
}

/// The check that a trusted authority signed a certificate.
#[derive(Debug)]
struct Chain {
    /// Verifies signatures, times and names.
    pub verifier: Arc<WebPkiServerVerifier>,
    /// Certificates from the user's own file. A server whose own certificate is one of them is trusted too, as with
    /// self-signed certificates; `verifier` does not accept those.
    pub own: Vec<CertificateDer<'static>>,
    /// Whether the certificate must be for the requested host.
    pub names: bool,
}

fn is_out_of_time(verdict: &Result<ServerCertVerified, Error>) -> bool {
    use CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
    let Err(Error::InvalidCertificate(wrong)) = verdict else { return false };
    matches!(wrong, Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. })
}

impl Believe {
    /// If any certificate is accepted, verifying a signature made with it adds nothing; and certificates of version 1,
    /// which the manuals of both servers create, could not be parsed for it.
    fn signed(
        &self,
        verify: impl FnOnce(&WebPkiSupportedAlgorithms) -> Result<HandshakeSignatureValid, Error>,
    ) -> Result<HandshakeSignatureValid, Error> {
        if self.chain.is_some() { verify(&self.algorithms) } else { Ok(HandshakeSignatureValid::assertion()) }
    }
}

impl ServerCertVerifier for Believe {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        let is_own = chain.own.iter().any(|own| own == certificate);
        let verdict = chain.verifier.verify_server_cert(certificate, between, name, ocsp, now);
        let judged = match is_own {
            // The verifier checks the validity period first, and it applies to the user's own certificates too.
            true if is_out_of_time(&verdict) => verdict,
            true if !chain.names => Ok(ServerCertVerified::assertion()),
            true => rustls::client::verify_server_name(&ParsedCertificate::try_from(certificate)?, name)
                .map(|()| ServerCertVerified::assertion()),
            false => verdict,
        };
        match judged {
            // The name is checked last, so everything else is valid.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !chain.names => Ok(ServerCertVerified::assertion()),
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed(|known| verify_tls12_signature(message, certificate, signed, known))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed(|known| verify_tls13_signature(message, certificate, signed, known))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

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
        let connection = client_connection(tls, host).map_err(|why| io::Error::other(NotTried(why)))?;
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
struct NotTried(pub String);

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Self-signed, for localhost, valid for a day from [`BEGINS_S`] on.
    const OWN: &str = "\
-----BEGIN CERTIFICATE-----
MIIBiTCCAS+gAwIBAgIUKXAsliTG+QClcfwH4ndaUDpjcK4wCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEc2VsZjAeFw0yNjExMjMwNjQ2MzlaFw0yNjExMjQwNjQ2Mzla
MA8xDTALBgNVBAMMBHNlbGYwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASRApoQ
WH9wOlma40nkEG7kIRF559UTBk0E1+4xJK5Bl7W5uJ2yMyi2dQ1tsd42xvcLlLug
hF3W497VdYLq2KADo2kwZzAdBgNVHQ4EFgQUV6KpzlJX02Di61rrWNbNj/5ihncw
HwYDVR0jBBgwFoAUV6KpzlJX02Di61rrWNbNj/5ihncwDwYDVR0TAQH/BAUwAwEB
/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwIDSAAwRQIgBAjkhDqx
0PTtyqjEEJsdsrd7XnzTEtoesp/ngMvJknUCIQCMntYl+disF5XYkKqQ9XKEz3wJ
EUeUFQNK/ezuOEYFHg==
-----END CERTIFICATE-----
";
    /// Seconds since 1970.
    const BEGINS_S: u64 = 1795416399;
    const HOUR_S: u64 = 3600;

    #[test]
    fn a_certificate_of_the_users_own_file_is_believed_only_while_it_is_valid() {
        let own = CertificateDer::from_pem_slice(OWN.as_bytes()).unwrap();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(own.clone()).unwrap();
        let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let verifier = builder.build().unwrap();
        for names in [true, false] {
            let chain = Some(Chain { verifier: Arc::clone(&verifier), own: vec![own.clone()], names });
            let believe = Believe { chain, algorithms: provider.signature_verification_algorithms };
            let at = |seconds: u64, host: &'static str| {
                let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
                believe.verify_server_cert(&own, &[], &ServerName::try_from(host).unwrap(), &[], now).map(drop)
            };
            assert!(at(BEGINS_S + HOUR_S, "localhost").is_ok());
            for seconds in [BEGINS_S + 25 * HOUR_S, BEGINS_S - HOUR_S] {
                let wrong = at(seconds, "localhost").unwrap_err();
                assert!(is_out_of_time(&Err(wrong.clone())), "{names}: {wrong}");
            }
            assert_eq!(at(BEGINS_S + HOUR_S, "elsewhere").is_err(), names);
        }
    }
}
