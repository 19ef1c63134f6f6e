import t from "tap";
import { asObject } from "../../shared/checked.js";

t.test(
  "an unknown field names the known ones, and a period the key that it goes into",
  async (t) => {
    const known = ["user_path", "limit_key"];
    t.match(asObject({ period: "minute" }, known), {
      ok: false,
      failure: {
        message: 'unknown field period: write "limit_key": {"period": …}',
        param: "period",
      },
    });
    const caps = [...known, "max_requests"];
    for (const [name, written] of [
      ["rpm", '"limit_key": {"period": "minute"}, "max_requests": …'],
      ["tpd", '"limit_key": {"period": "day"}, "max_tokens": …'],
    ] as const)
      t.match(asObject({ [name]: 1 }, caps), {
        ok: false,
        failure: { message: `unknown field ${name}: write ${written}`, param: name },
      });
    t.match(asObject({ rpm: 1 }, known), {
      failure: { message: "unknown field rpm: expected user_path, limit_key" },
    });
    t.match(asObject({ odd: 1 }, known), {
      ok: false,
      failure: { message: "unknown field odd: expected user_path, limit_key" },
    });
  },
);
