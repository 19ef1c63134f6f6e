/**
 * A daemon or proxy that only starts and ends as its scenario says, around the real
 * `run-service.ts`. Its name is the first argument, its scenario is in FAKE_LIMITERD or FAKE_PROXY.
 * It keeps a connection to FAKE_PRESENCE open while it runs, so that a test notices its end.
 */
import { once } from "node:events";
import net from "node:net";
import { runService } from "../../../bin/supervisor/run-service.js";
import { SocketTakenError } from "../../../shared/socket/claim-socket.js";

export type FakeScenario =
  | "serve"
  /** Can't start: the socket is taken; the store is locked; it is unreadable; any other error. */
  | "taken"
  | "locked"
  | "unreadable"
  | "fail"
  /** Is killed before it is ready; is never ready. */
  | "dies"
  | "slow"
  /** Becomes ready, then throws an error that nothing catches; a package would block its end. */
  | "mistake"
  | "rejection"
  /** The same, and it survives: it stops only when it is told to. */
  | "survivor"
  /** Its stop never ends, and a package would block its end; its stop fails. */
  | "stubborn"
  | "failing-stop";

class NamedError extends Error {
  constructor(name: string, message: string) {
    super(message);
    this.name = name;
  }
}

const name = process.argv.splice(2, 1)[0] === "proxy" ? "proxy" : "limiterd";
const scenario = (process.env[`FAKE_${name.toUpperCase()}`] ?? "serve") as FakeScenario;

function failToStart(): void {
  switch (scenario) {
    case "taken":
      throw new SocketTakenError("another daemon listens on /run/fake.sock");
    case "locked":
      throw new NamedError("StoreLockedError", "another daemon has the store");
    case "unreadable":
      throw new NamedError("StoreUnreadableError", "the store can't be read");
    case "fail":
      throw new Error("the address is in use");
    default:
      return;
  }
}

function bePresent(as: string = name): Promise<void> {
  const path = process.env["FAKE_PRESENCE"];
  if (path === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    const socket = net.connect(path, () => socket.write(`${as} ${process.pid}\n`, () => resolve()));
  });
}

void bePresent(`loaded-${name}`);
await runService({
  process: name,
  description: "a fake",
  flags: name === "proxy" ? ["config", "socket", "host", "port"] : ["config", "socket", "dataDir"],
  socketNames: ["http", "admin"],
  prepare:
    async ({ config, log }) =>
    async () => {
      failToStart();
      await bePresent();
      if (scenario === "dies") process.kill(process.pid, "SIGKILL");
      // Keeps the process alive, as a real one's listening socket does.
      setInterval(() => {}, 60_000);
      log.info({ pid: process.pid }, "started");
      log.warn(
        {
          socket: config.limiter.socket,
          port: config.server.port,
          dataDir: config.limiter.dataDir,
          nodeFlags: process.execArgv.join("|"),
        },
        "serves",
      );
      if (["mistake", "rejection", "stubborn"].includes(scenario))
        process.on("exit", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
      if (scenario === "slow") await once(process, "SIGTERM").then(() => process.exit(0));
      if (scenario === "mistake" || scenario === "survivor")
        setImmediate(() => {
          throw new Error("planted");
        });
      if (scenario === "rejection" || scenario === "survivor")
        void Promise.reject(new Error("planted"));
      return {
        ready: { ready: `http://${name}.test`, open: name === "proxy" },
        async onReplaced() {
          log.warn("proxy finishes");
        },
        survives: () => scenario === "survivor",
        health: () => ({ status: "ready: a fake", stuck: null }),
        async stop() {
          log.warn("stops");
          if (scenario === "failing-stop") throw new Error("the disk is full");
          if (scenario === "stubborn") await new Promise(() => {});
        },
      };
    },
});
