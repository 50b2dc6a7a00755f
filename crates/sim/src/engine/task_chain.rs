//! The least time that tasks take together: their longest chain.

use std::ops::Range;

/// One task needs another.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// The task that waits.
    pub waiting: u32,
    /// The task that it waits for.
    pub needed: u32,
    /// The time from the start of the needed task until the other one has what it waits for.
    pub lag: f64,
}

/// The longest chain of tasks, from the first start to the last end, and the start of each task since the first one.
///
/// Times have the unit of the columns `lasts` and `delays`.
/// A task starts its delay after all that it needs, and ends when it has lasted. Only `members` and tasks that need nothing else count.
///
/// # Panics
/// If a task has no row in both columns.
#[must_use]
pub fn longest_chain(members: &[u32], needs: &[Need], lasts: &[f64], delays: &[f64]) -> (f64, Vec<f64>) {
    let needs_of = NeedsByTask::of(needs, lasts.len());
    let mut missing = vec![0_u32; lasts.len()];
    needs.iter().for_each(|need| missing[need.waiting as usize] += 1);
    let mut ready = vec![0.0_f64; lasts.len()];
    let mut starts = vec![0.0_f64; lasts.len()];
    let mut open: Vec<u32> = members.iter().copied().filter(|&task| missing[task as usize] == 0).collect();
    let begin = open.iter().map(|&task| delays[task as usize]).fold(f64::INFINITY, f64::min);
    let mut last_end = begin;
    while let Some(task) = open.pop() {
        let start = ready[task as usize] + delays[task as usize];
        starts[task as usize] = start - begin;
        last_end = last_end.max(start + lasts[task as usize]);
        for need in &needs_of.needs[needs_of.range(task)] {
            let waiting = need.waiting as usize;
            ready[waiting] = ready[waiting].max(start + need.lag);
            missing[waiting] -= 1;
            if missing[waiting] == 0 {
                open.push(need.waiting);
            }
        }
    }
    (last_end - begin, starts)
}

/// Needs by the task that is needed.
struct NeedsByTask {
    needs: Vec<Need>,
    first: Vec<usize>,
}

impl NeedsByTask {
    fn of(needs: &[Need], tasks: usize) -> Self {
        let mut needs = needs.to_vec();
        needs.sort_unstable_by_key(|need| need.needed);
        let first = (0..=tasks).map(|task| needs.partition_point(|need| (need.needed as usize) < task)).collect();
        Self { needs, first }
    }

    fn range(&self, task: u32) -> Range<usize> {
        self.first[task as usize]..self.first[task as usize + 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn need(waiting: u32, needed: u32, lag: f64) -> Need {
        Need { waiting, needed, lag }
    }

    /// Task 3 ends 2 + 5 after task 1, which starts at 1 + 4: 12, and the first start is 1.
    #[test]
    fn the_later_of_two_needs_counts() {
        let needs = [need(3, 1, 5.0), need(3, 2, 3.0), need(1, 0, 4.0), need(2, 0, 4.0)];
        let (chain, starts) = longest_chain(&[0, 1, 2, 3], &needs, &[4.0, 5.0, 3.0, 2.0], &[1.0, 0.0, 0.0, 0.0]);
        assert!((chain - 11.0).abs() < 1e-12, "{chain}");
        assert_eq!(starts, [0.0, 4.0, 4.0, 9.0]);
    }

    /// Task 1 starts .5 after task 0 has lasted 1 of 4, and is the last to end.
    #[test]
    fn a_task_may_need_a_part_of_another() {
        let (chain, _) = longest_chain(&[0, 1], &[need(1, 0, 1.0)], &[4.0, 10.0], &[2.0, 0.5]);
        assert!((chain - 11.5).abs() < 1e-12, "{chain}");
    }

    /// Task 2 needs one that is not a member, and task 3 is none.
    #[test]
    fn others_do_not_count() {
        let (chain, _) = longest_chain(&[0, 2], &[need(2, 1, 9.0)], &[4.0, 9.0, 9.0, 99.0], &[0.0; 4]);
        assert!((chain - 4.0).abs() < 1e-12, "{chain}");
    }
}
