import { once } from "node:events";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import t from "tap";
import { StoreUnreadableError } from "../../../../limiterd/store/store.js";
import { filledStore, inProcess, refusal, temporary } from "./store-fixture.js";

t.test("a file that isn't a store is refused by name and left alone", async (t) => {
  const foreign: readonly (readonly [name: string, bytes: Buffer])[] = [
    ["a text", Buffer.from("just a text that somebody put here, longer than any head of a page\n")],
    ["a short text", Buffer.from("hi")],
    ["zeros", Buffer.alloc(100_000)],
    ["a SQLite file", Buffer.concat([Buffer.from("SQLite format 3\u0000"), Buffer.alloc(4096)])],
  ];
  for (const [name, bytes] of foreign) {
    const directory = temporary(t);
    const file = join(directory, "limiterd.mdb");
    writeFileSync(file, bytes);
    const refused = await refusal(directory);
    t.ok(refused instanceof StoreUnreadableError, name);
    t.match(refused?.message, new RegExp(`^${file} can't be read`), name);
    t.ok(readFileSync(file).equals(bytes), `${name}: untouched`);
    t.same(readdirSync(directory), ["limiterd.mdb"], `${name}: nothing beside it`);
  }
});

t.test("a directory in the file's place is refused and left alone", async (t) => {
  const directory = temporary(t);
  mkdirSync(join(directory, "limiterd.mdb"));
  const refused = await refusal(directory);
  t.ok(refused instanceof StoreUnreadableError);
  t.match(refused?.message, /limiterd\.mdb can't be opened: illegal operation on a directory$/);
  t.same(readdirSync(join(directory, "limiterd.mdb")), []);
});

t.test(
  "an empty file in the store's place is a store that was lost, and doesn't become a new one",
  async (t) => {
    const directory = temporary(t);
    const file = await filledStore(directory);
    truncateSync(file, 0);
    const refused = await refusal(directory);
    t.ok(refused instanceof StoreUnreadableError);
    t.match(
      refused?.message,
      /limiterd\.mdb can't be read: it is empty: .* Put a whole copy in its place, or, to begin with a new store .*, move it away and remove .*limiterd\.mdb\.mark$/,
    );
    t.equal(statSync(file).size, 0, "untouched");
    rmSync(file);
    t.match(
      (await refusal(directory))?.message,
      /limiterd\.mdb can't be read: it is gone, though this directory has had a store\. /,
      "nor does one that is gone",
    );
    rmSync(`${file}.mark`);
    t.equal(await refusal(directory), null, "until the operator wants a new store");
  },
);

t.test(
  "a file that was cut short is refused with its name, wherever it was cut, and doesn't end the process",
  async (t) => {
    const directory = temporary(t);
    const { size } = statSync(await filledStore(directory, 3000));
    for (const bytes of [20, 4095, 8192, 12_288, Math.floor(size / 2)]) {
      const copy = join(directory, `cut-${bytes}`);
      mkdirSync(copy);
      const file = join(copy, "limiterd.mdb");
      writeFileSync(file, readFileSync(join(directory, "limiterd.mdb")));
      truncateSync(file, bytes);
      const before = readFileSync(file);
      const { child, received } = inProcess(t, copy, "read");
      const [[code, signal]] = (await Promise.all([
        once(child, "exit"),
        once(child, "disconnect"),
      ])) as [[number | null, string | null], unknown];
      t.match(
        { code, signal, failed: received[0]?.failed },
        { code: 0, signal: null, failed: /^StoreUnreadableError: .*limiterd\.mdb/ },
        `${bytes} bytes: it reports why`,
      );
      t.ok(readFileSync(file).equals(before), `${bytes} bytes: untouched`);
    }
  },
);
