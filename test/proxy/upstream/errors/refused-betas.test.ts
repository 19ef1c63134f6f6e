import t from "tap";
import {
  isOfBetas,
  refusedBetas,
  withoutBetas,
} from "../../../../proxy/upstream/errors/refused-betas.js";

t.test("a message names the betas that are refused, or all are", async (t) => {
  const vertex = "Unexpected value(s) `B-2026-01-05` for the `anthropic-beta` header.";
  const quoted = 'unexpected value(s) \\"b-2026-01-05\\" for the \\"anthropic-beta\\" header';
  for (const message of [vertex, quoted])
    t.equal(refusedBetas(message), "anthropic-beta: b-2026-01-05");
  t.equal(refusedBetas("Invalid beta flag"), "anthropic-beta");
  t.equal(refusedBetas("unexpected value(s) `x` for `y`"), null);
  t.equal(refusedBetas("the anthropic-beta header is required"), null);
  t.ok(isOfBetas("anthropic-beta: b-2026-01-05"));
  t.notOk(isOfBetas("stream_options"));
});

t.test("refused betas leave the header, and the last one takes it along", async (t) => {
  const headers = ["accept", "*/*", "Anthropic-Beta", "a-2025-01-01, B-2026-01-05"];
  t.same(withoutBetas(headers, ["stream_options"]), { headers, dropped: [] });
  t.same(withoutBetas(headers, ["anthropic-beta: b-2026-01-05 c-2026-01-05"]), {
    headers: ["accept", "*/*", "Anthropic-Beta", "a-2025-01-01"],
    dropped: ["anthropic-beta B-2026-01-05"],
  });
  t.same(withoutBetas(headers, ["anthropic-beta"]), {
    headers: ["accept", "*/*"],
    dropped: ["anthropic-beta a-2025-01-01", "anthropic-beta B-2026-01-05"],
  });
});
