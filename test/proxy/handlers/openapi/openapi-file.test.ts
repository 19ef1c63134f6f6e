import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import t from "tap";
import { createOpenapiLoader } from "../../../../proxy/handlers/openapi/openapi-file.js";
import { documentText } from "../../../support/openapi/document.js";

const silent = { warn() {} };

t.test("the document that is shipped is read, byte for byte", async (t) => {
  const found = await createOpenapiLoader(silent)();
  t.equal(String(await found!.bytes("identity")), documentText);
  t.equal(brotliDecompressSync(await found!.bytes("br")).toString(), documentText);
  t.equal(gunzipSync(await found!.bytes("gzip")).toString(), documentText);
});

t.test("it is read once, and again after a failure, which is logged", async (t) => {
  const warned: unknown[] = [];
  const file = join(t.testdir(), "openapi.json");
  const load = createOpenapiLoader({ warn: (...given: unknown[]) => void warned.push(given) }, [
    file,
  ]);
  t.equal(await load(), null);
  t.equal(warned.length, 1);
  writeFileSync(file, "{}");
  const first = await load();
  t.equal(String(await first!.bytes("identity")), "{}");
  t.match(first?.etag, /^W\/"[\w-]{22}"$/);
  writeFileSync(file, '{"another":1}');
  t.equal(await load(), first);
});
