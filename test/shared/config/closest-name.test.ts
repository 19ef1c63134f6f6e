import t from "tap";
import { closestName, nameHint } from "../../../shared/config/closest-name.js";

const known = ["host", "port", "max_requests", "max_tokens", "SLUICE_SOCKET"];

t.test("a misspelt name finds the intended one", async (t) => {
  for (const [name, meant] of [
    ["prot", "port"],
    ["hosts", "host"],
    ["max_request", "max_requests"],
    ["max-requests", "max_requests"],
    ["MAX_TOKENS", "max_tokens"],
    ["maxtokens", "max_tokens"],
    ["SLUICE_SCOKET", "SLUICE_SOCKET"],
  ] as const) {
    t.equal(closestName(name, known), meant, name);
  }
});

t.test(
  "another word finds nothing, and neither does a very short or a very long one",
  async (t) => {
    for (const name of ["timeout", "p", "", "max_latency", "x".repeat(100_000)])
      t.equal(closestName(name, known), null, name.slice(0, 20));
  },
);

t.test("the hint names the close one, else all that would do", async (t) => {
  t.equal(nameHint("prot", ["host", "port"]), "; did you mean port?");
  t.equal(nameHint("timeout", ["host", "port"]), ": expected host, port");
  t.equal(nameHint("timeout", []), "");
});
