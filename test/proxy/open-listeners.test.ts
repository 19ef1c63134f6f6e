import t from "tap";
import type { Gateway } from "../../proxy/gateway.js";
import type { listenHttp } from "../../proxy/http/http-listener.js";
import { openListeners } from "../../proxy/open-listeners.js";
import type { InheritedSockets } from "../../shared/supervision/inherited-sockets.js";
import { exactly } from "../support/patterns/exactly.js";

interface Given {
  readonly host?: string;
  readonly admin?: { host: string; port: number } | null;
  readonly open?: boolean;
  readonly sockets?: Readonly<Record<string, readonly number[]>>;
  /** The addresses of the given sockets. */
  readonly hosts?: Readonly<Record<number, string>>;
}

/** What is listened on, and closed again. */
async function opened({
  host = "127.0.0.1",
  admin = null,
  open = false,
  sockets = {},
  hosts = {},
}: Given) {
  const listening: unknown[] = [];
  let closed = 0;
  const listen: typeof listenHttp = async ({ listen }) => {
    listening.push(listen);
    const at = "fd" in listen ? (hosts[listen.fd] ?? "127.0.0.1") : listen.host;
    return {
      url: `http://${at}:${"fd" in listen ? listen.fd : listen.port}`,
      host: at,
      close: async () => void closed++,
    };
  };
  const gateway = {
    config: {
      server: { host, port: 80, admin, tls: null, stalledClientMs: 1 },
      metrics: { listen: null },
    },
    capacity: {},
    credentials: { open },
  } as unknown as Gateway;
  const given: InheritedSockets = {
    from: Object.keys(sockets).length === 0 ? "none" : "unit",
    byName: new Map(Object.entries(sockets)),
  };
  const parts = { connections: {}, memory: {} } as Parameters<typeof openListeners>[1];
  const result = await openListeners(gateway, parts, {
    listen,
    sockets: given,
    tlsFiles: null,
    handlerOf: () => () => {},
  }).then(
    ({ url, adminUrl }) => ({ url, adminUrl }),
    (error: Error) => ({ error: `${error.name}: ${error.message}` }),
  );
  return { ...result, listening, closed };
}

const own = { host: "127.0.0.1", port: 81 };

t.test("a given socket replaces its address, others are opened as configured", async (t) => {
  t.same(await opened({}), {
    url: "http://127.0.0.1:80",
    adminUrl: "http://127.0.0.1:80",
    listening: [{ host: "127.0.0.1", port: 80 }],
    closed: 0,
  });
  t.match(
    await opened({ sockets: { http: [3, 4] } }),
    exactly({
      url: "http://127.0.0.1:3",
      listening: [{ fd: 3 }, { fd: 4 }],
    }),
  );
  t.match(await opened({ sockets: { http: [3], admin: [4] }, admin: own }), {
    url: "http://127.0.0.1:3",
    adminUrl: "http://127.0.0.1:4",
  });
  t.match(
    await opened({ sockets: { http: [3] }, admin: own }),
    exactly({
      listening: [{ fd: 3 }, { host: "127.0.0.1", port: 81 }],
    }),
  );
});

t.test("a socket for administration needs its setting", async (t) => {
  t.match(await opened({ sockets: { http: [3], admin: [4] } }), {
    error: /^InheritedSocketsError: a socket named admin is given, but server\.admin\.port isn't/,
    listening: { length: 0 },
  });
});

t.test("an open gateway doesn't reach further by a socket than it is configured to", async (t) => {
  const sockets = { http: [3] };
  const beyond = { sockets, hosts: { 3: "10.0.0.1" } };
  t.match(await opened({ ...beyond, open: true }), {
    error: /named http listens on http:\/\/10\.0\.0\.1:3, beyond loopback, .* set server\.host /,
    closed: 1,
  });
  t.match(await opened({ ...beyond, open: true, host: "10.0.0.1" }), { url: /10/ }, "it was said");
  t.match(await opened({ ...beyond }), { url: /10/ }, "it isn't open");
  t.match(await opened({ sockets, hosts: { 3: "::1" }, open: true }), { url: /::1/ });
  t.match(await opened({ sockets, hosts: { 3: "/run/a.sock" }, open: true }), { url: /run/ });
  t.match(
    await opened({
      sockets: { http: [3], admin: [4] },
      admin: own,
      hosts: { 4: "0.0.0.0" },
      open: true,
    }),
    { error: /named admin .* set server\.admin\.host /, closed: 2 },
  );
});
