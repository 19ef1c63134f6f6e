import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import t from "tap";
import { guard, ReplyGrammar } from "../../../../limiterd/cluster/engine/reply-grammar.js";

function check(text: string, { onlyHashSlots = false, step = text.length } = {}): void {
  const grammar = new ReplyGrammar({ onlyHashSlots });
  const bytes = Buffer.from(text);
  for (let i = 0; i < bytes.length; i += step) grammar.check(bytes.subarray(i, i + step));
}

const good = [
  "+OK\r\n",
  "-ERR no\r\n:-12\r\n$-1\r\n",
  "$0\r\n\r\n$5\r\na\r\nb\n\r\n*0\r\n",
  "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\n\u00e9\r\n",
  `${"*1\r\n".repeat(8)}:1\r\n`,
  `*2\r\n*0\r\n*2\r\n:1\r\n$1\r\nx\r\n`,
];
const slots = "*1\r\n*3\r\n:0\r\n:16383\r\n*4\r\n$9\r\n127.0.0.1\r\n:6379\r\n$2\r\nid\r\n*0\r\n";

t.test("replies pass, in whatever pieces they come", async (t) => {
  for (const text of [...good, good.join("")])
    for (const step of [1, 2, 3, 1000]) t.doesNotThrow(() => check(text, { step }), text);
  t.doesNotThrow(() => check(`+OK\r\n${slots}-ERR x\r\n`, { onlyHashSlots: true, step: 1 }));
});

t.test("what the client's parser couldn't bear is refused", async (t) => {
  for (const text of [
    "*-1\r\n",
    "*2\r\n*-1\r\n",
    `${"*1\r\n".repeat(9)}:1\r\n`,
    `${"*1\r\n".repeat(20_000)}:1\r\n`,
    "*1000001\r\n",
    "*99999999999\r\n",
    "*1x\r\n",
    "$-7\r\n",
    `$${65 * 2 ** 20}\r\n`,
    "$2\r\nabcd",
    "$1\r\nab\r",
    ":\r\n",
    ":1e308\r\n",
    ":nan\r\n",
    `:${"9".repeat(20)}\r\n`,
    "+a\n",
    "+a\rb\r\n",
    `+${"x".repeat(70_000)}`,
    ">3\r\n",
    "%1\r\n",
    "_\r\n",
    "HTTP/1.1 400 Bad Request\r\n",
    "\r\n",
  ])
    for (const step of [1000, 7])
      t.throws(() => check(text, { step }), { name: "EngineFault" }, text);
});

t.test("a map of slots is one: the client loops over it", async (t) => {
  for (const [from, to] of [
    ["16383", "16384"],
    [":0", ":-1"],
    ["6379", "0"],
    ["6379", "65536"],
    ["$9\r\n127.0.0.1", ":1"],
    ["*4", "*1"],
    ["*3", "*2"],
    [slots, "$-1\r\n"],
    [slots, "*1\r\n:1\r\n"],
    [slots, "*1\r\n*3\r\n:0\r\n:1\r\n$-1\r\n"],
  ] as const)
    t.throws(() => check(slots.replace(from, to), { onlyHashSlots: true }), to);
});

t.test("an exception while an answer is read ends the connection, and nothing else", async (t) => {
  for (const [sent, reads] of [
    ["*-1\r\n", () => t.fail("it isn't read")],
    [
      "+OK\r\n",
      () => {
        throw new TypeError("reply is null");
      },
    ],
  ] as const) {
    const socket = new PassThrough();
    guard(socket as unknown as Socket, { onlyHashSlots: false });
    const failed = new Promise<Error>((resolve) => socket.once("error", resolve));
    socket.on("data", reads);
    socket.write(sent);
    t.match((await failed).message, /null/);
    t.ok(socket.destroyed);
  }
});
