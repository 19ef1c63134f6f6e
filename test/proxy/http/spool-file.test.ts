import { readdirSync, readlinkSync } from "node:fs";
import t from "tap";
import { type Spool, SpoolFailed } from "../../../proxy/http/body-spool.js";
import { createSpoolFile } from "../../../proxy/http/spool-file.js";

async function contentOf(spool: Spool): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of spool.read()) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Files without a name that this process holds open. */
function openSpools(): string[] {
  const links = readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return "";
    }
  });
  return links.filter((link) => link.includes("sluice-upload-"));
}

t.test(
  "written bytes are read in order, as often as needed, also by two readers together",
  async (t) => {
    const spool = await createSpoolFile();
    t.teardown(() => spool.close());
    t.equal((await contentOf(spool)).length, 0, "nothing at first");
    const pieces = Array.from({ length: 20 }, (_, i) => Buffer.alloc(10_007 + i, i));
    for (const piece of pieces) await spool.write(piece);
    const written = Buffer.concat(pieces);
    for (const content of await Promise.all([contentOf(spool), contentOf(spool)]))
      t.ok(content.equals(written));
    t.ok((await contentOf(spool)).equals(written));
  },
);

t.test("it has no name while it is used, and is gone once it is closed", async (t) => {
  const spool = await createSpoolFile();
  await spool.write(Buffer.from("x"));
  t.equal(openSpools().length, 1);
  t.match(openSpools()[0], / \(deleted\)$/);
  spool.close();
  while (openSpools().length > 0) await new Promise((resolve) => setImmediate(resolve));
  await t.rejects(contentOf(spool), SpoolFailed, "a reader that is still at it gets an error");
  await t.rejects(spool.write(Buffer.from("y")), SpoolFailed);
  t.doesNotThrow(() => spool.close(), "closing it again does nothing");
});

t.test("a directory that takes no file is reported as such", async (t) => {
  const before = process.env["TMPDIR"];
  t.teardown(() => {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  });
  process.env["TMPDIR"] = "/nowhere/at/all";
  await t.rejects(createSpoolFile(), {
    name: "SpoolFailed",
    message: "the upload can't be kept on disk (ENOENT)",
  });
});
