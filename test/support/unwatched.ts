/**
 * Loaded in each test's process before tap's own preload (package.json, `tap.test-env`). tap
 * watches which modules a test loads, and every process that it starts, whatever environment that
 * is given: a thread for each of them, a third of a second of their CPU. That serves coverage and
 * `--changed`, which aren't used here, and it would be half of what the whole suite takes. So tap
 * finds its watching set up already. A later tap that looks elsewhere for it is slower, and not
 * wrong.
 *
 * tap also follows each promise and callback, a tenth of the CPU time of a test with many, to say
 * in which subtest something was thrown that nobody awaited. Without it such an error ends the
 * process of the test file: it fails all the same, with the stack.
 */
import asyncHooks from "node:async_hooks";
import module from "node:module";

// It found its way here, and is not for the processes that the test starts.
delete process.env["NODE_OPTIONS"];
Object.assign(globalThis, {
  [Symbol.for("@tapjs/processinfo.ProcessInfoNodeData")]: { files: [] },
});
Object.assign(module, { register() {} });
Object.assign(asyncHooks, { createHook: () => ({ enable() {}, disable() {} }) });
module.syncBuiltinESMExports();
