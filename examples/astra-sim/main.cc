// ASTRA-sim with a network of Shallows.
//
// Options are those of ASTRA-sim's own backends, but --network-configuration names a request file. A rank is a host of its number.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "astra-sim/common/Logging.hh"
#include "astra-sim/system/Sys.hh"
#include "astra-sim/workload/Workload.hh"
#include "extern/helper/cxxopts/cxxopts.hpp"
#include "extern/remote_memory_backend/analytical/AnalyticalRemoteMemory.hh"

#include "api.hh"

namespace {

cxxopts::ParseResult options(int count, char** words) {
    const auto text = [](const char* otherwise) { return cxxopts::value<std::string>()->default_value(otherwise); };
    cxxopts::Options options("astra-shallows", "ASTRA-sim with a network of Shallows");
    options.add_options()("workload-configuration", "files of a workload, without .RANK.et", cxxopts::value<std::string>())(
        "comm-group-configuration", "groups of ranks", text("empty"))(
        "system-configuration", "collectives and scheduling", cxxopts::value<std::string>())(
        "remote-memory-configuration", "remote memory", cxxopts::value<std::string>())(
        "network-configuration", "what `shallows request --no-traffic` has written", cxxopts::value<std::string>())(
        "logging-configuration", "logging", text("empty"))("logging-folder", "folder of logs", text("log"))(
        "npus", "ranks: all hosts of the network, or the first ones", cxxopts::value<int>())(
        "gigabytes-per-second", "what collectives that weigh dimensions are told of the links (10^9 B/s)",
        cxxopts::value<double>()->default_value("50"))("num-queues-per-dim", "queues of a dimension",
                                                         cxxopts::value<int>()->default_value("1"))(
        "comm-scale", "factor of sizes", cxxopts::value<double>()->default_value("1"))(
        "injection-scale", "factor of the rate of injection", cxxopts::value<double>()->default_value("1"))(
        "rendezvous-protocol", "ask before each message", cxxopts::value<bool>()->default_value("false"));
    return options.parse(count, words);
}

int run(const cxxopts::ParseResult& given) {
    const auto text = [&](const char* name) { return given[name].as<std::string>(); };
    const int ranks = given["npus"].as<int>();
    AstraSim::LoggerFactory::init(text("logging-configuration"), text("logging-folder"));
    shallows_astra::Network network(text("network-configuration"));
    Analytical::AnalyticalRemoteMemory memory(text("remote-memory-configuration"));
    int finished = 0;
    std::vector<std::unique_ptr<shallows_astra::Api>> apis;
    std::vector<std::unique_ptr<AstraSim::Sys>> systems;
    for (int rank = 0; rank < ranks; rank++) {
        apis.push_back(std::make_unique<shallows_astra::Api>(rank, network, finished,
                                                             given["gigabytes-per-second"].as<double>()));
        systems.push_back(std::make_unique<AstraSim::Sys>(
            rank, text("workload-configuration"), text("comm-group-configuration"), text("system-configuration"), &memory,
            apis.back().get(), std::vector<int>{ranks}, std::vector<int>{given["num-queues-per-dim"].as<int>()},
            given["injection-scale"].as<double>(), given["comm-scale"].as<double>(),
            given["rendezvous-protocol"].as<bool>()));
    }
    for (const auto& system : systems) {
        system->workload->fire();
    }
    const int status = shallows_astra::run_to_end(network, finished, ranks);
    std::printf("%d of %d ranks have finished after %llu ns; left: %zu messages or receives\n", finished, ranks,
                static_cast<unsigned long long>(network.now_ns()), network.left());
    AstraSim::LoggerFactory::shutdown();
    return status;
}

}  // namespace

int main(int count, char** words) {
    try {
        return run(options(count, words));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "astra-shallows: %s\n", error.what());
        return 2;
    }
}
