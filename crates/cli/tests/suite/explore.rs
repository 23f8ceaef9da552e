//! Stepping by hand: what a walk says is a run is one, what is reachable from the middle of a run is what walking on reaches, and the
//! server answers nobody but its page. What a browser makes of it is `cargo xtask browser`.

use crate::common::{command, say};
use postbop_engine::onward::onward;
use postbop_engine::{Budget, EngineChoice, Silent, Verdict, verify};
use postbop_ir::walk::{Chosen, Way};
use postbop_ir::{Action, Ask, LocId, Program, Query, Task, Value, Walk, replay};
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;
use xtask::fuzz::{Kind, PATIENCE};
use xtask::generate::Features;
use xtask::rng::Rng;

fn program(source: &str) -> Program {
    postbop_front::read(source.as_bytes(), Default::default()).program.expect("it is correct")
}

fn chosen(walk: &Walk, way: &Way, value: Value) -> Option<Chosen> {
    let fresh = match walk.program().edges()[way.edge].action {
        Action::Call { callee, .. } => walk.fresh(callee),
        _ => &[],
    };
    let locals = fresh
        .iter()
        .map(|&var| if walk.program().vars()[var].ty.contains(value) { value } else { Value::ZERO });
    let locals = locals.collect();
    Some(Chosen { thread: way.thread, edge: way.edge, choices: way.choices.clone()?, locals })
}

/// All locations that walking on reaches within so many steps, as far as so many steps suffice; locals start with 0 or 1.
fn walked(walk: &mut Walk, depth: usize, effort: &mut usize, found: &mut HashSet<LocId>) {
    let start = walk.len();
    // For each step that is under way, the ways that are left to be tried.
    let mut open = vec![walk.ways(4)];
    found.insert(walk.here());
    while let Some(ways) = open.last_mut() {
        let Some(way) = ways.pop() else {
            open.pop();
            if walk.len() > start {
                walk.undo();
            }
            continue;
        };
        let step = chosen(walk, &way, Value::new((*effort % 2) as i64));
        if *effort == 0 || step.is_none_or(|step| walk.take(step).is_err()) {
            continue;
        }
        *effort -= 1;
        found.insert(walk.here());
        let deeper = walk.len() - start < depth;
        open.push(if deeper { walk.ways(4) } else { Vec::new() });
    }
    assert_eq!(walk.len(), start);
}

/// Whether some location can be reached from where a walk is, by an engine; the answer is followed there.
fn asked(walk: &Walk, loc: LocId) -> Option<bool> {
    let from_here = onward(walk).expect("the stack is small");
    assert_eq!(postbop_ir::validate(&from_here.program), []);
    let query = Query::reach("there", vec![loc]);
    if from_here.is_there(&query) {
        return Some(true);
    }
    let queries = [from_here.query(&query)];
    let task = Task::new(&from_here.program, &queries);
    let budget = Budget::unlimited().with_time(Duration::from_millis(400));
    match &verify(&task, EngineChoice::Auto, &budget, &mut Silent).answers[0].verdict {
        Verdict::Holds { within, .. } => within.threads.is_none().then_some(false),
        Verdict::Unknown(why) => {
            assert!(!why.to_string().contains("bug"), "{why}");
            None
        }
        Verdict::Violated(trace) => {
            let (whole, _) = from_here.back(trace, &query.ask).expect("it is a run");
            assert_eq!(replay(walk.program(), &whole, &query.ask), Ok(()));
            let there = Walk::along(walk.program(), &whole, 100_000).expect("it can be walked");
            assert_eq!(there.here(), loc);
            assert!(there.len() >= walk.len(), "the run begins with the walk");
            Some(true)
        }
    }
}

/// Walks random programs for a while at random, and asks there about every location.
fn compare(kind: Kind, seeds: std::ops::Range<u64>) -> (usize, usize) {
    let (mut yes, mut no) = (0, 0);
    for seed in seeds {
        let program = program(&kind.program(seed));
        let mut rng = Rng::new(seed);
        let value = |rng: &mut Rng| Value::new(rng.below(2) as i64);
        let start =
            Walk::starting(&program).into_iter().filter(|&var| program.vars()[var].ty.contains(Value::TRUE));
        let start: Vec<_> = start.map(|var| (var, value(&mut rng))).collect();
        let mut walk = Walk::new(&program, &start).expect("these are values");
        for _ in 0..rng.below(25) {
            let ways = walk.ways(4);
            let Some(step) =
                (!ways.is_empty()).then(|| chosen(&walk, rng.pick(&ways), value(&mut rng))).flatten()
            else {
                break;
            };
            let before = (walk.globals().to_vec(), walk.here(), walk.threads());
            if walk.take(step.clone()).is_ok() {
                walk.undo();
                assert_eq!(before, (walk.globals().to_vec(), walk.here(), walk.threads()), "seed {seed}");
                walk.take(step).expect("it was possible before");
            }
        }
        assert_eq!(replay(&program, &walk.trace(), &Ask::Reach(vec![walk.here()])), Ok(()), "seed {seed}");
        let mut found = HashSet::new();
        walked(&mut walk, 14, &mut 4_000, &mut found);
        for loc in program.locs().ids().step_by(3) {
            match asked(&walk, loc) {
                Some(true) => yes += 1,
                Some(false) => {
                    assert!(!found.contains(&loc), "seed {seed}: {loc} is reached by walking");
                    no += 1;
                }
                None => {}
            }
        }
    }
    (yes, no)
}

#[test]
fn what_is_reachable_from_here_is_what_walking_on_reaches() {
    let features = Features::parse("all,-integers,-arrays").expect("features");
    for (what, kind, seeds) in
        [("one thread", Kind::Sequential(features), 0..60), ("threads", Kind::Threads(PATIENCE), 0..25)]
    {
        let (yes, no) = compare(kind, seeds);
        assert!(yes > 50 && no > 50, "{what}: {yes} {no}");
        say(&format!(
            "explore, {what}: {yes} locations are reachable from the middle of a run, {no} are not"
        ));
    }
}

/// The explorer of a program, and where it listens.
struct Explorer {
    child: Child,
    host: String,
    token: String,
}

impl Drop for Explorer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn explorer(args: &[&str]) -> Explorer {
    let all = [&["explore"], args].concat();
    let mut child =
        command(&all).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the binary runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("it says where it is");
    let rest = line.trim().strip_prefix("http://").expect("an address").trim_end_matches('/');
    let (host, token) = rest.split_once('/').expect("a token");
    assert!(host.starts_with("127.0.0.1:") && token.len() == 32, "{line}");
    Explorer { child, host: host.to_owned(), token: token.to_owned() }
}

impl Explorer {
    /// The status and the body that a request gets, sent as it stands.
    fn send(&self, first: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.host).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
        let mut request =
            format!("{first} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        headers.iter().for_each(|(name, value)| request.push_str(&format!("{name}: {value}\r\n")));
        stream.write_all(format!("{request}\r\n{body}").as_bytes()).expect("it reads");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, answer.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned()))
    }

    fn get(&self, path: &str, headers: &[(&str, &str)]) -> u16 {
        self.send(&format!("GET {path}"), &[&[("Host", &*self.host)], headers].concat(), "").0
    }

    fn act(&self, command: &str) -> serde_json::Value {
        let (host, kind) = (("Host", &*self.host), ("Content-Type", "application/json"));
        let (status, body) = self.send(&format!("POST /{}/run", self.token), &[host, kind], command);
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).expect("JSON")
    }
}

#[test]
fn the_explorer_answers_nobody_but_its_page() {
    let explorer = explorer(&["examples/locks.bp"]);
    let token = &explorer.token;
    let page = format!("/{token}/");
    let own = format!("http://{}", explorer.host);
    assert_eq!(explorer.get(&page, &[]), 200);
    assert_eq!(explorer.get(&page, &[("Origin", &own), ("Sec-Fetch-Site", "same-origin")]), 200);
    // Without the token, or with another, there is nothing.
    for path in ["/", "/run", "//run", "/0123456789abcdef0123456789abcdef/", &format!("/{}/", &token[1..])] {
        assert_eq!(explorer.get(path, &[]), 404, "{path}");
    }
    // From elsewhere.
    assert_eq!(explorer.get(&page, &[("Origin", "http://evil.example")]), 403);
    assert_eq!(explorer.get(&page, &[("Origin", "null")]), 403);
    assert_eq!(explorer.get(&page, &[("Sec-Fetch-Site", "cross-site")]), 403);
    assert_eq!(explorer.send(&format!("GET {page}"), &[("Host", "evil.example")], "").0, 403);
    assert_eq!(explorer.send(&format!("GET {page}"), &[], "").0, 403);
    // A path outside, however it is written, is no file.
    for path in [
        "../examples/locks.bp",
        "..%2f..%2fetc/passwd",
        "%2e%2e/",
        "/etc/passwd",
        "run/../../Cargo.toml",
        "index.html",
    ] {
        assert_eq!(explorer.get(&format!("/{token}/{path}"), &[]), 404, "{path}");
    }
    // A command of another form, or too long, does nothing.
    let host = ("Host", explorer.host.as_str());
    let post = format!("POST /{token}/run");
    let undo = r#"{"do":"undo","at":0}"#;
    assert_eq!(explorer.send(&post, &[host], undo).0, 415);
    assert_eq!(explorer.send(&post, &[host, ("Content-Type", "text/plain")], undo).0, 415);
    let json = ("Content-Type", "application/json");
    assert_eq!(explorer.send(&post, &[host, json, ("Origin", "http://evil.example")], undo).0, 403);
    assert_eq!(explorer.send(&post, &[host, json], "{").0, 400);
    assert_eq!(explorer.send(&post, &[host, json], &" ".repeat(70_000)).0, 413);
    assert_eq!(explorer.send(&format!("DELETE {page}"), &[host], "").0, 405);
    assert!(explorer.act(r#"{"do":"fly","at":0}"#)["told"]["problem"].is_string());
}

#[test]
fn the_explorer_steps_undoes_and_answers() {
    let explorer = explorer(&["examples/locks.bp"]);
    let start = explorer.act(r#"{"do":"undo","at":0}"#);
    assert_eq!((start["steps"].as_u64(), start["ways"].as_array().map(Vec::len)), (Some(0), Some(1)));
    // There is a request: after locked := 0, failed := 0, acquire with its three steps, and the condition of the loop, the procedure `request` is called, whose local
    // may start with anything. Inside, whether it fails is a choice.
    let begun = explorer.act(r#"{"do":"start","values":["0","0","1"],"at":0}"#);
    assert_eq!(begun["told"], serde_json::Value::Null, "{}", begun["start"]);
    let call = explorer.act(r#"{"do":"on","at":0}"#);
    assert_eq!((&call["steps"], &call["ways"][0]["locals"][0]["name"]), (&7.into(), &"failed".into()));
    let inside = explorer.act(r#"{"do":"step","way":0,"locals":["1"],"at":7}"#);
    assert_eq!((&inside["steps"], inside["ways"].as_array().map(Vec::len)), (&8.into(), Some(2)));
    let steps = inside["steps"].as_u64().expect("a number");
    let stale = explorer.act(r#"{"do":"undo","at":0}"#);
    assert_eq!(stale["steps"], steps, "a page that is behind changes nothing");
    let asked = explorer.act(&format!(r#"{{"do":"ask","target":"assert:9","at":{steps}}}"#));
    assert_eq!((&asked["told"]["verdict"], &asked["steps"]), (&"reachable".into(), &steps.into()));
    let there = explorer.act(&format!(r#"{{"do":"go","at":{steps}}}"#));
    assert_eq!(there["here"], "the assertion in line 9 fails");
    let length = there["steps"].as_u64().expect("a number");
    assert!(length > steps && there["ways"].as_array().is_some_and(Vec::is_empty));
    let cut = explorer.act(&format!(r#"{{"do":"cut","to":{steps},"at":{length}}}"#));
    assert_eq!((&cut["run"], &cut["ways"]), (&inside["run"], &inside["ways"]), "back where it was");
    let never = explorer.act(&format!(r#"{{"do":"run","target":"assert:15","at":{steps}}}"#));
    assert_eq!((&never["told"]["verdict"], &never["steps"]), (&"unreachable".into(), &steps.into()));
    // Values that are none of their type are refused.
    let refused = explorer.act(&format!(r#"{{"do":"start","values":["7","0","0"],"at":{steps}}}"#));
    assert_eq!((&refused["steps"], refused["told"]["problem"].is_string()), (&steps.into(), true));
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_explorer() {
    let mut explorer = explorer(&["examples/seats.bp"]);
    let id = explorer.child.id().to_string();
    let sent = std::process::Command::new("kill").args(["-INT", &id]).status().expect("kill is there");
    assert!(sent.success());
    let ended = explorer.child.wait().expect("it ends");
    assert_eq!(ended.code(), Some(0));
}
