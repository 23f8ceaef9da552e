//! Room `engine/encode`: results that are remembered, so that none is computed twice.

use postbop_kit::rows::Rows;

/// Results by their key: some words that say all that the result depends on.
pub struct Memo<T> {
    /// The key that was asked for last.
    key: Vec<u64>,
    keys: Rows,
    /// For each key its result; none if it could not be computed.
    results: Vec<Option<T>>,
}

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Memo { key: Vec::new(), keys: Rows::default(), results: Vec::new() }
    }
}

impl<T: Clone> Memo<T> {
    /// The result for a key, computed if it is not known. An error is not remembered.
    pub fn get<E>(
        &mut self,
        key: impl Iterator<Item = u64>,
        compute: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        self.key.clear();
        self.key.extend(key);
        // If the table is full, nothing more is remembered.
        let Ok((id, new)) = self.keys.intern(&self.key) else { return compute() };
        if new {
            self.results.push(None);
        }
        if let Some(result) = &self.results[id as usize] {
            return Ok(result.clone());
        }
        let result = compute()?;
        self.results[id as usize] = Some(result.clone());
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_computed_once_and_an_error_is_not_remembered() {
        let mut memo = Memo::default();
        let key = || [1, 2].into_iter();
        assert_eq!(memo.get(key(), || Err("no")), Err("no"));
        assert_eq!(memo.get(key(), || Ok::<_, &str>(7)), Ok(7));
        assert_eq!(memo.get(key(), || Err("no")), Ok(7));
        assert_eq!(memo.get([1].into_iter(), || Err("no")), Err("no"));
    }
}
