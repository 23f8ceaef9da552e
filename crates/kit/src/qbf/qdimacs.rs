//! Room `kit`: formulas as other solvers read them.
//!
//! QDIMACS is a list of quantified variables and clauses. A node of the graph gets a variable of its own, which the clauses tie
//! to those below it \[tseitin\]; it exists for all values of X, so it stands with the variables of Y in the last block.

use super::Formula;
use crate::aig::{Lit, Node};
use rustc_hash::FxHashMap as HashMap;
use std::fmt::Write;

impl Formula {
    /// The formula in QDIMACS. The variables of X come first, then those of Y, each in their order.
    pub fn qdimacs(&self) -> String {
        let mut number: HashMap<usize, usize> = HashMap::default();
        for lit in self.forall.iter().chain(&self.exists) {
            number.insert(lit.node(), number.len() + 1);
        }
        let cone = self.aig.cone([self.phi]);
        let ands: Vec<usize> = cone.into_iter().filter(|&at| self.aig.node(at) != Node::Input).collect();
        ands.iter().for_each(|&at| {
            number.insert(at, number.len() + 1);
        });
        let name = |lit: Lit| {
            let own = number[&lit.node()].to_string();
            if lit.is_negated() { format!("-{own}") } else { own }
        };
        let mut clauses: Vec<String> = Vec::new();
        for &at in &ands {
            let Node::And(a, b) = self.aig.node(at) else { continue };
            let own = Lit::positive(at);
            clauses.push(format!("{} {} 0", name(!own), name(a)));
            clauses.push(format!("{} {} 0", name(!own), name(b)));
            clauses.push(format!("{} {} {} 0", name(own), name(!a), name(!b)));
        }
        match self.phi {
            Lit::TRUE => {}
            Lit::FALSE => clauses.push("0".to_owned()),
            phi => clauses.push(format!("{} 0", name(phi))),
        }
        let mut text = format!("p cnf {} {}\n", number.len(), clauses.len());
        for (quantifier, range) in
            [('a', 1..self.forall.len() + 1), ('e', self.forall.len() + 1..number.len() + 1)]
        {
            if !range.is_empty() {
                let vars: Vec<String> = range.map(|number| number.to_string()).collect();
                writeln!(text, "{quantifier} {} 0", vars.join(" ")).expect("a string takes everything");
            }
        }
        clauses.iter().for_each(|clause| writeln!(text, "{clause}").expect("a string takes everything"));
        text
    }
}
