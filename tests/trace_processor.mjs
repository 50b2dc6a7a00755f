// Perfetto's trace processor, as its viewer has it, without a browser: reads the messages of its remote procedure calls
// from stdin and writes the answers to stdout. node trace_processor.mjs FOLDER, that of engine_bundle.js.
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";

const read = (url) => fs.readFileSync(path.join(process.argv[2], path.basename(url)));

class XMLHttpRequest {
  open(method, url) {
    this.url = url;
  }
  send() {
    this.response = read(this.url);
  }
}

const silent = { log() {}, warn() {}, error() {} };
const worker = { location: { href: "http://localhost/" }, WorkerGlobalScope: class {}, XMLHttpRequest, console: silent };
Object.assign(worker, { URL, TextDecoder, performance, crypto, setTimeout, self: worker });
const context = vm.createContext(worker);
vm.runInContext(read("engine_bundle.js"), context);
const port = { postMessage: (answer) => fs.writeSync(1, answer) };
worker.onmessage({ data: port });
const array = vm.runInContext("bytes => new Uint8Array(bytes)", context);
const calls = fs.readFileSync(0);
setImmediate(() => port.onmessage({ data: array(calls) }));
