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
    t.match(asObject({ odd: 1 }, known), {
      ok: false,
      failure: { message: "unknown field odd: expected user_path, limit_key" },
    });
  },
);
