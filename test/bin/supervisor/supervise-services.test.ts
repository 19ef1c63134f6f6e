import t from "tap";
import { newSpaceFlag } from "../../../bin/supervisor/supervised-proxies.js";
import { keptCodeFlag } from "../../../bin/supervisor/supervised-service.js";
import { exactly } from "../../support/patterns/exactly.js";
import type { Owner } from "../fake-daemon.js";
import { listenForPresence, type Program, scriptPath, startProgram } from "../program-run.js";
import type { FakeScenario } from "./fake-service.js";

interface UpOptions {
  readonly limiterd?: FakeScenario;
  readonly proxy?: FakeScenario;
  readonly argv?: readonly string[];
  readonly detached?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** The daemon's process ends before it is supervised. */
  readonly forked?: "killed";
  /** What a reload starts: the proxies' scenario, how many, and whether the daemon again. */
  readonly next?: { readonly proxy: FakeScenario; readonly count?: number; readonly daemon?: true };
}

const startUp = async (
  t: Owner,
  options: UpOptions = {},
): Promise<{
  readonly up: Program;
  next: Awaited<ReturnType<typeof listenForPresence>>["next"];
}> => {
  const { limiterd = "serve", proxy = "serve", argv = [], detached = false } = options;
  const { path, next } = await listenForPresence(t);
  const { next: reloaded } = options;
  const up = startProgram(t, scriptPath("supervisor/up-driver.js"), argv, {
    env: {
      ...options.env,
      FAKE_LIMITERD: limiterd,
      FAKE_PROXY: proxy,
      FAKE_PRESENCE: path,
      ...(options.forked === undefined ? {} : { FAKE_FORKED: options.forked }),
      ...(reloaded === undefined
        ? {}
        : { FAKE_PROXY_NEXT: reloaded.proxy, FAKE_COUNT_NEXT: String(reloaded.count ?? 1) }),
      ...(reloaded?.daemon === undefined ? {} : { FAKE_DAEMON_NEXT: "again" }),
    },
    detached,
  });
  return { up, next };
};

/** Whether one line of the output is before another. */
const inOrder = (lines: readonly string[], ...patterns: readonly RegExp[]): boolean => {
  const places = patterns.map((pattern) => lines.findIndex((line) => pattern.test(line)));
  return places.every((place, index) => place >= 0 && (index === 0 || place > places[index - 1]!));
};

t.test(
  "both services are started with their flags, reported ready once, and stopped proxy first",
  async (t) => {
    const { up } = await startUp(t);
    await up.line(/^ready at http:\/\/proxy\.test, open$/);
    up.child.kill("SIGTERM");
    t.same(await up.ended, { code: 0, signal: null });
    t.same(up.out, ["ready at http://proxy.test, open"]);
    t.match(
      up.err.find((line) => line.includes("limiterd serves")),
      /^\d\d:\d\d:\d\d warn limiterd serves socket=\/tmp\/fake\.sock /,
    );
    t.match(
      up.err.find((line) => line.includes("proxy serves")),
      / port=4242 /,
    );
    t.ok(inOrder(up.err, /^stopping/, /proxy stops/, /limiterd stops/), up.err.join("\n"));
    t.notOk(
      up.err.some((line) => /started|info/.test(line)),
      "lines below warn aren't shown",
    );
  },
);

t.test("the services have flags of Node's, unless the operator sets others", async (t) => {
  const flagsOf = async (env: Readonly<Record<string, string>>): Promise<readonly string[]> => {
    const { up } = await startUp(t, { env });
    await up.line(/^ready/);
    up.child.kill("SIGTERM");
    await up.ended;
    return ["limiterd serves", "proxy serves"].map((text) => {
      const line = up.err.find((printed) => printed.includes(text)) ?? "";
      return / nodeFlags="?([^\s"]*)/.exec(line)?.[1] ?? line;
    });
  };
  const flags = [keptCodeFlag, `${keptCodeFlag}|${newSpaceFlag}`];
  t.same(await flagsOf({}), flags);
  t.same(await flagsOf({ NODE_OPTIONS: "--max_semi_space_size=16" }), [keptCodeFlag, keptCodeFlag]);
});

t.test("the proxy loads while the daemon starts, and serves only once it is ready", async (t) => {
  const { up, next } = await startUp(t, { limiterd: "slow" });
  await Promise.all([next("limiterd"), next("loaded-proxy")]);
  up.child.kill("SIGTERM");
  t.same(await up.ended, { code: 0, signal: null });
  t.same(up.out, []);
  t.notOk(
    up.err.some((line) => /proxy (?:serves|stops)/.test(line)),
    "a proxy that hasn't started is ended without a stop",
  );
});

t.test("a process that was loaded for the daemon, and has ended, is replaced", async (t) => {
  const { up } = await startUp(t, { forked: "killed" });
  await up.line(/^ready at/);
  up.child.kill("SIGTERM");
  t.same(await up.ended, { code: 0, signal: null });
  t.notOk(
    up.err.some((line) => /killed|restarting/.test(line)),
    up.err.join("\n"),
  );
});

t.test("with --verbose the services' log lines are printed unchanged", async (t) => {
  const { up } = await startUp(t, { argv: ["--verbose"] });
  await up.line(/^ready at/);
  up.child.kill("SIGTERM");
  await up.ended;
  const lines = up.out
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as { process: string; msg: string });
  for (const name of ["limiterd", "proxy"])
    t.same(
      lines.filter(({ process }) => process === name).map(({ msg }) => msg),
      ["started", "serves", "stopping", "stops"],
    );
  t.same(up.err, ["stopping: waiting for requests in flight; a second signal ends them"]);
});

t.test("a service that is killed is started again, and the other one keeps running", async (t) => {
  const { up, next } = await startUp(t);
  const [limiterd, proxy] = await Promise.all([
    next("limiterd"),
    next("proxy"),
    up.line(/^ready at/),
  ]);
  process.kill(limiterd.pid, "SIGKILL");
  const reborn = await next("limiterd");
  await up.line(/^limiterd is back$/);
  t.not(reborn.pid, limiterd.pid);
  t.ok(up.err.includes("limiterd was killed by SIGKILL; restarting in 100 ms"));
  process.kill(proxy.pid, 0);
  up.child.kill("SIGTERM");
  t.same(await up.ended, { code: 0, signal: null });
  t.equal(up.out.length, 1, "readiness is printed once");
});

t.test(
  "a service that dies again and again is started after growing pauses, with its last output before each",
  async (t) => {
    for (const scenario of ["mistake", "rejection"] as const) {
      const { up } = await startUp(t, { proxy: scenario });
      await up.line(/proxy ended with exit code 70; restarting in 400 ms/);
      t.ok(
        inOrder(
          up.err,
          /fatal proxy an unexpected error ends this process \(planted\)/,
          /restarting in 100 ms/,
          /restarting in 200 ms/,
          /restarting in 400 ms/,
        ),
        up.err.join("\n"),
      );
      up.child.kill("SIGTERM");
      t.same(await up.ended, { code: 0, signal: null }, "a stop during the pause is a clean one");
    }
  },
);

t.test(
  "a service that can't start is given up: its message, the other one stopped, its exit code",
  async (t) => {
    const table = [
      {
        service: "limiterd",
        scenario: "taken",
        code: 75,
        message: "limiterd: error: another daemon listens on /run/fake.sock",
      },
      {
        service: "limiterd",
        scenario: "locked",
        code: 75,
        message: "limiterd: error: another daemon has the store",
      },
      {
        service: "limiterd",
        scenario: "unreadable",
        code: 74,
        message: "limiterd: error: the store can't be read",
      },
      {
        service: "proxy",
        scenario: "fail",
        code: 1,
        message: "proxy: error: the address is in use",
      },
    ] as const;
    for (const { service, scenario, code, message } of table) {
      const { up } = await startUp(t, { [service]: scenario });
      t.same(await up.ended, { code, signal: null }, scenario);
      t.ok(
        inOrder(
          up.err,
          new RegExp(`^${message}$`),
          new RegExp(`^${service} can't start \\(exit code ${code}\\)$`),
        ),
        up.err.join("\n"),
      );
      t.equal(
        up.err.some((line) => line.includes("limiterd stops")),
        service === "proxy",
        "only what was started is stopped",
      );
      t.same(up.out, []);
    }
  },
);

t.test("a second signal ends both immediately", async (t) => {
  const { up, next } = await startUp(t, { proxy: "stubborn" });
  const [limiterd, proxy] = await Promise.all([
    next("limiterd"),
    next("proxy"),
    up.line(/^ready at/),
  ]);
  up.child.kill("SIGINT");
  await up.line(/^stopping/);
  up.child.kill("SIGINT");
  t.same(await up.ended, { code: 130, signal: null });
  await Promise.all([limiterd.gone, proxy.gone]);
});

t.test(
  "a service that doesn't stop within its deadline is killed, and the exit code says so",
  async (t) => {
    const { up } = await startUp(t, { proxy: "stubborn", argv: ["--quiet", "300"] });
    await up.line(/^ready at/);
    up.child.kill("SIGTERM");
    t.same(await up.ended, { code: 1, signal: null });
    t.ok(
      inOrder(
        up.err,
        /^proxy didn't stop within 300 ms: killing it$/,
        /^proxy was killed by SIGKILL$/,
        /limiterd stops/,
      ),
      up.err.join("\n"),
    );
  },
);

t.test("a stop that fails makes the exit code 1", async (t) => {
  const { up } = await startUp(t, { limiterd: "failing-stop" });
  await up.line(/^ready at/);
  up.child.kill("SIGTERM");
  t.same(await up.ended, { code: 1, signal: null });
  t.ok(
    inOrder(
      up.err,
      /error limiterd the stop failed \(the disk is full\)/,
      /^limiterd ended with exit code 1$/,
    ),
    up.err.join("\n"),
  );
});

t.test("Ctrl-C at the terminal reaches the services through up only, in order", async (t) => {
  const { up } = await startUp(t, { argv: ["--verbose"], detached: true });
  await up.line(/^ready at/);
  process.kill(-up.child.pid!, "SIGINT");
  t.same(await up.ended, { code: 130, signal: null });
  const reasons = up.out
    .filter((line) => line.includes('"reason"'))
    .map((line) => JSON.parse(line) as { process: string; reason: string });
  t.match(
    reasons,
    exactly([
      { process: "proxy", reason: "SIGINT" },
      { process: "limiterd", reason: "SIGINT" },
    ]),
  );
});

t.test("when up itself is killed, both services notice and end by themselves", async (t) => {
  const { up, next } = await startUp(t);
  const [limiterd, proxy] = await Promise.all([
    next("limiterd"),
    next("proxy"),
    up.line(/^ready at/),
  ]);
  up.child.kill("SIGKILL");
  await Promise.all([limiterd.gone, proxy.gone]);
  t.same(await up.ended, { code: null, signal: "SIGKILL" });
});

const outcomeOf = async (up: Program): Promise<unknown> =>
  JSON.parse((await up.line(/^outcome /)).slice("outcome ".length));

t.test("a reload starts the new proxy before the old one finishes", async (t) => {
  const { up, next } = await startUp(t, { next: { proxy: "serve", daemon: true } });
  const [limiterd, old] = await Promise.all([
    next("limiterd"),
    next("proxy"),
    up.line(/^ready at/),
  ]);
  up.child.kill("SIGHUP");
  const successor = await next("proxy");
  t.not(successor.pid, old.pid);
  await old.gone;
  await limiterd.gone;
  t.not((await next("limiterd")).pid, limiterd.pid);
  t.same(await outcomeOf(up), {
    ok: true,
    lines: ["replaced the proxy", "restarted the daemon"],
  });
  t.ok(up.err.some((line) => line.includes("proxy finishes")));
  process.kill(successor.pid, 0);
  up.child.kill("SIGTERM");
  t.same(await up.ended, { code: 0, signal: null });
  t.same(up.out.filter((line) => line.startsWith("ready")).length, 1);
});

t.test("a reload may change how many proxies there are", async (t) => {
  const { up, next } = await startUp(t, { next: { proxy: "serve", count: 3 } });
  const [old] = await Promise.all([next("proxy"), up.line(/^ready at/)]);
  up.child.kill("SIGHUP");
  const proxies = [await next("proxy"), await next("proxy"), await next("proxy")];
  await old.gone;
  t.match(
    await outcomeOf(up),
    exactly({ ok: true, lines: ["replaced 3 proxies", /^the daemon keeps running/] }),
  );
  process.kill(proxies[1]!.pid, "SIGKILL");
  await up.line(/^proxy-2 was killed by SIGKILL; restarting in 100 ms$/);
  await next("proxy");
  for (const index of [0, 2]) process.kill(proxies[index]!.pid, 0);
  up.child.kill("SIGTERM");
  t.same(await up.ended, { code: 0, signal: null });
});

t.test("a successor that can't start or dies leaves the running proxy alone", async (t) => {
  const table = [
    { proxy: "fail", exitCode: 1 },
    { proxy: "taken", exitCode: 75 },
    { proxy: "dies", exitCode: 1 },
  ] as const;
  for (const { proxy, exitCode } of table) {
    const { up, next } = await startUp(t, { next: { proxy, daemon: true } });
    const [limiterd, old] = await Promise.all([
      next("limiterd"),
      next("proxy"),
      up.line(/^ready at/),
    ]);
    up.child.kill("SIGHUP");
    t.match(
      await outcomeOf(up),
      exactly({
        ok: false,
        exitCode,
        lines: [/^error: the new proxy ended before it was ready/],
      }),
    );
    for (const { pid } of [limiterd, old]) process.kill(pid, 0);
    t.notOk(
      up.err.some((line) => line.includes("starts again")),
      "it isn't tried again",
    );
    up.child.kill("SIGTERM");
    t.same(await up.ended, { code: 0, signal: null }, proxy);
  }
});

t.test("a proxy that dies after a reload is started again like any other", async (t) => {
  const { up } = await startUp(t, { next: { proxy: "mistake" } });
  await up.line(/^ready at/);
  up.child.kill("SIGHUP");
  t.match(await outcomeOf(up), { ok: true });
  await up.line(/^proxy ended with exit code 70; restarting in 200 ms$/);
  up.child.kill("SIGTERM");
  await up.ended;
});

t.test("a stop during a reload ends the successor as well", async (t) => {
  const { up, next } = await startUp(t, { next: { proxy: "slow" } });
  const [old] = await Promise.all([next("proxy"), up.line(/^ready at/)]);
  up.child.kill("SIGHUP");
  const successor = await next("proxy");
  up.child.kill("SIGTERM");
  t.same(await up.ended, { code: 0, signal: null });
  await Promise.all([old.gone, successor.gone]);
});
