//! Room `kit`: numbers sorted into groups.
//!
//! Two flat lists, however many groups there are: the members, group by group, and where each group begins. Members keep the
//! order in which they were given. Linear in members and groups.

/// Numbers in groups.
#[derive(Debug, Default)]
pub struct Groups {
    members: Vec<u32>,
    first: Vec<u32>,
}

impl Groups {
    /// Sorts members into `count` groups, each given with the number of its group.
    pub fn new(count: usize, pairs: impl Iterator<Item = (usize, u32)> + Clone) -> Self {
        let mut first = vec![0u32; count + 1];
        pairs.clone().for_each(|(group, _)| first[group + 1] += 1);
        (0..count).for_each(|group| first[group + 1] += first[group]);
        let mut next = first.clone();
        let mut members = vec![0; first[count] as usize];
        for (group, member) in pairs {
            members[next[group] as usize] = member;
            next[group] += 1;
        }
        Groups { members, first }
    }

    /// The members of a group.
    pub fn of(&self, group: usize) -> &[u32] {
        &self.members[self.range(group)]
    }

    /// Where a group stands among the members of all.
    pub fn range(&self, group: usize) -> std::ops::Range<usize> {
        self.first[group] as usize..self.first[group + 1] as usize
    }

    /// A member by where it stands.
    pub fn member(&self, at: usize) -> u32 {
        self.members[at]
    }

    /// Puts items into the order of the members, of which each is the number of an item. Needs no second list of items.
    pub fn arrange<T>(&self, items: &mut [T]) {
        let mut settled = vec![false; items.len()];
        for start in 0..items.len() {
            let mut at = start;
            // Each swap puts the right item in its place, and the one that was there further along.
            while !std::mem::replace(&mut settled[at], true) && self.members[at] as usize != start {
                items.swap(at, self.members[at] as usize);
                at = self.members[at] as usize;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Groups;

    #[test]
    fn groups_keep_the_order_of_their_members() {
        let pairs = [(2, 7), (0, 1), (2, 3), (0, 9)];
        let groups = Groups::new(4, pairs.into_iter());
        assert_eq!((groups.of(0), groups.of(1)), (&[1, 9][..], &[][..]));
        assert_eq!((groups.of(2), groups.of(3)), (&[7, 3][..], &[][..]));
        assert_eq!((groups.range(2), groups.member(3)), (2..4, 3));
    }

    #[test]
    fn items_are_arranged_as_their_numbers_are() {
        let group = |at: usize| at * at % 7;
        for count in [0, 1, 2, 9, 100] {
            let groups = Groups::new(7, (0..count).map(|at| (group(at), at as u32)));
            let mut items: Vec<usize> = (0..count).collect();
            groups.arrange(&mut items);
            let mut sorted: Vec<usize> = (0..count).collect();
            sorted.sort_by_key(|&at| group(at));
            assert_eq!(items, sorted);
        }
    }
}
