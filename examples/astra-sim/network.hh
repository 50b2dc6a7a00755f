// A network of Shallows with the events of ASTRA-sim: one clock for both.

#ifndef SHALLOWS_ASTRA_NETWORK_HH
#define SHALLOWS_ASTRA_NETWORK_HH

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include <shallows.h>

#include "matching.hh"

namespace shallows_astra {

class Network {
  public:
    // Opens a request file; ends the program with a sentence if it cannot.
    explicit Network(const std::string& file) : network(shallows_open(file.c_str())) {
        check(network == 0 ? -1 : 0);
    }

    ~Network() {
        shallows_close(network);
    }

    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    // The clock in whole nanoseconds. ASTRA-sim keeps its own events under this number plus a whole delay, and looks them up under it when
    // they are due, so that it must be rounded down.
    uint64_t now_ns() const {
        return now_ps / 1000;
    }

    // Calls a handler after a delay.
    void schedule(uint64_t delay_ns, Handler handler) {
        events.insert({now_ns() + delay_ns, handler});
    }

    // Sends a message. Its handler is called when it has arrived, before those of the receives that it ends.
    void send(const Key& key, uint64_t bytes, Handler handler) {
        const auto [tag, source, destination] = key;
        if (source == destination || bytes == 0) {  // nothing enters the network
            schedule(0, handler);
            schedule_all(matching.arrive(key, bytes));
            return;
        }
        shallows_message message = {};
        message.src = static_cast<uint32_t>(source);
        message.dst = static_cast<uint32_t>(destination);
        message.bytes = bytes;
        message.start_ps = SHALLOWS_NOW;
        uint32_t number = 0;
        check(shallows_send(network, &message, 1, &number));
        messages.insert({number, {key, bytes, handler}});
    }

    // Asks for bytes. If they are there, the handler is called behind this call and not within it.
    void receive(const Key& key, uint64_t bytes, Handler handler) {
        schedule_all(matching.expect(key, bytes, handler));
    }

    // Executes what happens next; false if nothing is left to happen.
    bool step() {
        if (events.empty() && messages.empty()) {
            return false;
        }
        const uint64_t due_ps = events.empty() ? LONGEST_PS : std::min(events.begin()->first * 1000, LONGEST_PS);
        uint64_t clock_ps = 0;
        check(shallows_time(network, &clock_ps));
        if (due_ps > clock_ps) {
            const int32_t state = shallows_advance_to_completion(network, due_ps);
            check(state);
            if (report() > 0 || state == SHALLOWS_COMPLETION) {
                return true;
            }
            if (state == SHALLOWS_ENDED || events.empty()) {
                return false;
            }
        }
        execute_first();
        return true;
    }

    // Messages under way, and (tag, source, destination) with bytes or receives that are left.
    size_t left() const {
        return messages.size() + matching.left();
    }

  private:
    struct Message {
        Key key;
        uint64_t bytes;
        Handler sent;
    };

    // The longest simulated time of Shallows: a million seconds.
    static constexpr uint64_t LONGEST_PS = 1000000000000000000;

    static void check(int64_t outcome) {
        if (outcome < 0) {
            std::fprintf(stderr, "shallows: %s\n", shallows_last_error());
            std::exit(1);
        }
    }

    static void call(Handler handler) {
        if (handler.call != nullptr) {
            handler.call(handler.argument);
        }
    }

    void schedule_all(const std::vector<Handler>& handlers) {
        for (const Handler& handler : handlers) {
            schedule(0, handler);
        }
    }

    void execute_first() {
        const auto [due_ns, handler] = *events.begin();
        events.erase(events.begin());
        now_ps = std::max(now_ps, due_ns * 1000);
        call(handler);
    }

    // Calls the handlers of the messages that have arrived; returns the number of ends, those at senders included.
    size_t report() {
        shallows_completion ends[64];
        size_t count = 0;
        while (true) {
            const int64_t taken = shallows_completions(network, ends, 64);
            check(taken);
            if (taken == 0) {
                return count;
            }
            for (int64_t at = 0; at < taken; at++, count++) {
                end(ends[at]);
            }
        }
    }

    void end(const shallows_completion& one) {
        if (one.at_sender) {
            return;
        }
        now_ps = std::max(now_ps, one.time_ps);
        const auto found = messages.find(one.message);
        const Message message = found->second;
        messages.erase(found);
        call(message.sent);
        for (const Handler& handler : matching.arrive(message.key, message.bytes)) {
            call(handler);
        }
    }

    uint64_t network;
    uint64_t now_ps = 0;
    // By the nanosecond at which they are due, and in the order of the calls.
    std::multimap<uint64_t, Handler> events;
    std::map<uint32_t, Message> messages;
    Matching matching;
};

}  // namespace shallows_astra

#endif
