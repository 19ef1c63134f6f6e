/**
 * Loaded in each test's process before tap's own preload (package.json, `tap.test-env`). tap
 * watches which modules a test loads, and every process that it starts, whatever environment that
 * is given: a thread for each of them, a third of a second of their CPU. That serves coverage and
 * `--changed`, which aren't used here, and it would be half of what the whole suite takes. So tap
 * finds its watching set up already. A later tap that looks elsewhere for it is slower, and not
 * wrong.
 */
import module from "node:module";

// It found its way here, and is not for the processes that the test starts.
delete process.env["NODE_OPTIONS"];
Object.assign(globalThis, {
  [Symbol.for("@tapjs/processinfo.ProcessInfoNodeData")]: { files: [] },
});
Object.assign(module, { register() {} });
