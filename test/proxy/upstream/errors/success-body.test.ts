import t from "tap";
import { errorInsideSuccess } from "../../../../proxy/upstream/errors/success-body.js";

t.test("an error instead of an answer is an error, whatever the status", async (t) => {
  for (const value of [
    { error: {} },
    { error: { message: "x" } },
    { id: "1", choices: [], error: { code: 429 } },
    { choices: null, error: {} },
    { error: "text" },
    { error: "text", data: [], content: [], text: "" },
    { object: "error", message: "x" },
  ])
    t.equal(errorInsideSuccess(value), true, JSON.stringify(value));
  for (const value of [
    { error: null },
    { error: "" },
    { error: " " },
    { error: [] },
    { error: "x", content: [{ type: "text" }] },
    { error: "x", data: [{}] },
    { error: "", text: "said" },
    { object: "response", error: { message: "x" } },
    { object: "list", message: "x" },
    {},
    null,
    undefined,
    [],
    [{ error: {} }],
    "error",
    { choices: [{}], error: { message: "x" } },
    { choices: [{ error: {} }] },
  ])
    t.equal(errorInsideSuccess(value), false, JSON.stringify(value));
});
