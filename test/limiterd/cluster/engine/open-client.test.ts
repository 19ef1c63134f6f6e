/** What ties the daemon to the package of the engine's client. */

import { Writable } from "node:stream";
import t from "tap";
import { writeTogether } from "../../../../limiterd/cluster/engine/open-client.js";
import { programs, readSources } from "../../../tidy/source-tree.js";

t.test(
  "the client of the engine is loaded with the first connection, and not before",
  async (t) => {
    for (const { path, text } of readSources(programs))
      for (const [statement] of text.matchAll(/^import\b[^;]*from "ioredis";/gm))
        t.match(statement, /^import type /, path);
  },
);

t.test(
  "what is sent in one turn leaves in one write, and that of the next in another",
  async (t) => {
    const writes: string[] = [];
    const stream = new Writable({
      write(chunk, _encoding, done) {
        writes.push(String(chunk));
        done();
      },
      writev(chunks, done) {
        writes.push(chunks.map(({ chunk }) => String(chunk)).join(""));
        done();
      },
    });
    const send = (text: string): void => {
      writeTogether(stream);
      stream.write(text);
    };
    send("a");
    await Promise.resolve();
    send("b");
    t.same(writes, [], "promises go on in the same turn");
    await new Promise((resolve) => setImmediate(resolve));
    t.same(writes, ["ab"]);
    send("c");
    await new Promise((resolve) => setImmediate(resolve));
    t.same(writes, ["ab", "c"]);
    t.equal(stream.writableCorked, 0);
  },
);

t.test("a connection that breaks in between is no error", async (t) => {
  const stream = new Writable({ write: (_chunk, _encoding, done) => done() });
  writeTogether(stream);
  stream.destroy();
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(stream.writableCorked, 0);
});
