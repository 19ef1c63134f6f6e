import { once } from "node:events";
import { linkSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { plainFailure } from "../../../shared/error-code.js";
import { version, wireVersion } from "../../../shared/version.js";
import { encodeFrame } from "../../../shared/wire/codec.js";
import { connectDaemon } from "../../../shared/wire/daemon-client.js";
import { DaemonError } from "../../../shared/wire/daemon-error.js";
import { wireVersions } from "../../../shared/wire/wire-versions.js";
import { type FakeDaemonOptions, type Owner, startFakeDaemon } from "../../bin/fake-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";

const directoryOf = (t: Owner): string => {
  const directory = mkdtempSync(join(tmpdir(), "sluice-cli-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
};

/** How many timers keep this process. */
const timers = (): number =>
  process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

/** The error of a conversation that must fail. */
const troubleOf = async (conversation: Promise<unknown>): Promise<DaemonError> => {
  const error = await conversation.then(
    () => new Error("it didn't fail"),
    (reason: unknown) => reason,
  );
  if (error instanceof DaemonError) return error;
  throw error;
};

t.test("a call resolves with the daemon's answer", async (t) => {
  const daemon = await startFakeDaemon(t);
  const client = await connectDaemon({ socketPath: daemon.socket });
  t.equal(client.daemonVersion, "0.1.0");
  t.match(await client.call("status", null), { ok: true, body: { pid: 42 } });
  client.close();
  t.match(await troubleOf(client.call("status", null)), { name: "DaemonError", trouble: "lost" });
});

t.test("a daemon of the release before is spoken to in its version", async (t) => {
  const daemon = await startFakeDaemon(t, { onHello: "older" });
  const client = await connectDaemon({
    socketPath: daemon.socket,
    versions: { oldest: wireVersion, newest: wireVersion + 1 },
  });
  t.match(await client.call("status", null), { ok: true, body: { pid: 42 } });
  client.close();
});

t.test(
  "a daemon that doesn't know an operation is older, and so is one that hangs up",
  async (t) => {
    for (const [onAdmin, daemonVersion, trouble, message] of [
      [
        "older",
        "0.0.9",
        "refused",
        /^the daemon is older than this command line: it is sluice 0\.0\.9 and doesn't know status; restart it with this release \(sluice /,
      ],
      [
        "hang-up",
        "0.0.9",
        "lost",
        /: it is sluice 0\.0\.9, which may not know what was asked; see /,
      ],
      ["hang-up", version, "lost", /hung up without an answer: see its log/],
    ] as const) {
      const daemon = await startFakeDaemon(t, { onAdmin, daemonVersion });
      const client = await connectDaemon({ socketPath: daemon.socket });
      t.match(await troubleOf(client.call("status", null)), { trouble, message });
      client.close();
    }
  },
);

t.test("a call resolves with the daemon's failure", async (t) => {
  const daemon = await startFakeDaemon(t);
  const client = await connectDaemon({ socketPath: daemon.socket });
  const answer = await client.call("rate-limits.delete", {
    subject: "/team",
    limit_key: { period: "minute" },
  });
  t.match(answer, {
    ok: false,
    failure: { status: 404, code: "rate_limit_not_found", param: null },
  });
  client.close();
});

t.test("calls may overlap, and each gets its own answer", async (t) => {
  const daemon = await startFakeDaemon(t);
  const client = await connectDaemon({ socketPath: daemon.socket });
  const answers = await Promise.all([
    client.call("status", null),
    client.call("rate-limits.list", { after: null }),
  ]);
  t.match(answers, exactly([{ body: { pid: 42 } }, { body: { rate_limits: { length: 0 } } }]));
  client.close();
});

t.test(
  "without a socket, and with a stale one, the error says how to start a daemon",
  async (t) => {
    const directory = directoryOf(t);
    const absent = join(directory, "absent.sock");
    const before = timers();
    t.match(await troubleOf(connectDaemon({ socketPath: absent })), {
      trouble: "absent",
      message: `no daemon listens on ${absent}: start it with \`sluice up\``,
    });
    t.equal(timers(), before, "nothing keeps the process waiting");
    const stale = join(directory, "stale.sock");
    await leaveStaleSocket(stale);
    t.match(await troubleOf(connectDaemon({ socketPath: stale })), { trouble: "absent" });
  },
);

/** Binds a socket and moves it away, so that closing it can't remove it. */
async function leaveStaleSocket(path: string): Promise<void> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(`${path}.live`, resolve));
  linkSync(`${path}.live`, path);
  await new Promise((resolve) => server.close(resolve));
}

t.test(
  "the error for a path that isn't a socket, or is too long for one, names the path",
  async (t) => {
    const file = join(directoryOf(t), "file");
    writeFileSync(file, "");
    for (const socketPath of [file, `/tmp/${"x".repeat(120)}`]) {
      t.match(await troubleOf(connectDaemon({ socketPath })), {
        name: "DaemonError",
        message: new RegExp(socketPath),
      });
    }
  },
);

t.test("the error says how a daemon misbehaves", async (t) => {
  const table: readonly { readonly options: FakeDaemonOptions; readonly error: object }[] = [
    {
      options: { onHello: "refuse" },
      error: {
        trouble: "refused",
        message:
          /refuses this command line .*wire versions? \d+(?: to \d+)?\): this daemon speaks wire version 999$/,
      },
    },
    {
      options: { onHello: "hang-up" },
      error: { trouble: "lost", message: /hung up without an answer/ },
    },
    {
      options: { onHello: "garbage" },
      error: { trouble: "broken", message: /isn't a daemon of sluice/ },
    },
    {
      options: { onHello: "silence" },
      error: { trouble: "silent", message: /didn't answer within 300 ms/ },
    },
  ];
  for (const { options, error } of table) {
    const daemon = await startFakeDaemon(t, options);
    // Only silence lasts until the deadline.
    const deadlineMs = options.onHello === "silence" ? 300 : 5000;
    t.match(
      await troubleOf(connectDaemon({ socketPath: daemon.socket, deadlineMs })),
      error,
      JSON.stringify(options),
    );
  }
});

t.test(
  "an older version is offered to a daemon that refuses this one, and to no other",
  async (t) => {
    for (const [answer, connections] of [
      [encodeFrame(["failed", 1, plainFailure(400, "invalid_request_error", "no")]), null],
      [null, 1],
      [Buffer.from([0, 0, 0, 2, 0xc1, 0xc1]), 1],
    ] as const) {
      const socketPath = join(directoryOf(t), "daemon.sock");
      let connected = 0;
      const server = net.createServer((socket) => {
        connected++;
        socket.on("error", () => {});
        if (answer === null) socket.destroy();
        else socket.once("data", () => socket.write(answer));
      });
      await new Promise<void>((resolve) => server.listen(socketPath, resolve));
      await troubleOf(connectDaemon({ socketPath, deadlineMs: 2000 }));
      t.equal(connected, connections ?? wireVersions.newest - wireVersions.oldest + 1);
      await new Promise((resolve) => server.close(resolve));
    }
  },
);

/** A listener that answers each frame with the next of these. */
async function answering(
  t: Owner,
  ...answers: readonly (readonly unknown[])[]
): Promise<{ readonly socketPath: string; readonly sockets: readonly net.Socket[] }> {
  const sockets: net.Socket[] = [];
  const socketPath = join(directoryOf(t), "daemon.sock");
  const server = net.createServer((socket) => {
    socket.on("error", () => {});
    const left = answers.values();
    sockets.push(socket);
    socket.on("data", () => {
      const frames = left.next().value as readonly (readonly unknown[])[] | undefined;
      if (frames !== undefined) socket.write(Buffer.concat(frames.map(encodeFrame)));
    });
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  t.teardown(() => void server.close());
  return { socketPath, sockets };
}

const welcome = ["welcome", 1, "9.9.9", 0, true, 0, 0, false, 0];
const answer = ["answer", 2, { pid: 42 }];

t.test(
  "only the answer to what was asked is one; what is for proxies is passed over",
  async (t) => {
    const others = [
      ["event", "limited", true],
      ["event", "of a later release", 5],
      ["settled", 1],
      ["answer", 7, "to nobody"],
    ];
    const { socketPath } = await answering(t, [...others, welcome], [...others, answer]);
    const before = timers();
    const client = await connectDaemon({ socketPath, deadlineMs: 5000 });
    t.equal(timers(), before, "a deadline ends with what it was for");
    t.equal(client.daemonVersion, "9.9.9");
    t.same(await client.call("status", null), { ok: true, body: { pid: 42 } });
    t.equal(timers(), before);
    client.close();
    t.match(await troubleOf(client.call("status", null)), {
      message: "the conversation with the daemon was closed",
    });
    t.equal(timers(), before);
  },
);

t.test("what listens and answers otherwise is named as no daemon", async (t) => {
  const failed = ["failed", 2, plainFailure(404, "not_found_error", "no")];
  for (const [hello, call, message] of [
    [["nonsense", 1], null, /: it sent a message that isn't in the protocol$/],
    [["answer", 1, {}], null, /: a hello was answered by answer$/],
    [welcome, ["nonsense", 2], /: it sent a message that isn't in the protocol$/],
    [welcome, ["denied", 2, []], /: status was answered by denied$/],
    [welcome, failed, null],
  ] as const) {
    const { socketPath, sockets } = await answering(t, [hello], call === null ? [] : [call]);
    const before = timers();
    const asked = connectDaemon({ socketPath, deadlineMs: 5000 }).then((client) => {
      t.teardown(() => client.close());
      return client.call("status", null);
    });
    if (message === null) t.match(await asked, { ok: false, failure: { status: 404 } });
    else t.match(await troubleOf(asked), { trouble: "broken", message });
    t.equal(timers(), before);
    // Whoever breaks the protocol is left; an answer of the wrong kind may be followed by others.
    if (/protocol|hello/.test(String(message)))
      for (const socket of sockets) if (!socket.destroyed) await once(socket, "close");
  }
});

t.test(
  "a call without an answer ends at its deadline, or when the daemon closes the connection",
  async (t) => {
    for (const [onAdmin, trouble] of [
      ["silence", "silent"],
      ["hang-up", "lost"],
    ] as const) {
      const daemon = await startFakeDaemon(t, { onAdmin });
      const client = await connectDaemon({ socketPath: daemon.socket, deadlineMs: 1000 });
      const { message } = await troubleOf(client.call("status", null));
      t.notMatch(message, /may have been made/, "a question has no effect");
      client.close();
      const changing = await connectDaemon({ socketPath: daemon.socket, deadlineMs: 1000 });
      t.match(
        await troubleOf(changing.call("rate-limits.reset", {})),
        { trouble, message: /; the change may have been made, or may still be$/ },
        onAdmin,
      );
      changing.close();
    }
  },
);
