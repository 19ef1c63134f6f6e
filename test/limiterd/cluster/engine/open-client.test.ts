/** What ties the daemon to the package of the engine's client. */
import t from "tap";
import { programs, readSources } from "../../../tidy/source-tree.js";

t.test(
  "the client of the engine is loaded with the first connection, and not before",
  async (t) => {
    for (const { path, text } of readSources(programs))
      for (const [statement] of text.matchAll(/^import\b[^;]*from "ioredis";/gm))
        t.match(statement, /^import type /, path);
  },
);
