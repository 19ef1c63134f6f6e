/** Connections that are kept alive, and providers that close them: over sockets on loopback. */
import { createServer, type Server, type Socket } from "node:net";
import t, { type Test } from "tap";
import type { Egress } from "../../../../proxy/egress/egress.js";
import { createHttpUpstream } from "../../../../proxy/upstream/client/http-upstream.js";
import { createHttpProxyUpstream } from "../../../../proxy/upstream/passthrough/http-proxy-upstream.js";
import { SentBody } from "../../../../proxy/upstream/sent-body.js";
import type {
  RequestBody,
  UpstreamCall,
  UpstreamSink,
} from "../../../../proxy/upstream/upstream.js";
import { largeBodyBytes } from "../../../../shared/bounds.js";
import { keyless } from "../../../support/keyless.js";
import { isCollected } from "../../../support/memory/is-collected.js";
import { providerConfig } from "../../../support/provider-config.js";

const directEgress: Egress = { proxy: null, secureContext: null };
const answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

interface Provider {
  readonly baseUrl: string;
  /** How many requests each connection has carried. */
  readonly requests: number[];
}

/** A provider that does with the n-th request of a connection what `serve` says. */
async function startProvider(
  t: Test,
  serve: (socket: Socket, nth: number) => void,
): Promise<Provider> {
  const requests: number[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    const at = requests.push(0) - 1;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", (bytes: Buffer) => {
      if (bytes.toString("latin1").includes(" HTTP/1.1\r\n")) serve(socket, ++requests[at]!);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as { port: number };
  return { baseUrl: `http://127.0.0.1:${port}/v1`, requests };
}

/** The status, or the reason why there was none. */
function outcome(send: (sink: UpstreamSink) => UpstreamCall): Promise<string> {
  return new Promise((resolve, reject) => {
    let status = 0;
    send({
      onHead(code) {
        status = code;
      },
      onData() {},
      onEnd: () => resolve(String(status)),
      onFailure: ({ reason }) => resolve(reason),
      onBug: reject,
    });
  });
}

async function* pieces(): AsyncGenerator<Buffer> {
  yield Buffer.from("{}");
}

const ends: Readonly<Record<string, (socket: Socket) => void>> = {
  closes: (socket) => void socket.end(),
  resets: (socket) => void socket.resetAndDestroy(),
};

t.test(
  "a call whose connection was closed since its last answer is sent once more, on a new connection",
  async (t) => {
    for (const [name, end] of Object.entries(ends)) {
      const { baseUrl, requests } = await startProvider(t, (socket, nth) =>
        nth === 1 ? socket.write(answer) : end(socket),
      );
      const upstream = createHttpUpstream(
        providerConfig({ name: "x", baseUrl, connectionsMax: 1 }),
        directEgress,
        keyless(),
      );
      t.teardown(() => upstream.close());
      const send = (body: RequestBody, isRepeatable: boolean): Promise<string> =>
        outcome((sink) =>
          upstream.send({ method: "POST", path: "/x", headers: [], body, isRepeatable }, sink),
        );
      const large = new SentBody(Buffer.alloc(3 * largeBodyBytes));
      const body = Buffer.from("{}");
      for (let i = 0; i < 4; i++)
        t.equal(await send(i < 2 ? body : large, true), "200", `${name}, call ${i}`);
      // Each second call found its connection closed, and got one of its own.
      t.same(requests, [2, 1, 2, 1]);
      t.equal(await send(body, true), "200");
      t.match(
        await send(body, false),
        /ECONNRESET|closed the connection/,
        "it could be done twice",
      );
      t.equal(await send(body, true), "200");
      t.match(
        await send({ pieces: pieces(), bytes: 2 }, true),
        /ECONNRESET|closed the connection/,
        "a body that has passed is gone",
      );
    }
  },
);

t.test("while an answer streams, nothing keeps a large body that was let go", async (t) => {
  const { baseUrl } = await startProvider(t, (socket) =>
    socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n"),
  );
  const upstream = createHttpUpstream(
    providerConfig({ name: "x", baseUrl }),
    directEgress,
    keyless(),
  );
  t.teardown(() => upstream.close());
  const begin = async (): Promise<WeakRef<object>> => {
    const body = new SentBody(Buffer.alloc(8 * largeBodyBytes));
    const ref = new WeakRef(body.wholeBody());
    await new Promise<void>((resolve, reject) => {
      upstream.send(
        { method: "POST", path: "/x", headers: [], body, isRepeatable: true },
        {
          onHead() {},
          onData: () => resolve(),
          onEnd: reject,
          onFailure: reject,
          onBug: reject,
        },
      );
    });
    body.release();
    return ref;
  };
  const refs = await Promise.all([begin(), begin()]);
  for (const ref of refs) t.ok(await isCollected(ref));
});

t.test("a call is never sent a third time, nor after a first connection's failure", async (t) => {
  let answers = 1;
  const { baseUrl, requests } = await startProvider(t, (socket) =>
    answers-- > 0 ? socket.write(answer) : socket.resetAndDestroy(),
  );
  const upstream = createHttpUpstream(
    providerConfig({ name: "x", baseUrl, connectionsMax: 1 }),
    directEgress,
    keyless(),
  );
  t.teardown(() => upstream.close());
  const send = (): Promise<string> =>
    outcome((sink) =>
      upstream.send(
        { method: "POST", path: "/x", headers: [], body: Buffer.from("{}"), isRepeatable: true },
        sink,
      ),
    );
  t.equal(await send(), "200");
  t.equal(await send(), "ECONNRESET");
  t.same(requests, [2, 1]);
  t.equal(await send(), "ECONNRESET", "a new connection isn't a reused one");
  t.same(requests, [2, 1, 1]);
});

t.test("a call of which an answer had begun isn't sent again", async (t) => {
  const { baseUrl, requests } = await startProvider(t, (socket, nth) => {
    if (nth === 1) socket.write(answer);
    else socket.write("HTTP/1.1 200 OK\r\ncontent-ty", () => socket.destroy());
  });
  const upstream = createHttpUpstream(
    providerConfig({ name: "x", baseUrl, connectionsMax: 1 }),
    directEgress,
    keyless(),
  );
  t.teardown(() => upstream.close());
  const send = (): Promise<string> =>
    outcome((sink) =>
      upstream.send(
        { method: "POST", path: "/x", headers: [], body: null, isRepeatable: true },
        sink,
      ),
    );
  t.equal(await send(), "200");
  t.not(await send(), "200");
  t.same(requests, [2]);
});

t.test("what passes is sent once more if its method may be carried out twice", async (t) => {
  for (const [name, end] of Object.entries(ends)) {
    const { baseUrl, requests } = await startProvider(t, (socket, nth) =>
      nth === 1 ? socket.write(answer) : end(socket),
    );
    const upstream = createHttpProxyUpstream(
      providerConfig({ name: "x", baseUrl, connectionsMax: 1 }),
      directEgress,
      keyless(),
    );
    t.teardown(() => upstream.close());
    const send = (method: string, body: RequestBody = null): Promise<string> =>
      outcome((sink) => upstream.send({ method, path: "/v1/x", headers: [], body }, sink));
    for (const method of ["GET", "GET", "PUT"])
      t.equal(await send(method), "200", `${name} at ${method}`);
    t.equal(await send("PUT", Buffer.from("{}")), "200");
    t.same(requests, [2, 1, 2, 1]);
    t.equal(await send("POST"), "200");
    t.not(await send("POST", Buffer.from("{}")), "200", "a provider may have done it");
    t.same(requests, [2, 1, 2, 1, 2]);
  }
});

t.test(
  "a key that is refused or limited rests, and each call has the operator's headers",
  async (t) => {
    const heads: string[] = [];
    const statuses = ["429 Too Many Requests", "200 OK", "401 Unauthorized", "200 OK"];
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.on("data", (bytes: Buffer) => {
        heads.push(bytes.toString("latin1"));
        socket.end(
          `HTTP/1.1 ${statuses.shift()}\r\nretry-after: 3\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}`,
        );
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.teardown(() => server.close());
    const { port } = server.address() as { port: number };
    const headers = ["X-Team", "red", "User-Agent", "sluice"];
    const config = providerConfig({ name: "x", baseUrl: `http://127.0.0.1:${port}/v1`, headers });
    const keys = keyless("first-key", "second-key");
    const upstream = createHttpUpstream(config, directEgress, keys);
    const passing = createHttpProxyUpstream(config, directEgress, keys);
    t.teardown(() => Promise.all([upstream.close(), passing.close()]));
    const given = { headers: ["user-agent", "theirs"], body: null };
    const call = (): Promise<string> =>
      outcome((sink) =>
        upstream.send({ ...given, method: "POST", path: "/x", isRepeatable: true }, sink),
      );
    const pass = (): Promise<string> =>
      outcome((sink) => passing.send({ ...given, method: "GET", path: "/v1/x" }, sink));
    const sent = (): string[] =>
      heads.map((head) => /authorization: Bearer (\S+)/i.exec(head)?.[1] ?? "");
    t.equal(await call(), "429");
    t.equal(upstream.hasReadyKey?.(), true);
    t.equal(await call(), "200");
    t.same(sent(), ["first-key", "second-key"]);
    t.equal(await pass(), "401");
    t.equal(upstream.hasReadyKey?.(), false, "both rest");
    t.equal(await pass(), "200");
    t.same(sent().slice(2), ["second-key", "first-key"], "the one that may be used first");
    for (const head of heads) {
      t.match(head, /x-team: red/i);
      t.match(head, /user-agent: sluice/i);
      t.notMatch(head, /theirs/);
    }
    t.equal(upstream.redact("no first-key, no second-key"), "no [redacted], no [redacted]");
  },
);

t.test("why there is no answer doesn't quote a key that the provider echoes", async (t) => {
  const key = "sk-0123456789abcdef";
  for (const [echo, reason] of [
    [`${key}\r\n\r\n`, /begins with "sk-012345678"/],
    [`${key}\r\n`, /begins with "sk-012345678"/],
    [`HTTP/1.1 200 OK\r\n${key}\r\n\r\n`, /malformed head/],
    [`HTTP/1.1 200 OK\r\ncontent-encoding: ${key}\r\n\r\n`, /"sk-012345678"/],
  ] as const) {
    const { baseUrl } = await startProvider(t, (socket) => void socket.write(echo));
    const config = providerConfig({ name: "x", baseUrl });
    const upstream = createHttpUpstream(config, directEgress, keyless(key));
    t.teardown(() => upstream.close());
    const body = Buffer.from("{}");
    const request = { method: "POST", path: "/x", headers: [], body, isRepeatable: true } as const;
    const why = await outcome((sink) => upstream.send(request, sink));
    t.match(why, reason);
    t.notMatch(why, key);
  }
});

t.test("informational responses are signs of life, but not without end", async (t) => {
  for (const [count, expected] of [
    [100, /^200$/],
    [101, /more than 100 informational responses/],
  ] as const) {
    const early = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(count);
    const { baseUrl } = await startProvider(t, (socket) => void socket.write(early + answer));
    const provider = providerConfig({ name: "x", baseUrl });
    const upstream = createHttpUpstream(provider, directEgress, keyless());
    t.teardown(() => upstream.close());
    const body = Buffer.from("{}");
    const result = await outcome((sink) =>
      upstream.send({ method: "POST", path: "/x", headers: [], body, isRepeatable: true }, sink),
    );
    t.match(result, expected);
  }
});
