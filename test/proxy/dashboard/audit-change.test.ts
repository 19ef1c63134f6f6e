/** What the page of the audit log says of a change. */
import t from "tap";
import { changeText } from "../../../proxy/dashboard/web/logic/audit-change.js";

const rule = { scope: "user_path", subject: "/team", max_requests: 50, models: [], strict: false };

for (const [what, before, after, text] of [
  ["a new rule has what it says", null, rule, "max_requests 50"],
  ["a deleted one had it", rule, null, "was max_requests 50"],
  ["fields that differ", rule, { ...rule, max_requests: 100 }, "max_requests 50 → 100"],
  [
    "a field that is new, and one that is gone",
    { ...rule, models: ["a"] },
    { ...rule, models: null, max_tokens: 7 },
    'models ["a"] → none, max_tokens none → 7',
  ],
  ["nothing to show", null, null, ""],
  ["a value that isn't an object", "open", "closed", "value open → closed"],
] as const)
  t.test(what, async (t) => t.equal(changeText(before, after), text));
