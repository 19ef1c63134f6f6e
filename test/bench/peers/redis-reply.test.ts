import t from "tap";
import { createReplyReader, isFailure, type Reply } from "./redis-reply.js";

const stream =
  "+OK\r\n:42\r\n:-7\r\n*3\r\n:0\r\n$5\r\nhello\r\n*1\r\n:1000000000\r\n$-1\r\n*-1\r\n$0\r\n\r\n-ERR no\r\n";
const replies: readonly Reply[] = [
  "OK",
  42,
  -7,
  [0, "hello", [1_000_000_000]],
  null,
  null,
  "",
  { failure: "ERR no" },
];

t.test("the replies come out whole and in order, wherever the stream is cut", async (t) => {
  for (let cut = 0; cut <= stream.length; cut++) {
    const reader = createReplyReader();
    const seen: Reply[] = [];
    reader.feed(Buffer.from(stream.slice(0, cut)), (reply) => seen.push(reply));
    reader.feed(Buffer.from(stream.slice(cut)), (reply) => seen.push(reply));
    t.strictSame(seen, replies, `cut at ${cut}`);
  }
});

t.test(
  "a refusal is distinguished from an answer, and an unknown kind of reply throws",
  async (t) => {
    t.ok(isFailure({ failure: "ERR no" }));
    t.notOk(isFailure([1]));
    t.notOk(isFailure(null));
    t.throws(() => createReplyReader().feed(Buffer.from("%1\r\n"), () => {}), /unknown kind/);
  },
);
