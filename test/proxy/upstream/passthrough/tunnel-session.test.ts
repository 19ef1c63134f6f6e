/** The boundary around a WebSocket session: an exception in one of its events ends it alone. */
import t from "tap";
import { OpenSessions } from "../../../../proxy/upstream/passthrough/open-sessions.js";
import type {
  PassthroughUpstream,
  TunnelSink,
} from "../../../../proxy/upstream/passthrough/passthrough-upstream.js";
import { tunnelSession } from "../../../../proxy/upstream/passthrough/tunnel-session.js";
import { FakeExchange } from "../../fake-exchange.js";

const planted = new TypeError("planted");
const fail = (): never => {
  throw planted;
};
/** Bytes, headers and reasons that can't be read. */
const unreadable = new Proxy({}, { get: fail }) as never;

/** A session whose provider's end is this. */
function session(
  exchange: FakeExchange,
  tunnel: (sink: TunnelSink) => { expect(): void; close(toClient: Buffer): void; abort(): void },
  passesAsIs = false,
  client: { onStop?: () => void } = {},
): ReturnType<typeof tunnelSession> {
  const upstream = {
    tunnel: (_client: unknown, _request: unknown, sink: TunnelSink) => tunnel(sink),
    redact: (text: string) => text,
  } as unknown as PassthroughUpstream;
  return tunnelSession(exchange, client as never, {
    upstream,
    provider: "p",
    path: "/",
    requestHeaders: [],
    limits: [],
    headers: [],
    passesAsIs,
    sessions: new OpenSessions(),
    modelOutputMax: null,
    onProgress: () => {},
    monoMs: () => 0,
  });
}

const idle = { expect() {}, close() {}, abort() {} };
const opened = (sink: TunnelSink): void => void sink.onOpen([]);

t.test("an exception in an event ends its session, and the session is settled once", async (t) => {
  const table: Readonly<Record<string, { play(sink: TunnelSink): void; status?: number }>> = {
    "its opening": { play() {} },
    "the provider's switch": { play: (sink) => void sink.onOpen(unreadable), status: 101 },
    "an answer instead": { play: (sink) => sink.onAnswer(403, unreadable, unreadable) },
    "a failure": { play: (sink) => sink.onFailure(unreadable) },
    "bytes of the client": {
      play(sink) {
        opened(sink);
        sink.onFromClient(unreadable);
        sink.onEnd({ by: "proxy", reason: null });
      },
      status: 101,
    },
    "bytes of the provider": {
      play(sink) {
        opened(sink);
        sink.onFromProvider(unreadable);
        sink.onFromProvider(unreadable);
        sink.onEnd({ by: "provider", reason: null });
      },
      status: 101,
    },
  };
  for (const [name, { play, status = 500 }] of Object.entries(table)) {
    const exchange = new FakeExchange({ method: "GET", path: "/v1/realtime" });
    let aborted = 0;
    const call = { expect() {}, close() {}, abort: () => void aborted++ };
    let sink: TunnelSink | null = null;
    const ended = session(exchange, (given) => {
      if (name === "its opening") fail();
      sink = given;
      return call;
    });
    if (sink !== null) play(sink);
    const forwarded = await ended;
    t.match(forwarded, { status, outcome: "internal_error", bug: TypeError, failed: null }, name);
    if (sink !== null) t.ok(aborted > 0, `${name}: both sides are let go`);
    forwarded.finish();
    t.equal(exchange.status, 500, "the client sees a 500 as long as no tunnel is open");
  }
});

t.test("a status that HTTP doesn't have is a failure of the provider", async (t) => {
  for (const status of [0, 99, 199, 600, 999]) {
    const exchange = new FakeExchange({ method: "GET", path: "/p/x" });
    const forwarded = await session(
      exchange,
      (sink) => {
        setImmediate(() => sink.onAnswer(status, [], Buffer.alloc(0)));
        return idle;
      },
      true,
    );
    forwarded.finish();
    t.equal(exchange.status, 502, String(status));
    t.match(exchange.body.toString(), `HTTP has no final status ${status}`);
  }
});

t.test("a stop tells both sides of a running session, unless one is within a frame", async (t) => {
  for (const [sent, isTold] of [
    [Buffer.from("8100", "hex"), true],
    [Buffer.from("81", "hex"), false],
  ] as const) {
    const exchange = new FakeExchange({ method: "GET", path: "/v1/realtime" });
    exchange.isCutByStop = true;
    const client: { onStop?: () => void } = {};
    let done = "";
    const ended = session(
      exchange,
      (sink) => {
        const end = (text: string): void => {
          done += text;
          sink.onEnd({ by: isTold ? "proxy" : "client", reason: null });
        };
        setImmediate(() => {
          t.equal(client.onStop, undefined, "before it is open, it gets an answer");
          opened(sink);
          sink.onFromProvider(sent);
          client.onStop!();
        });
        return { expect() {}, close: (frame) => end(frame.toString()), abort: () => end("cut") };
      },
      false,
      client,
    );
    t.match(await ended, { status: 101, outcome: "shutdown" });
    t.match(done, isTold ? /^[^]{4}the proxy stops$/ : /^cut$/);
  }
});

t.test("a session whose client is gone names who ended it", async (t) => {
  for (const [cutByStop, outcome] of [
    [false, "client_gone"],
    [true, "shutdown"],
  ] as const) {
    const exchange = new FakeExchange({ method: "GET", path: "/v1/realtime" });
    exchange.isCutByStop = cutByStop;
    const forwarded = await session(exchange, (sink) => {
      setImmediate(() => {
        opened(sink);
        sink.onEnd({ by: "client", reason: null });
      });
      return idle;
    });
    t.match(forwarded, { status: 101, outcome, executed: true });
  }
});
