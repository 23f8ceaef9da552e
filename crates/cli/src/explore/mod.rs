//! Room `cli/explore`: `postbop explore`, where a person steps a program by hand.
//!
//! # Idea
//!
//! A [`session`] holds one run, made step by step, and answers commands with what there is to see: the run, packed as in
//! a report, and the steps that can be taken next. The page of reports shows it, and [`server`] is all that stands between
//! the two. The run is the server's, so a page that is loaded again shows the same one.

pub mod server;
pub mod session;

use crate::args::{Cost, Explore};
use crate::commands::check::budget;
use crate::{Output, Status, input};
use postbop_engine::Why;
use server::{Server, random};
use session::{Patience, Session};
use std::time::Duration;

/// How long an answer may take where the user does not say.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves the page until Ctrl-C.
pub fn run(args: &Explore, output: &mut Output) -> Status {
    let input = match input::read(&args.source, output) {
        Ok(input) => input,
        Err(status) => return status,
    };
    // The time is that of an answer, not of the session.
    let budget = budget(&Cost { timeout: None, ..args.cost.clone() });
    let bound =
        random().map_err(|error| error.to_string()).and_then(|token| Server::bind(args.listen, token));
    let server = match bound {
        Ok(server) => server,
        Err(problem) => {
            output.error(&format!("{}: {problem}", args.listen));
            return Status::BadInput;
        }
    };
    if !args.listen.ip().is_loopback() {
        output.err.push_str(
            "warning: other machines can reach this address; whoever knows the token can read and step the program\n",
        );
    }
    output.speak();
    output.out.push_str(&format!("{}\n", server.address()));
    output.out.flush_soon();
    if !output.quiet {
        output.err.push_str("Open this address in a browser; Ctrl-C ends it.\n");
        output.speak();
    }
    let patience = Patience { budget: &budget, time: args.cost.timeout.unwrap_or(PATIENCE) };
    let mut session = match Session::new(&input, patience) {
        Ok(session) => session,
        Err(problem) => {
            output.error(&format!("{}: {problem}", input.name()));
            return Status::BadInput;
        }
    };
    server.serve(&mut session, || matches!(budget.check(), Err(Why::Cancelled)));
    Status::Good
}
