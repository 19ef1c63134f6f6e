import t from "tap";
import {
  handshakeHeaders,
  isHandshake,
  switchedHeaders,
  withProtocolKey,
} from "../../../proxy/http/web-socket-handshake.js";

const from =
  (headers: Readonly<Record<string, string>>) =>
  (name: string): string | undefined =>
    headers[name];
const requestOf = (
  headers: Readonly<Record<string, string>>,
): Parameters<typeof withProtocolKey>[0] => ({
  path: "/v1/realtime",
  query: "model=m",
  tls: null,
  header: from(headers),
  isRepeated: () => true,
});

t.test(
  "a handshake is a GET for a WebSocket, without a body, at one of the paths that have them",
  async (t) => {
    const requestHeaders = { upgrade: "websocket" };
    const table: readonly (readonly [
      method: string,
      url: string,
      headers: Readonly<Record<string, string>>,
      is: boolean,
    ])[] = [
      ["GET", "/v1/realtime?model=m", requestHeaders, true],
      ["GET", "/v1/realtime", { upgrade: " WebSocket " }, true],
      ["GET", "/p/openai/v1/realtime", { ...requestHeaders, "content-length": "0" }, true],
      ["POST", "/v1/realtime", requestHeaders, false],
      ["GET", "/v1/realtimes", requestHeaders, false],
      ["GET", "/v1/models", requestHeaders, false],
      ["GET", "/p", requestHeaders, false],
      ["GET", "/v1/realtime", {}, false],
      ["GET", "/v1/realtime", { upgrade: "h2c" }, false],
      ["GET", "/v1/realtime", { upgrade: "websocket, h2c" }, false],
      ["GET", "/v1/realtime", { ...requestHeaders, "content-length": "5" }, false],
      ["GET", "/v1/realtime", { ...requestHeaders, "transfer-encoding": "chunked" }, false],
    ];
    for (const [method, url, headers, is] of table)
      t.equal(
        isHandshake(method, url, from(headers)),
        is,
        `${method} ${url} ${JSON.stringify(headers)}`,
      );
  },
);

t.test("a key among the subprotocols is an authorization where there is no other", async (t) => {
  const table = [
    [
      {
        "sec-websocket-protocol":
          "realtime, openai-insecure-api-key.sk-1.2_3, openai-beta.realtime-v1",
      },
      "Bearer sk-1.2_3",
    ],
    [
      { "sec-websocket-protocol": "realtime,openai-insecure-api-key.a", authorization: "Bearer b" },
      "Bearer b",
    ],
    [
      { "sec-websocket-protocol": "realtime,openai-insecure-api-key.a", "x-api-key": "b" },
      undefined,
    ],
    [{ "sec-websocket-protocol": "openai-insecure-api-key.a", "api-key": "b" }, undefined],
    [
      {
        "sec-websocket-protocol": "realtime,openai-insecure-api-key.a",
        authorization: "",
        "x-api-key": " ",
      },
      "Bearer a",
    ],
    [{ "sec-websocket-protocol": "realtime" }, undefined],
    [{}, undefined],
  ] as const;
  for (const [headers, authorization] of table)
    t.equal(withProtocolKey(requestOf(headers)).header("authorization"), authorization);
  const other = withProtocolKey(
    requestOf({ "x-other": "1", "sec-websocket-protocol": "openai-insecure-api-key.a" }),
  );
  t.match(other, { path: "/v1/realtime", query: "model=m" });
  t.equal(other.header("x-other"), "1");
  t.ok(other.isRepeated("x-other"), "anything else is read from the request");
});

t.test("the provider gets neither credentials nor extensions", async (t) => {
  const requestHeaders = [
    "Host",
    "a",
    "Connection",
    "Upgrade, X-Hop",
    "X-Hop",
    "1",
    "Upgrade",
    "websocket",
    "Authorization",
    "Bearer caller",
    "Cookie",
    "c=1",
    "X-Path",
    "/team",
    "Sec-WebSocket-Key",
    "abc",
    "Sec-WebSocket-Version",
    "13",
    "Sec-WebSocket-Extensions",
    "permessage-deflate",
    "Sec-WebSocket-Protocol",
    "realtime, openai-insecure-api-key.caller",
    "sec-websocket-protocol",
    "OpenAI-Insecure-API-Key.caller, openai-beta.realtime-v1",
    "OpenAI-Beta",
    "realtime=v1",
  ];
  const passed = /^openai-beta$/i;
  t.same(handshakeHeaders(requestHeaders, passed), [
    "OpenAI-Beta",
    "realtime=v1",
    "sec-websocket-version",
    "13",
    "sec-websocket-key",
    "abc",
    "sec-websocket-protocol",
    "realtime, openai-beta.realtime-v1",
  ]);
  t.same(
    handshakeHeaders(["Sec-WebSocket-Protocol", "openai-insecure-api-key.caller"], passed),
    [],
    "with nothing left, nothing is offered",
  );
});

t.test(
  "the client gets a subprotocol only if it was offered to the provider, and never an extension",
  async (t) => {
    const requestHeaders = ["Sec-WebSocket-Protocol", "realtime, openai-insecure-api-key.caller"];
    const head = ["upgrade", "websocket", "connection", "Upgrade", "sec-websocket-accept", "xyz"];
    const table = [
      ["realtime", [...head, "sec-websocket-protocol", "realtime"]],
      ["openai-insecure-api-key.caller", head],
      ["other", head],
    ] as const;
    for (const [chosen, expected] of table)
      t.same(
        switchedHeaders(
          [
            "sec-websocket-accept",
            "xyz",
            "Sec-WebSocket-Extensions",
            "permessage-deflate",
            "Sec-WebSocket-Protocol",
            chosen,
          ],
          requestHeaders,
        ),
        expected,
      );
  },
);
