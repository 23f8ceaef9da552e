//! Room `cli/explore`: the server: which requests are answered.
//!
//! # Who may ask
//!
//! A server on loopback can be reached by every page that the same browser shows, and by every user of the machine. So
//!
//! - the address has a random token in its path; without it there is nothing but an error, which says nothing;
//! - the `Host` must be the address that the server listens on, as a number or as `localhost`: a name that an attacker lets point here is
//!   neither;
//! - a request that says where it comes from (`Origin`, `Sec-Fetch-Site`) must come from the page itself, and a command must be JSON, which
//!   no page of another origin can send without asking first;
//! - there are two paths, the page and the run, and no path is ever taken for a file.
//!
//! The page is told to send its address to nobody, and not to be shown within another page.

use super::session::Session;
use serde_json::{Value, json};
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tiny_http::{Header, Method, Request, Response, StatusCode};

/// The largest command, in bytes.
const LARGEST: u64 = 1 << 16;
/// How often it is asked whether to go on.
const PAUSE: Duration = Duration::from_millis(100);

/// What is answered beside the page and the run: a status, and a few words.
type Refusal = (u16, &'static str);

/// A server that was told where to listen.
pub struct Server {
    http: tiny_http::Server,
    listens: SocketAddr,
    token: String,
}

/// A token of 128 bits that nobody can guess.
pub fn random() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Server {
    /// Listens at an address; port 0 means any that is free.
    pub fn bind(at: SocketAddr, token: String) -> Result<Self, String> {
        let http = tiny_http::Server::http(at).map_err(|error| error.to_string())?;
        let listens = http.server_addr().to_ip().ok_or("this is no address of the internet protocol")?;
        Ok(Server { http, listens, token })
    }

    /// Where the page is.
    pub fn address(&self) -> String {
        format!("http://{}/{}/", self.listens, self.token)
    }

    /// Answers requests, one after the other, until it is told to stop.
    pub fn serve(&self, session: &mut Session, is_over: impl Fn() -> bool) {
        while !is_over() {
            match self.http.recv_timeout(PAUSE) {
                Ok(Some(request)) => self.answer(request, session),
                Ok(None) => {}
                Err(_) => return,
            }
        }
    }

    fn answer(&self, mut request: Request, session: &mut Session) {
        let (status, kind, body) = match self.answered(&mut request, session) {
            Ok((kind, body)) => (200, kind, body),
            Err((status, what)) => (status, "text/plain; charset=utf-8", format!("{what}\n")),
        };
        let headers = [
            ("Content-Type", kind),
            ("Cache-Control", "no-store"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ];
        let headers = headers.iter().filter_map(|(name, value)| Header::from_bytes(*name, *value).ok());
        let length = body.len();
        let body = std::io::Cursor::new(body.into_bytes());
        // A browser that has gone away is no error.
        let _ =
            request.respond(Response::new(StatusCode(status), headers.collect(), body, Some(length), None));
    }

    fn answered(
        &self,
        request: &mut Request,
        session: &mut Session,
    ) -> Result<(&'static str, String), Refusal> {
        let header = |name: &'static str| {
            let named = request.headers().iter().filter(|header| header.field.equiv(name));
            named.map(|header| header.value.as_str().to_owned()).collect::<Vec<_>>()
        };
        let host = header("Host");
        is_host(&host, self.listens)?;
        let place = request.url().strip_prefix('/').and_then(|rest| rest.split_once('/'));
        let Some((token, path)) = place else { return Err((404, "not found")) };
        if !is_same(token, &self.token) {
            return Err((404, "not found"));
        }
        is_own(&header("Origin"), &header("Sec-Fetch-Site"), &host)?;
        let is_json = header("Content-Type").iter().any(|kind| kind == "application/json");
        const JSON: &str = "application/json";
        match (request.method(), path) {
            (Method::Get, "") => Ok(("text/html; charset=utf-8", session.page())),
            (Method::Get, "run") => Ok((JSON, session.shown(Value::Null).to_string())),
            (Method::Post, "run") if !is_json => Err((415, "a command is JSON")),
            (Method::Post, "run") => {
                let mut body = Vec::new();
                let read = request.as_reader().take(LARGEST + 1).read_to_end(&mut body);
                if read.is_err() || body.len() as u64 > LARGEST {
                    return Err((413, "the command is too long"));
                }
                let command: Value = serde_json::from_slice(&body).map_err(|_| (400, "a command is JSON"))?;
                let told = match session.act(&command) {
                    Ok(told) => told,
                    Err(problem) => json!({ "problem": problem }),
                };
                Ok((JSON, session.shown(told).to_string()))
            }
            (_, "" | "run") => Err((405, "there is no such method here")),
            _ => Err((404, "not found")),
        }
    }
}

/// Whether two texts are the same, in a time that does not say where they differ.
fn is_same(one: &str, other: &str) -> bool {
    let differ = one.bytes().zip(other.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    one.len() == other.len() && differ == 0
}

/// Whether the request names the address that is listened on: by a number, since names can be made to point anywhere.
fn is_host(host: &[String], listens: SocketAddr) -> Result<(), Refusal> {
    const WRONG: Refusal = (403, "this host is not served");
    let [host] = host else { return Err(WRONG) };
    let (name, port) = host.rsplit_once(':').ok_or(WRONG)?;
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let ip: Option<IpAddr> = match name {
        "localhost" if listens.ip().is_loopback() => {
            return is_port(port, listens).then_some(()).ok_or(WRONG);
        }
        name => name.parse().ok(),
    };
    let is_ours = ip.is_some_and(|ip| ip == listens.ip() || listens.ip().is_unspecified());
    (is_ours && is_port(port, listens)).then_some(()).ok_or(WRONG)
}

fn is_port(port: &str, listens: SocketAddr) -> bool {
    port.parse() == Ok(listens.port())
}

/// Whether a request that says where it comes from comes from the page itself, or from the user.
fn is_own(origin: &[String], site: &[String], host: &[String]) -> Result<(), Refusal> {
    let is_page = |origin: &String| host.iter().any(|host| *origin == format!("http://{host}"));
    let is_near = |site: &String| site == "same-origin" || site == "none";
    match origin.iter().all(is_page) && site.iter().all(is_near) {
        true => Ok(()),
        false => Err((403, "this comes from elsewhere")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(list: &[&str]) -> Vec<String> {
        list.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn only_numbers_and_localhost_are_hosts() {
        let at: SocketAddr = "127.0.0.1:4000".parse().unwrap();
        for host in ["127.0.0.1:4000", "localhost:4000"] {
            assert_eq!(is_host(&texts(&[host]), at), Ok(()), "{host}");
        }
        for host in
            ["evil.example:4000", "127.0.0.1:4001", "127.0.0.2:4000", "127.0.0.1", "localhost.evil:4000", ""]
        {
            assert!(is_host(&texts(&[host]), at).is_err(), "{host}");
        }
        assert!(is_host(&[], at).is_err() && is_host(&texts(&["127.0.0.1:4000", "x:1"]), at).is_err());
        let anywhere: SocketAddr = "0.0.0.0:80".parse().unwrap();
        assert_eq!(is_host(&texts(&["192.0.2.7:80"]), anywhere), Ok(()));
        assert!(is_host(&texts(&["localhost:80"]), anywhere).is_err());
        let six: SocketAddr = "[::1]:80".parse().unwrap();
        assert_eq!(is_host(&texts(&["[::1]:80"]), six), Ok(()));
    }

    #[test]
    fn tokens_are_compared_whole() {
        assert!(is_same("abc", "abc"));
        assert!(!is_same("abc", "abd") && !is_same("abc", "ab") && !is_same("", "abc"));
        assert_ne!(random().unwrap(), random().unwrap());
        assert_eq!(random().unwrap().len(), 32);
    }
}
