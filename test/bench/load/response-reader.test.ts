import t from "tap";
import { broken, createResponseReader, pending } from "./response-reader.js";

const cases = [
  {
    name: "a content-length body",
    text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nx: y\r\n\r\nhello",
    status: 200,
  },
  {
    name: "an empty body",
    text: "HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n",
    status: 429,
  },
  {
    name: "a chunked body",
    text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\n",
    status: 200,
  },
];

for (const { name, text, status } of cases) {
  t.test(`${name} ends at its last byte, wherever the stream is cut`, async (t) => {
    const read = Array.from(text, (_, cut) => {
      const reader = createResponseReader();
      const first = cut > 0 ? reader.feed(Buffer.from(text.slice(0, cut))) : pending;
      return [cut, first, reader.feed(Buffer.from(text.slice(cut)))];
    });
    t.same(
      read,
      read.map((_, cut) => [cut, pending, status]),
    );
  });
}

t.test("the body has begun with its first byte, not with the head", async (t) => {
  const reader = createResponseReader();
  const { text } = cases[2]!;
  const bodyAt = text.indexOf("\r\n\r\n") + 4;
  reader.feed(Buffer.from(text.slice(0, bodyAt)));
  t.notOk(reader.bodyBegun);
  reader.feed(Buffer.from(text.slice(bodyAt, bodyAt + 1)));
  t.ok(reader.bodyBegun);
  reader.feed(Buffer.from(text.slice(bodyAt + 1)));
  t.ok(reader.bodyBegun, "also when it is whole");
  reader.feed(Buffer.from(text.slice(0, 20)));
  t.notOk(reader.bodyBegun, "the next response's hasn't");
});

t.test("a reader takes the next response after a whole one", async (t) => {
  const reader = createResponseReader();
  for (const { text, status } of cases) t.equal(reader.feed(Buffer.from(text)), status);
});

t.test("what isn't one response is broken", async (t) => {
  for (const text of [
    "SSH-2.0-OpenSSH\r\n\r\n",
    "HTTP/1.1 200 OK\r\n\r\nno length",
    `${cases[0]!.text}more`,
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
  ]) {
    t.equal(createResponseReader().feed(Buffer.from(text)), broken, JSON.stringify(text));
  }
});
