//! A way between two processes of this program: a JSON line a message, an empty line a second as a sign of life.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Time between two signs of life.
const SIGN_EVERY: Duration = Duration::from_secs(1);
/// Who was not heard for so long is gone: ten signs of life in a row do not get lost on a way that works.
const SILENCE: Duration = Duration::from_secs(10);
/// Bytes of the longest message: a machine of thousands of CPUs takes some millions.
const LONGEST: u64 = 64 << 20;
/// Lines that a login may print before the first message.
const GREETING: usize = 200;

/// Why nothing more will be heard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkEnd {
    /// The other side has closed it, or died.
    #[error("the connection ended")]
    Closed,
    /// The other side says nothing any more.
    #[error("nothing was heard for {} s", SILENCE.as_secs())]
    Silent,
    /// What came is no message.
    #[error("something came that is no message of this program: {0}")]
    Garbled(String),
}

/// The end of a way that is written to. None when it is closed.
#[derive(Clone)]
pub struct Mouth(Arc<Mutex<Option<Box<dyn Write + Send>>>>);

impl Mouth {
    /// Says it. Who does not hear any more is noticed by its silence.
    pub fn say(&self, message: &impl Serialize) {
        if let Ok(mut line) = serde_json::to_vec(message) {
            line.push(b'\n');
            self.write(&line);
        }
    }

    /// Whether it could be written.
    fn write(&self, line: &[u8]) -> bool {
        let mut open = self.open();
        let written = open.as_mut().is_some_and(|out| out.write_all(line).and_then(|()| out.flush()).is_ok());
        if !written {
            *open = None;
        }
        written
    }

    /// Says nothing more: the other side hears that.
    pub fn close(&self) {
        *self.open() = None;
    }

    fn open(&self) -> MutexGuard<'_, Option<Box<dyn Write + Send>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One side of a way.
pub struct Link<I> {
    heard: Receiver<Result<I, LinkEnd>>,
    last: Arc<Mutex<Instant>>,
    mouth: Mouth,
}

impl<I: DeserializeOwned + Send + 'static> Link<I> {
    /// Listens on one pipe and gives signs of life on the other, until they end.
    ///
    /// # Errors
    /// When there are no threads for it.
    pub fn open(input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> io::Result<Self> {
        let (sender, heard) = channel();
        let last = Arc::new(Mutex::new(Instant::now()));
        let ears = Arc::clone(&last);
        Builder::new().name("ears".into()).spawn(move || listen(input, &sender, &ears))?;
        let mouth = Mouth(Arc::new(Mutex::new(Some(Box::new(output)))));
        let sign = mouth.clone();
        Builder::new().name("sign".into()).spawn(move || {
            while sign.write(b"\n") {
                std::thread::sleep(SIGN_EVERY);
            }
        })?;
        Ok(Self { heard, last, mouth })
    }

    /// The next message, where one comes in time.
    ///
    /// # Errors
    /// Why none will come any more.
    pub fn hear(&self, patience: Duration) -> Result<Option<I>, LinkEnd> {
        match self.heard.recv_timeout(patience) {
            Ok(heard) => heard.map(Some),
            Err(RecvTimeoutError::Disconnected) => Err(LinkEnd::Closed),
            Err(RecvTimeoutError::Timeout) => {
                let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
                if last.elapsed() > SILENCE { Err(LinkEnd::Silent) } else { Ok(None) }
            }
        }
    }

    /// What speaks to the other side.
    pub fn mouth(&self) -> &Mouth {
        &self.mouth
    }
}

fn listen<I: DeserializeOwned>(input: impl Read, heard: &Sender<Result<I, LinkEnd>>, last: &Mutex<Instant>) {
    let mut input = BufReader::new(input);
    let mut greeting = 0..GREETING;
    loop {
        let mut line = Vec::new();
        let read = input.by_ref().take(LONGEST).read_until(b'\n', &mut line);
        *last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        if !matches!(read, Ok(bytes) if bytes > 0) {
            let _ = heard.send(Err(LinkEnd::Closed));
            return;
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        match serde_json::from_slice(text) {
            Ok(message) => {
                greeting = 0..0;
                if heard.send(Ok(message)).is_err() {
                    return;
                }
            }
            // What a login shell prints before it starts the program.
            Err(_) if greeting.next().is_some() => {}
            Err(error) => {
                let text = String::from_utf8_lossy(&text[..text.len().min(200)]).into_owned();
                let _ = heard.send(Err(LinkEnd::Garbled(format!("{text} ({error})"))));
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Link<u32>, Link<u32>) {
        let ((to_b, from_a), (to_a, from_b)) = (swapped(), swapped());
        (Link::open(from_b, to_b).unwrap(), Link::open(from_a, to_a).unwrap())
    }

    fn swapped() -> (io::PipeWriter, io::PipeReader) {
        let (reader, writer) = io::pipe().unwrap();
        (writer, reader)
    }

    #[test]
    fn both_sides_hear_each_other_and_the_end() {
        let (a, b) = pair();
        a.mouth().say(&7);
        b.mouth().say(&8);
        let soon = Duration::from_secs(5);
        assert_eq!((a.hear(soon), b.hear(soon)), (Ok(Some(8)), Ok(Some(7))));
        assert_eq!(a.hear(Duration::from_millis(10)), Ok(None));
        a.mouth().close();
        assert_eq!(b.hear(soon), Err(LinkEnd::Closed));
    }

    #[test]
    fn a_greeting_is_passed_over_and_noise_behind_it_ends_the_way() {
        let (reader, mut writer) = io::pipe().unwrap();
        let link: Link<u32> = Link::open(reader, io::sink()).unwrap();
        writer.write_all(b"Last login: today\n\n1\nnoise\n").unwrap();
        let soon = Duration::from_secs(5);
        assert_eq!(link.hear(soon), Ok(Some(1)));
        assert!(matches!(link.hear(soon), Err(LinkEnd::Garbled(text)) if text.starts_with("noise")));
    }

    #[test]
    fn who_says_nothing_for_long_is_gone() {
        let (reader, _writer) = io::pipe().unwrap();
        let link: Link<u32> = Link::open(reader, io::sink()).unwrap();
        *link.last.lock().unwrap() = Instant::now().checked_sub(SILENCE).unwrap();
        assert_eq!(link.hear(Duration::from_millis(1)), Err(LinkEnd::Silent));
    }
}
