// Ranks that speak to the backend as ASTRA-sim does, for tests without ASTRA-sim.
//
//     stub FILE ring RANKS ROUNDS BYTES STRIDE    each rank sends BYTES to that STRIDE behind it, ROUNDS times; each round but the first waits
//                                                 for the message of the round before. Prints the time in ns.
//     stub FILE all-to-all RANKS BYTES            each rank sends BYTES to all others at once. Prints the time in ns.
//     stub FILE calls                             what the interface promises; prints what is not kept.
//     stub FILE stuck                             a receive without a message: nothing is left to happen.
//     stub FILE matching CALLS                    random calls against a model of the rules; prints what differs.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "api.hh"

using namespace shallows_astra;

namespace {

struct World {
    World(const std::string& file, int ranks) : network(file) {
        for (int rank = 0; rank < ranks; rank++) {
            apis.push_back(std::make_unique<Api>(rank, network, finished, 50));
        }
    }

    int run() {
        return run_to_end(network, finished, static_cast<int>(apis.size()));
    }

    Network network;
    int finished = 0;
    std::vector<std::unique_ptr<Api>> apis;
};

// A rank of a ring.
struct Member {
    World* world;
    int rank, rounds, stride;
    uint64_t bytes;
    int round = 0;

    Api& api() {
        return *world->apis[rank];
    }

    int other(int step) const {
        const int ranks = static_cast<int>(world->apis.size());
        return ((rank + step) % ranks + ranks) % ranks;
    }

    void start() {
        // The handler of a send has no argument, as in collectives of ASTRA-sim.
        api().sim_send(nullptr, bytes, 0, other(stride), round, nullptr, [](void*) {}, nullptr);
        api().sim_recv(nullptr, bytes, 0, other(-stride), round, nullptr, arrived, this);
    }

    static void arrived(void* argument) {
        Member& member = *static_cast<Member*>(argument);
        if (++member.round == member.rounds) {
            member.api().sim_notify_finished();
        } else {
            member.start();
        }
    }
};

int print_time(World& world) {
    const int status = world.run();
    std::printf("%llu\n", static_cast<unsigned long long>(world.network.now_ns()));
    return status;
}

int ring(const std::string& file, int ranks, int rounds, uint64_t bytes, int stride) {
    World world(file, ranks);
    std::vector<Member> members;
    for (int rank = 0; rank < ranks; rank++) {
        members.push_back({&world, rank, rounds, stride, bytes});
    }
    for (Member& member : members) {
        member.start();
    }
    return print_time(world);
}

struct Counter {
    Api* api;
    int left;

    static void arrived(void* argument) {
        Counter& counter = *static_cast<Counter*>(argument);
        if (--counter.left == 0) {
            counter.api->sim_notify_finished();
        }
    }
};

int all_to_all(const std::string& file, int ranks, uint64_t bytes) {
    World world(file, ranks);
    std::vector<Counter> counters;
    for (int rank = 0; rank < ranks; rank++) {
        counters.push_back({world.apis[rank].get(), ranks - 1});
    }
    for (int step = 1; step < ranks; step++) {
        for (int rank = 0; rank < ranks; rank++) {
            const int to = (rank + step) % ranks, from = (rank - step + ranks) % ranks;
            world.apis[rank]->sim_send(nullptr, bytes, 0, to, 0, nullptr, [](void*) {}, nullptr);
            world.apis[rank]->sim_recv(nullptr, bytes, 0, from, 0, nullptr, Counter::arrived, &counters[rank]);
        }
    }
    return print_time(world);
}

std::vector<int> called;

void note(void* argument) {
    called.push_back(static_cast<int>(reinterpret_cast<intptr_t>(argument)));
}

void* number(int value) {
    return reinterpret_cast<void*>(static_cast<intptr_t>(value));
}

void expect(bool holds, const char* what) {
    if (!holds) {
        std::printf("%s\n", what);
    }
}

void drain(World& world) {
    while (world.network.step()) {
    }
}

int calls(const std::string& file) {
    World world(file, 4);
    Api &one = *world.apis[0], &two = *world.apis[1];
    auto now = [&] { return static_cast<uint64_t>(one.sim_get_time().time_val); };

    // Two receives take the bytes of one message in their order; a send handler is called with a null argument.
    two.sim_recv(nullptr, 1000, 0, 0, 7, nullptr, note, number(1));
    two.sim_recv(nullptr, 3096, 0, 0, 7, nullptr, note, number(2));
    one.sim_send(nullptr, 4096, 0, 1, 7, nullptr, note, nullptr);
    expect(called.empty(), "a handler was called within a call");
    drain(world);
    expect(called == std::vector<int>({0, 1, 2}), "a send, then the two receives of its message");
    called.clear();

    // Data that is there before its receive is reported behind that call.
    one.sim_send(nullptr, 100, 0, 1, 7, nullptr, note, number(3));
    drain(world);
    two.sim_recv(nullptr, 100, 0, 0, 7, nullptr, note, number(4));
    expect(called == std::vector<int>({3}), "data before its receive");
    const uint64_t before = now();
    drain(world);
    expect(called == std::vector<int>({3, 4}) && now() == before, "a late receive takes no time");
    called.clear();

    // A rank to itself, and no bytes, take no network and no time.
    one.sim_send(nullptr, 5000, 0, 0, 1, nullptr, note, number(5));
    one.sim_recv(nullptr, 5000, 0, 0, 1, nullptr, note, number(6));
    one.sim_send(nullptr, 0, 0, 1, 2, nullptr, note, number(7));
    two.sim_recv(nullptr, 0, 0, 0, 2, nullptr, note, number(8));
    expect(called.empty(), "a handler was called within a call");
    drain(world);
    expect(called == std::vector<int>({5, 6, 7, 8}) && now() == before, "nothing enters the network");
    called.clear();

    // Delays are whole and counted from the clock, which is rounded down: both events are due in one ns.
    one.sim_schedule({AstraSim::NS, 10}, note, number(9));
    one.sim_schedule({AstraSim::NS, 0}, note, number(10));
    world.network.step();
    expect(called == std::vector<int>({10}) && now() == before, "an event without a delay");
    drain(world);
    expect(called == std::vector<int>({10, 9}) && now() == before + 10, "an event 10 ns later");
    expect(world.network.left() == 0, "something is left");
    return 0;
}

int stuck(const std::string& file) {
    World world(file, 2);
    world.apis[0]->sim_recv(nullptr, 1, 0, 1, 0, nullptr, note, nullptr);
    return world.run();
}

// The rules by prefix sums: the i-th receive is over when as many bytes have arrived as it and all before it ask for.
struct Sums {
    std::vector<unsigned __int128> asked = {0};
    std::vector<int> numbers;
    unsigned __int128 arrived = 0;
    size_t over = 0;

    void advance(std::vector<int>& expected) {
        while (over < numbers.size() && asked[over + 1] <= arrived) {
            expected.push_back(numbers[over++]);
        }
    }
};

int matching(int count) {
    std::mt19937_64 random(1);
    Matching rules;
    std::map<Key, Sums> model;
    std::vector<int> expected;
    for (int at = 0; at < count; at++) {
        const Key key = {static_cast<int>(random() % 2), static_cast<int>(random() % 2), static_cast<int>(random() % 3)};
        const uint64_t bytes = random() % 10 == 0 ? 0 : random() % (uint64_t(1) << (1 + random() % 34)) + 1;
        Sums& sums = model[key];
        std::vector<Handler> ready;
        if (random() % 2) {
            sums.arrived += bytes;
            ready = rules.arrive(key, bytes);
        } else {
            sums.asked.push_back(sums.asked.back() + bytes);
            sums.numbers.push_back(at);
            ready = rules.expect(key, bytes, {note, number(at)});
        }
        sums.advance(expected);
        for (const Handler& handler : ready) {
            handler.call(handler.argument);
        }
        if (called != expected) {
            std::printf("call %d: other receives are over than the model says\n", at);
            return 1;
        }
    }
    size_t left = 0;
    for (const auto& [key, sums] : model) {
        left += sums.over < sums.numbers.size() || sums.asked.back() != sums.arrived;
    }
    expect(rules.left() == left && expected.size() > static_cast<size_t>(count) / 20, "what is left");
    return 0;
}

}  // namespace

int main(int count, char** words) {
    const std::vector<std::string> given(words + 1, words + count);
    const std::string kind = given.size() > 1 ? given[1] : "";
    if (kind == "ring" && given.size() == 6) {
        return ring(given[0], std::stoi(given[2]), std::stoi(given[3]), std::stoull(given[4]), std::stoi(given[5]));
    }
    if (kind == "all-to-all" && given.size() == 4) {
        return all_to_all(given[0], std::stoi(given[2]), std::stoull(given[3]));
    }
    if (kind == "calls") {
        return calls(given[0]);
    }
    if (kind == "stuck") {
        return stuck(given[0]);
    }
    if (kind == "matching" && given.size() == 3) {
        return matching(std::stoi(given[2]));
    }
    std::fprintf(stderr, "expected FILE and ring, all-to-all, calls, stuck or matching\n");
    return 2;
}
