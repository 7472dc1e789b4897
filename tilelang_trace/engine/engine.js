'use strict';
/*
 * Perfetto's trace processor (WebAssembly) as a child process that talks over stdin and stdout.
 *
 *   node engine.js FOLDER      FOLDER holds engine_bundle.js and the .wasm files beside it
 *
 * Both directions carry frames: a length (uint32, little endian), then that many bytes. A request
 * is a serialized TraceProcessorRpcStream and its reply is another one, so nothing here knows about
 * protobuf. Replies come in the order of the requests. What the engine logs goes to stderr.
 *
 * The engine is in a thread of its own, because some broken traces put it into an endless loop: the
 * main thread stays free to notice that the other end of stdin is gone, and to end the process.
 */

const fs = require('fs');
const path = require('path');
const util = require('util');
const vm = require('vm');
const {Worker, isMainThread, parentPort, workerData} = require('worker_threads');

// Main thread: frames in, frames out.
function serve(folder) {
  const engine = new Worker(__filename, {workerData: folder});
  engine.on('message', (reply) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(reply.byteLength);
    process.stdout.write(length);
    process.stdout.write(reply);
  });
  engine.on('error', (error) => {
    // Not process.exit() after console.error(): a pipe or file may not have it all by then.
    fs.writeSync(2, `${(error && error.stack) || error}\n`);
    process.exit(1);
  });

  let size = null;
  process.stdin.on('readable', () => {
    for (;;) {
      if (size === null) {
        const length = process.stdin.read(4);
        if (length === null) return;
        size = length.readUInt32LE();
      }
      const request = process.stdin.read(size);
      if (request === null) return;
      size = null;
      engine.postMessage(request);
    }
  });
  // An orderly exit would wait for the engine's thread, which may be stuck.
  process.stdin.on('end', () => process.kill(process.pid, 'SIGKILL'));
}

// Engine thread: the bundle was written for a Web Worker, so this thread is dressed up as one.
function runEngine(folder) {
  const log = (...words) => fs.writeSync(2, `${util.format(...words)}\n`);
  globalThis.console = {log, info: log, debug: log, warn: log, error: log};
  globalThis.self = globalThis;
  globalThis.location = {href: 'http://localhost/engine_bundle.js'};
  globalThis.WorkerGlobalScope = class {};
  globalThis.XMLHttpRequest = class {   // synchronous, and only for the .wasm beside the bundle
    open(method, url) { this.file = path.join(folder, path.basename(url)); }
    send() {
      this.status = 200;
      this.response = new Uint8Array(fs.readFileSync(this.file)).buffer;
    }
  };
  delete globalThis.process;            // else the bundle takes this for Node and refuses to run

  const bundle = path.join(folder, 'engine_bundle.js');
  vm.runInThisContext(fs.readFileSync(bundle, 'utf8'), {filename: bundle});

  // The bundle takes a MessagePort and calls back before its onmessage() returns.
  let replies = [];
  const port = {postMessage: (bytes) => replies.push(bytes)};
  globalThis.onmessage({data: port});
  parentPort.on('message', (request) => {
    replies = [];
    port.onmessage({data: request});
    parentPort.postMessage(Buffer.concat(replies));
  });
}

if (isMainThread) serve(process.argv[2]);
else runEngine(workerData);
