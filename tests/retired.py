"""Identifiers that were retired in favour of standard terms, and their scopes.

A name is retired only in a scope, the files whose path matches a pattern.
"""

import ast
import re

# ruff: noqa: E501

SIM, CC, LIVE, PYTHON = "crates/sim/src/", "crates/cc/src/", "crates/live/src/", "python/shallows/"

RETIRED = [
    # engine
    (SIM, "crowd Crowded LOOK_STEPS LOOK_EVERY TooMany", "packet_limit, TooManyPackets, CHECK_INTERVAL"),
    (SIM, "moment Moment", "snapshot, Snapshot"),
    (SIM, "ahead look_ahead coming", "prefetch, prefetch_next, peek_nth, prefetch_depth"),
    (SIM + ".*(event|queue|heap|ahead|prefetch|timers)", "reach", "prefetch_depth"),
    (SIM, "pages cores part_from", "huge_pages, affinity, migrate_from"),
    (SIM, "watchman Watchman Standing", "stall_detector, FlowProgress"),
    (SIM, "standstill disagreements last_word", "deadlock, pause_mismatches, last_pause_frame"),
    (SIM + ".*(standstill|deadlock)", "circle", "cycle"),
    (SIM, "books Ledger", "audit"),
    (SIM, "run_dry happened passed_over Due", "no_more_events, processed, stale_wakes, Task"),
    # parallel
    (SIM, "crew try_both", "worker pool, calibrate"),
    (SIM + ".*(crew|pool|parallel)", "turn", "step"),
    (SIM, "Domains Share", "ParallelNetwork, Ownership"),
    (SIM, "Leads Border Parcel", "LinkTarget, Outbox, Batch"),
    (SIM, "hand_over take_in adopt", "flush, receive, import"),
    (SIM, "came gone divided echoes", "inserted, removed, split switch, remote_stops"),
    (SIM, "exchange Boxes SIDES", "mailboxes, BUFFERS"),
    (SIM + "(?!partition|parallel/partition)", "Plan", "RunLimits"),
    (SIM, "meeting Meeting await_all leave_for_good Attendance", "barrier, wait, poison, BarrierGuard"),
    (SIM + ".*(meeting|barrier)", "come", "arrive"),
    (SIM, "Patience", "SpinBudget"),
    (SIM + ".*(meeting|barrier)", "looks", "spins"),
    (SIM + "(?!answer)", "Report Posted announce", "DomainStatus, AtomicStatus, publish"),
    (SIM, "Apart exact_from ask_from", "CachePadded, earliest_finish, next_finish_check"),
    (SIM + ".*(domain|parallel|engine)", "closed", "horizon"),
    (SIM, "run_in_one_order run_instant run_on", "run_sequential, run_ties, run_until"),
    # queue
    (SIM + ".*(event_queue|heap|calendar|tournament)", "take close vacant settle", "pop, finish, hole, replace_top"),
    (SIM, "tournament Few Many Windows sort_next", "Tree, Buckets, CalendarQueue, open_bucket"),
    (SIM + ".*(event_queue|heap|calendar)", "note part rank shuffle known", "insert, spill, tie_rank, tie_break, presorted"),
    (SIM, "Quaternary Four", "Heap4, Node"),
    (SIM + "(?!spec/)", "Supply Reply", "AppWrite, AckTimer"),
    # fabric and port
    (SIM, "begins lay_round twins ways_back", "offsets, reroute, reverse_links"),
    (SIM + ".*route", "way whole round", "path, original, detours"),
    (SIM, "Back turn_back TOWARDS Choices", "ReturnHop, return_to_sender, BY_DESTINATION, EcmpTable"),
    (SIM, "Passed Released", "Forwarded, Resumed"),
    (SIM, "await_next", "schedule_next"),
    (SIM + "(?:.*/)?(fabric|port|link)", "expect", "schedule_arrival"),
    (SIM, "meet_special lose holder tell_neighbour", "check_wire, drop_on_wire, largest_queue, send_pause_frame"),
    (SIM, "lets_pass Built Special", "admits, PortConfig, PortExtras"),
    (SIM + "(?:.*/)?port", "telling sharing leading over", "with_*"),
    (SIM, "alone count_alone", "idle_frames, count_idle"),
    (SIM + "(?:.*/)?port", "settle", "flush_counts"),
    (SIM + "(?:.*/)?(port|fabric)", "join offer enter pass offer_shown pass_shown pass_otherwise", "enqueue, send_if_idle"),
    (SIM, "offer_scheduled join_class", "enqueue"),
    (SIM + "(?:.*/)?(port|fabric)", "meet marks_late room", "observe_arrival, marks_at_dequeue, scheduler"),
    (SIM + "(?:.*/)?port", "is_open goes_at planned look", "eligible, eligible_at, cached_next, reschedule"),
    (SIM, "unseen silent_below passes_over draw_for", "below_threshold, skip_draws"),
    (SIM + "(?:.*/)?port", "Turn", "WeightedTurn"),
    (SIM, "Lane Joining", "ClassOverride, Incoming"),
    (SIM, "Sent", "Departure, SenderStats"),
    (SIM, "flat rests_until", "stalled, idle_until"),
    (SIM + "(?:.*/)?port", "pays refuse cut newly_cut", "try_consume, drop, trim, trimmed_now"),
    (SIM + ".*fault", "Wire", "LossModel"),
    (SIM, "mix", "hash"),
    # host and transport
    (SIM, "Halves Rows halves rows", "FlowTable, OwnedTable"),
    (SIM, "opening Opening Expecting", "setup, SenderConfig, ReceiverConfig"),
    (SIM, "Ends Outlet Outlook Turn Lack", "FlowEndpoint, PacketSink, SendStatus, Readiness, BlockedBy"),
    (SIM, "Replies Reaction Asking Answering", "Responses, ReceiverEvent, InbandRequest, InbandEcho"),
    (SIM + ".*transport", "note bring", "record, attach"),
    (SIM, "Alarm alarm SILENT", "LazyTimer, DISARMED"),
    (SIM, "peer_limited owes late_answer", "rwnd_limited, ack_pending, reply_after_close"),
    (SIM + ".*transport", "space written", "advance_pacing, available"),
    (SIM + ".*(transport|host|node)", "call called uncalled", "pull, pulled, unsolicited"),
    (SIM, "trail traced spoken_of", "int_stack, has_int, ack_number"),
    (SIM + ".*(header|packet)", "stamp", "sent_at"),
    (SIM, "Pulls pulls Turns", "PullPacer"),
    (SIM, "let_go_on go_without Followers followers", "resume, block, dependents"),
    (SIM + ".*(host|node|flow)", "follow serve", "apply, transmit"),
    (SIM, "Received Smoothed Measure APART", "ReceiverStats, RttStats, TimestampModel, CLOCK_OFFSET"),
    # cc and observers
    (CC, "Leave Tells Substitute Answered Draws Written", "SendControl, Feedback, AlternateReceiver, CreditEcho, Rng, UserAlgorithm"),
    (SIM, "Why Here Now", "CauseKind, InTransit, Trigger"),
    # Python
    (PYTHON, "crossing doubts", "to_core, warnings"),
    (PYTHON, "honours DEAF Departure", "supported_keys, UNUSED, SetKey"),
    (PYTHON, "plain Part shown parts", "literal, Builder, to_source, builders"),
    (PYTHON, "written Written", "user_algorithms"),
    (PYTHON + "(user_algorithms|written)", "place is_place place_or_name", "location"),
    (PYTHON, "complaints given Given", "validation, raw, ModelInputs"),
    (PYTHON, "wiring Told told say said", "network, CoreAnswer, spec, record, text"),
    (PYTHON + "sweeps/", "where work warm", "executors, cost, preload"),
    (PYTHON + "(results|sweeps)/", "places", "paths"),
    (PYTHON + "why/", "without Without again cuts chosen stops at", "counterfactual, rerun, window_cuts, selection, stoppages, snapshot"),
    (PYTHON, "reach", "sensitivity"),
    (PYTHON, "Few Several _came _left _because", "SmallCount, TwoOrMore, arrival, departure, cause"),
    # the kernel world
    (LIVE, "agenda in_force", "event_queue, active"),
    (LIVE, "held Held", "lockdir"),
]  # fmt: skip
"""(pattern of paths, names, the terms that replace them)."""

DEFINITION = re.compile(r"\b(?:fn|struct|enum|mod|trait|type|const|static|union)\s+(?:mut\s+)?(\w+)")
BODY = re.compile(r"\b(?:struct|enum|union)\s+\w+[^;{(]*\{")
MEMBER = re.compile(r"\s*(?:pub(?:\([^)]*\))?\s+)?(\w+)")


def defined(path, text):
    """The names that a Rust or Python file defines: its module, types, functions, fields and keys."""
    module = path.parent.name if path.stem in ("mod", "__init__") else path.stem
    return {module} | (_rust(text) if path.suffix == ".rs" else _python(text))


def found(root, files):
    """{(scope, name): the files that define it} of the retired names."""
    every = [(path.relative_to(root).as_posix(), defined(path, path.read_text())) for path in files]
    there = {}
    for scope, names, _ in RETIRED:
        for name in names.split():
            where = [file for file, its in every if re.match(scope, file) and name in its]
            if where:
                there[scope, name] = where
    return there


def _rust(text):
    text = re.sub(r"//[^\n]*|#\[[^\]]*\]", "", text)
    names = set(DEFINITION.findall(text))
    for start in BODY.finditer(text):
        for member in _members(text[start.end() :]):
            found = MEMBER.match(member)
            if found:
                names.add(found[1])
    return names


def _members(body):
    """The fields or variants of a body, up to the brace that ends it."""
    depth, member = 0, ""
    for letter in body:
        if letter in ")]>" and not member.endswith("-"):
            depth -= 1
        elif letter == "}":
            depth -= 1
            if depth < 0:
                break
        if letter == "," and depth == 0:
            yield member
            member = ""
        else:
            member += letter
        depth += letter in "{([<"
    yield member


def _python(text):
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef | ast.Module):
            for inner in node.body:
                targets = inner.targets if isinstance(inner, ast.Assign) else [getattr(inner, "target", None)]
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names
