//! A run that a Python program drives (`shallows_sim::engine::driven`). `shallows.driven` has the interface for users, and checks what it is
//! given; errors here are those of the core.
//!
//! A call takes the run out of its place, works on it without the interpreter, and puts it back, so that no lock is held meanwhile. A call
//! of another thread finds the place empty.

use std::collections::BTreeMap;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_contract::IntoValue;
use shallows_contract::answer::Answer;
use shallows_sim::{Advance, Change, FlowSpec, Marking, Progress, SenderSetting, Simulation};

use crate::measures::{MEASURES, Measures};
use crate::raised::{Ending, Leaf, Raised, among_calls};
use crate::retired::RetiredReports;
use crate::table::Table;
use crate::{answer, awaited, guarded, request, set_up};

/// Events after which a run looks for Ctrl-C: some milliseconds. Algorithms in Python may take a millisecond for each.
const SLICE: u64 = 50_000;
const SLICE_IN_PYTHON: u64 = 500;

/// A message: source, target, bytes, start in ps, class and algorithm by their numbers in the request.
type Message = (u32, u32, u64, u64, u32, u32);

/// An open run.
#[pyclass(frozen, module = "shallows._core")]
#[derive(Debug)]
pub struct OpenRun {
    /// `None` while a call works on it, and after its end.
    run: Leaf<Option<Box<Simulation>>>,
    /// Reports of messages that have ended, which the run no longer has.
    retired: Leaf<RetiredReports>,
    /// Exceptions of its algorithms.
    raised: Raised,
    /// True if it has algorithms in Python.
    in_python: bool,
    queue_ports: Vec<u32>,
    mtu: Bytes,
    /// Payload of a full packet.
    payload: Bytes,
}

#[pymethods]
impl OpenRun {
    /// The run of a request at time zero, which messages may join, on up to this number of threads. Algorithms in Python run on one.
    #[new]
    #[pyo3(signature = (request, threads=1))]
    fn new(py: Python<'_>, request: &Bound<'_, PyDict>, threads: usize) -> PyResult<Self> {
        let raised = Raised::default();
        let network = request::network(request, &raised)?;
        let in_python = network.controls.iter().any(|control| control.user_algorithm.is_some());
        let (queue_ports, mtu, payload) = (network.record.ports.clone(), network.mtu, network.mss());
        let threads = if in_python { 1 } else { threads };
        let open = move || {
            let mut run = Simulation::open(network, threads)?;
            run.set_threads(threads);
            Ok(run)
        };
        let run: Result<Simulation, String> = set_up(py, open)?;
        let run = Leaf::new(Some(Box::new(run.map_err(PyValueError::new_err)?)));
        Ok(Self { run, retired: Leaf::default(), raised, in_python, queue_ports, mtu, payload })
    }

    /// The time in ps before which everything has happened, whether the run has ended, and the number of messages with an end that have not
    /// completed.
    fn state(&self, py: Python<'_>) -> PyResult<(u64, bool, usize)> {
        self.work(py, |run| (run.clock().0, run.is_over(), run.unfinished()))
    }

    /// Adds messages; returns the number of the first one.
    fn send(&self, py: Python<'_>, messages: Vec<Message>) -> PyResult<u32> {
        let flows = messages.into_iter().map(|(src, dst, bytes, start, class, control)| FlowSpec {
            class,
            control,
            ..FlowSpec::new(src, dst, Bytes(bytes), Time(start))
        });
        let flows = flows.collect();
        self.work(py, |run| run.send_all(flows))?.map(|numbers| numbers.start).map_err(PyValueError::new_err)
    }

    /// Adds the algorithms and markings that a request of this network has besides the known ones.
    fn extend(&self, py: Python<'_>, request: &Bound<'_, PyDict>) -> PyResult<()> {
        let mut network = request::network(request, &self.raised)?;
        let extend = move |run: &mut Simulation| {
            let (controls, markings) = run.known();
            let controls = network.controls.split_off(controls.min(network.controls.len()));
            run.extend(controls, network.markings.split_off(markings.min(network.markings.len())))
        };
        self.work(py, extend)?.map_err(PyValueError::new_err)
    }

    /// Changes links at the clock, as faults of a request at this time do.
    fn change(&self, py: Python<'_>, links: Vec<u32>, change: &Bound<'_, PyAny>) -> PyResult<()> {
        let change: Change = request::read(change)?;
        self.work(py, move |run| run.change_links(&links, change))?.map_err(PyValueError::new_err)
    }

    /// Changes the marking of links at the clock.
    fn mark(&self, py: Python<'_>, links: Vec<u32>, marking: &Bound<'_, PyAny>) -> PyResult<()> {
        let marking: Marking = request::read(marking)?;
        self.work(py, move |run| run.change_marking(&links, marking))?.map_err(PyValueError::new_err)
    }

    /// Gives flows of an algorithm that have not started other values of some parameters; returns its new number.
    fn retune(&self, py: Python<'_>, algorithm: u32, values: BTreeMap<String, f64>) -> PyResult<u32> {
        self.work(py, move |run| run.change_parameters(algorithm, &values))?.map_err(PyValueError::new_err)
    }

    /// Sets windows in bytes and rates in bit/s, 0 for none, of flows that a program drives, and returns them with the clock in front.
    fn set_senders(&self, py: Python<'_>, settings: Vec<(u32, u64, u64)>) -> PyResult<Vec<(u64, u32, u64, u64)>> {
        let setting =
            |(flow, window, rate)| SenderSetting { flow, at: Time::ZERO, window: Bytes(window), rate: Rate(rate) };
        let all = settings.iter().copied().map(setting).collect();
        let clock = self.work(py, move |run| run.set_senders(all).map(|()| run.clock().0))?;
        let clock = clock.map_err(PyValueError::new_err)?;
        Ok(settings.into_iter().map(|(flow, window, rate)| (clock, flow, window, rate)).collect())
    }

    /// Executes everything before a time in ps, and measures what groups of flows have done since the last call: a row each with the columns
    /// of [`Measures`], their values over all groups, whether the run has ended, and how many flows with an end have not completed. `group`
    /// has that of each flow; others do not count.
    #[expect(clippy::type_complexity, reason = "Python takes the tuple apart")]
    fn step<'py>(
        &self,
        py: Python<'py>,
        to_ps: u64,
        group: &Bound<'py, PyArray1<u32>>,
        groups: usize,
    ) -> PyResult<(Bound<'py, PyArray2<f32>>, [f64; MEASURES], bool, usize)> {
        let from = self.work(py, |run| run.clock())?;
        self.advance(py, to_ps, false)?;
        let (group, payload) = (group.to_vec()?, self.payload);
        let look = move |run: &mut Simulation| {
            let measures = Measures::of(&run.observe_flows(), &group, groups);
            (measures.in_units(run.clock() - from, payload), run.is_over(), run.unfinished())
        };
        let ((rows, all), ended, unfinished) = self.work(py, look)?;
        Ok((rows.into_pyarray(py).reshape([groups, MEASURES])?, all, ended, unfinished))
    }

    /// Executes everything before a time in ps, or until a message has completed if `stops`; returns whether one has. After Ctrl-C the clock
    /// is behind the last event.
    fn advance(&self, py: Python<'_>, to_ps: u64, stops: bool) -> PyResult<bool> {
        let slice = if self.in_python { SLICE_IN_PYTHON } else { SLICE };
        loop {
            let advance = self.call(py, move |run| run.advance_some(Time(to_ps), stops, slice))?;
            match advance.map_err(PyValueError::new_err)? {
                Advance::Paused => py.check_signals()?,
                advance => return Ok(advance == Advance::Completion),
            }
        }
    }

    /// The completions since the last call in the order of time: time in ps, number of the message, and whether its sender knows it, or else
    /// its receiver. Reports of messages that have ended go to a file, about a thousand at once.
    fn completions(&self, py: Python<'_>) -> PyResult<Vec<(u64, u32, bool)>> {
        let look = |run: &mut Simulation| {
            let written = self.retired.with(|all| all.add(run.retire()));
            run.release_retired();
            (run.completions(), written)
        };
        let (all, written) = self.work(py, look)?;
        written?;
        Ok(all.into_iter().map(|one| (one.at.0, one.flow, one.at_sender)).collect())
    }

    /// The state of some links at the clock.
    fn links<'py>(&self, py: Python<'py>, links: Vec<u32>) -> PyResult<Bound<'py, PyDict>> {
        let rows = self.work(py, move |run| run.observe_links(&links))?.map_err(PyValueError::new_err)?;
        let table = Table::new(py, &rows);
        table.column("queue_bytes", &|row| row.queue.0)?;
        table.column("delivered", &|row| row.delivered)?;
        table.column("lost", &|row| row.lost)?;
        table.column("dropped", &|row| row.dropped)?;
        Ok(table.columns)
    }

    /// All flows so far, in the order of their numbers.
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let look = |run: &mut Simulation| {
            let mut rows = self.retired.with(|all| all.read())?;
            rows.extend(run.reports());
            std::io::Result::Ok(rows)
        };
        let rows = self.work(py, look)??;
        let table = Table::new(py, &rows);
        table.column("start_ps", &|row| row.start.0)?;
        table.column("finish_ps", &|row| row.finish.0)?;
        table.column("delivered_bytes", &|row| row.delivered)?;
        table.column("retransmits", &|row| row.retransmits)?;
        table.column("timeouts", &|row| row.timeouts)?;
        Ok(table.columns)
    }

    /// What flows have done since the last call.
    fn observe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = self.work(py, Simulation::observe_flows)?;
        let table = Table::new(py, &rows);
        table.column("flow", &|row| row.flow)?;
        table.column("delivered_bytes", &|row| row.delivered)?;
        table.column("sent_packets", &|row| row.sent)?;
        table.column("acked_bytes", &|row| row.acked)?;
        table.column("marked_bytes", &|row| row.marked)?;
        table.column("acks", &|row| row.acks)?;
        table.column("srtt_ps", &|row| row.srtt.0)?;
        table.column("retransmits", &|row| row.retransmits)?;
        table.column("timeouts", &|row| row.timeouts)?;
        table.column("finished", &|row| row.finished)?;
        Ok(table.columns)
    }

    /// A copy, which goes on by itself.
    fn fork(&self, py: Python<'_>) -> PyResult<Self> {
        let copy = self.work(py, |run| Box::new(run.clone()))?;
        let &Self { in_python, mtu, payload, .. } = self;
        let (raised, queue_ports) = (Raised::default(), self.queue_ports.clone());
        let retired = Leaf::new(self.retired.with(|all| all.clone()));
        Ok(Self { run: Leaf::new(Some(copy)), retired, raised, in_python, queue_ports, mtu, payload })
    }

    /// Lets no further message join. With `at_clock` the run ends at the clock, or else as its request says.
    fn close(&self, py: Python<'_>, at_clock: bool) -> PyResult<()> {
        let close = move |run: &mut Simulation| {
            if at_clock {
                return run.close_at_clock();
            }
            run.close();
            Ok(())
        };
        self.work(py, close)?.map_err(PyValueError::new_err)
    }

    /// Runs a closed run to its end and returns its answer. After Ctrl-C it can go on.
    #[pyo3(signature = (on_progress=None))]
    fn finish<'py>(&self, py: Python<'py>, on_progress: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let slice = if self.in_python { SLICE_IN_PYTHON } else { SLICE };
        loop {
            let step = move |run: &mut Simulation| {
                let progress = run.advance(slice);
                (progress, (run.now().0, run.packet_hops(), run.finished()))
            };
            let (progress, reached) = self.call(py, step)?;
            if progress == Progress::Done {
                break;
            }
            py.check_signals()?;
            on_progress.as_ref().map_or(Ok(()), |hears| hears.call1(reached).map(drop))?;
        }
        let retired = self.retired.with(|all| all.read())?;
        let mut run = self.take()?;
        run.restore_retired(&retired);
        let mut outcome = guarded(py, || run.finish())?;
        outcome.flows.splice(0..0, retired);
        answer::to_python(py, Answer::of(outcome, &self.queue_ports, self.mtu, false).into_value())
    }
}

impl OpenRun {
    fn take(&self) -> PyResult<Box<Simulation>> {
        let missing = || PyRuntimeError::new_err("the network is in use by another call, or has ended");
        self.run.with(Option::take).ok_or_else(missing)
    }

    fn put_back(&self, run: Box<Simulation>) {
        self.run.with(move |place| *place = Some(run));
    }

    /// Works on the run where no algorithm is called.
    fn work<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Simulation) -> T + Send) -> PyResult<T> {
        let mut run = self.take()?;
        let (result, run) = guarded(py, move || (work(&mut run), run))?;
        self.put_back(run);
        Ok(result)
    }

    /// Works on the run where algorithms may be called: those in Python on another thread, so that Ctrl-C does not interrupt one of them
    /// unless it does not return ([`Ending`]). An exception of theirs ends the run.
    fn call<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Simulation) -> T + Send + 'static,
    ) -> PyResult<T> {
        if !self.in_python {
            return self.work(py, work);
        }
        let mut run = self.take()?;
        let mut ending: Option<Ending> = None;
        let hears = || match &ending {
            Some(ending) => ending.press(py, &self.raised, || ()),
            None => {
                ending = py.check_signals().err().map(Ending::begin);
                Ok(())
            }
        };
        let (result, run) = awaited(py, move || among_calls(|| (work(&mut run), run)), hears)?;
        if let Some(error) = self.raised.take() {
            return Err(error);
        }
        if self.raised.is_closed() {
            return Err(PyKeyboardInterrupt::new_err("while an algorithm in Python computed: the run is lost"));
        }
        self.put_back(run);
        ending.map_or(Ok(result), |ending| Err(ending.why))
    }
}
